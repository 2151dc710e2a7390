import type { Leadership } from "../../../src/election/hold/leadership.ts";
import type { LeaderRecord } from "../../../src/election/record/record.ts";
import type { BlobStore, LeaseStore } from "../../../src/engine/storage/ports.ts";
import { recordIn } from "../../support/recordIn.ts";
import type { VirtualWorld } from "../../support/virtualClock.ts";
import { leaseLedger } from "./leaseLedger.ts";

/** What is looked at. Each name stands for one promise, and a mutant is killed by the one that it breaks. */
export type Checker =
  | "terms grow"
  | "one writer per term"
  | "no older effect"
  | "stop-work deadline"
  | "nobody followed too early"
  | "claims under the lease"
  | "nothing late over later"
  | "drained before release"
  | "no lease left behind"
  | "somebody leads"
  | "ends when told";

export interface Violation {
  readonly checker: Checker;
  readonly what: string;
}

/** A term that some process believes it has. */
export interface Believer {
  readonly name: string;
  readonly leadership: Leadership;
  /** Taken once: reading it again would look at the clocks and so help the timer that is to be checked. */
  readonly lost: AbortSignal;
  isStopped(): boolean;
  /** By the oracle; see `stopWorkOracle`. */
  leftMs(): number;
  /** An operator has broken its lease or thrown away its record: others may follow at once. */
  excused: boolean;
  /** The checkers' own: since when it runs on past its deadline. */
  overdueSinceMs: number | undefined;
}

/**
 * Looks at every effect at the moment storage accepts it, where nobody's opinion of who leads counts, and at
 * every believer after each step of the world.
 */
export class Checkers {
  readonly violations: Violation[] = [];
  claims = 0;
  /** Claims after a leader that had not said that it ended. */
  takeovers = 0;
  accepted = 0;
  readonly believers = new Set<Believer>();
  readonly #nowMs: () => number;
  readonly #tell: VirtualWorld["tell"];
  readonly #ledger;
  /** The first record of each termid, by its heartbeat. */
  readonly #claimed = new Map<string, string>();
  readonly #lastWriteOfMark = new Map<string, number>();
  #excusedClaims: ReadonlySet<string> = new Set();
  #highestTerm = 0;
  #lastClaim: { readonly termid: string; ended: boolean } | undefined;
  #state = { term: 0, termid: "" };
  #reliedTerm = 0;
  #digest = 0;

  constructor({ nowMs, tell }: Pick<VirtualWorld, "nowMs" | "tell">, leaseMs: number) {
    this.#nowMs = nowMs;
    this.#tell = tell;
    this.#ledger = leaseLedger(nowMs, leaseMs);
  }

  /** Of everything that was accepted and when: equal for equal runs. */
  digest(): string {
    return (this.#digest >>> 0).toString(16);
  }

  report(checker: Checker, what: string): void {
    this.#tell("checker", `BROKEN: ${checker}`, { what });
    if (this.violations.length < 20) {
      this.violations.push({ checker, what: `${what} (at ${(this.#nowMs() / 1_000).toFixed(3)} s)` });
    }
  }

  /** An operator acted: whoever leads now may be followed at once. `termNow`: the record was thrown away or rolled back. */
  operatorActed(termNow?: number): void {
    for (const one of this.believers) one.excused = true;
    this.#excusedClaims = new Set(this.#claimed.keys());
    this.#ledger.brokenByHand();
    if (termNow !== undefined) this.#highestTerm = termNow;
  }

  /** The new leader has sealed the state, so it takes what it read for the whole truth. */
  relies(term: number): void {
    this.#reliedTerm = Math.max(this.#reliedTerm, term);
  }

  /** A term begins for its leader. */
  begins(believer: Believer, stateHasSeen: number): void {
    const { term, termid } = believer.leadership;
    this.believers.add(believer);
    // Its claim was accepted, an operator acted, and only then it heard of its claim.
    believer.excused = this.#excusedClaims.has(termid);
    if (!this.#claimed.has(termid)) {
      this.report("claims under the lease", `${believer.name} leads term ${term}, which it never claimed`);
    }
    if (term <= stateHasSeen) {
      this.report("terms grow", `${believer.name} leads term ${term} though state has seen ${stateHasSeen}`);
    }
  }

  /** `believer` is about to have an effect, past its own check. */
  acts(believer: Believer): void {
    const leftMs = believer.leftMs();
    if (leftMs < -1) {
      const term = believer.leadership.term;
      this.report(
        "stop-work deadline",
        `${believer.name} acts in term ${term} ${-leftMs} ms past its deadline`,
      );
    }
  }

  /**
   * After each step: the signal of a process that runs has fired by its deadline, whatever hangs. A deadline that
   * comes by a jump of the wall clock, or while the process was stopped, is seen by the timer a little later.
   */
  afterStep(): void {
    for (const one of this.believers) {
      if (one.lost.aborted || one.isStopped() || one.leftMs() >= 0) {
        one.overdueSinceMs = undefined;
        continue;
      }
      one.overdueSinceMs ??= this.#nowMs();
      if (this.#nowMs() - one.overdueSinceMs < timerToleranceMs) continue;
      this.report(
        "stop-work deadline",
        `${one.name}: no signal in term ${one.leadership.term} ${-one.leftMs()} ms past its deadline`,
      );
      this.believers.delete(one);
    }
  }

  /** A stopped process goes on: before its first timer it knows whether it was followed. */
  afterResume(one: Believer): void {
    if (!one.excused && one.leadership.term < this.#highestTerm && one.leadership.remainingMs() > 0) {
      this.#followedTooEarly(one, this.#highestTerm);
    }
  }

  /** At the end of a race: nothing it acquired is held on, unless a release was at least tried. */
  afterRace(name: string, leaseIds: ReadonlySet<string>, tried: ReadonlySet<string>): void {
    for (const id of leaseIds) {
      if (this.#ledger.isHeldBy(id) && !tried.has(id)) {
        this.report("no lease left behind", `${name} leaves a lease behind for its whole length`);
      }
    }
  }

  watchLease(lease: LeaseStore): LeaseStore {
    return {
      ...lease,
      acquire: async (id, durationS, options) => {
        await lease.acquire(id, durationS, options);
        this.#note(`acquire ${id}`);
        this.#ledger.acquired(id);
      },
      renew: async (id, options) => {
        await lease.renew(id, options);
        this.#ledger.acquired(id);
      },
      release: async (id, options) => {
        await lease.release(id, options);
        this.#note(`release ${id}`);
        this.#ledger.released(id);
      },
      breakNow: async (options) => {
        await lease.breakNow(options);
        this.#note("break");
        this.#ledger.broken();
      },
      writeRecord: async (id, metadata, options) => {
        const written = await lease.writeRecord(id, metadata, options);
        const record = recordIn(metadata);
        this.#note(`record ${record.term} ${record.state} ${record.heartbeat}`);
        this.#onRecord(id, record);
        return written;
      },
    };
  }

  /** The fenced state; every body that is accepted says whose it is. */
  watchState(blobs: BlobStore): BlobStore {
    const onWrite = (body: Uint8Array | string): void => this.#onState(String(body));
    return {
      ...blobs,
      create: async (container, name, body, write) => {
        const reply = await blobs.create(container, name, body, write);
        if (reply.kind === "created") onWrite(body);
        return reply;
      },
      replace: async (container, name, body, write) => {
        const reply = await blobs.replace(container, name, body, write);
        if (reply.kind === "replaced") onWrite(body);
        return reply;
      },
    };
  }

  /** A claim is written once: it never comes back over a later write. */
  #onMark({ heartbeat, state, termid }: LeaderRecord): void {
    const [mark = "", count = "0"] = heartbeat.split("-");
    const last = this.#lastWriteOfMark.get(mark) ?? 0;
    const claimHeartbeat = this.#claimed.get(termid);
    const once = state === "leading" && (claimHeartbeat === undefined || claimHeartbeat === heartbeat);
    if (once && Number(count) <= last) {
      this.report("nothing late over later", `write ${count} of ${mark} came back over its write ${last}`);
    }
    this.#lastWriteOfMark.set(mark, Math.max(last, Number(count)));
  }

  #onRecord(leaseId: string, record: LeaderRecord): void {
    const { term, termid, state, heartbeat } = record;
    if (term < this.#highestTerm) {
      this.report("terms grow", `a record of term ${term} replaced one of term ${this.#highestTerm}`);
    }
    this.#onMark(record);
    if (state === "ended" && this.#lastClaim?.termid === termid) this.#lastClaim.ended = true;
    if (state === "leading" && !this.#claimed.has(termid)) {
      if (!this.#ledger.isHeldBy(leaseId)) {
        this.report("claims under the lease", `term ${term} was claimed without holding the lease`);
      }
      this.#onClaim(term, termid, heartbeat);
    }
    // A term that was used up without a claim counts as well: its number is not given out again.
    this.#highestTerm = Math.max(this.#highestTerm, term);
  }

  #onClaim(term: number, termid: string, heartbeat: string): void {
    this.claims += 1;
    if (this.#lastClaim !== undefined && !this.#lastClaim.ended) this.takeovers += 1;
    this.#lastClaim = { termid, ended: false };
    this.#claimed.set(termid, heartbeat);
    if (term <= this.#highestTerm) {
      this.report("terms grow", `term ${term} was claimed after term ${this.#highestTerm}`);
    }
    for (const one of this.believers) {
      // A stopped process is asked when it goes on: asking would run its code now.
      if (one.excused || one.isStopped() || one.leadership.termid === termid) continue;
      if (one.leadership.remainingMs() > 0) this.#followedTooEarly(one, term);
    }
  }

  #followedTooEarly(one: Believer, term: number): void {
    this.report(
      "nobody followed too early",
      `${one.name} still led term ${one.leadership.term} when term ${term} was claimed`,
    );
    this.believers.delete(one);
  }

  #onState(body: string): void {
    const { term, termid } = JSON.parse(body) as { readonly term: number; readonly termid: string };
    this.#note(`state ${term} ${termid}`);
    this.accepted += 1;
    const last = this.#state;
    if (!this.#claimed.has(termid)) {
      this.report("one writer per term", `term ${term} wrote without a claim on record`);
    }
    if (termid !== last.termid && term === last.term) {
      this.report("one writer per term", `two writers in term ${term}: ${last.termid} and ${termid}`);
    }
    if (term < last.term) this.report("no older effect", `term ${term} wrote after term ${last.term}`);
    if (term < this.#reliedTerm) {
      this.report(
        "no older effect",
        `term ${term} wrote though term ${this.#reliedTerm} relies on what it read`,
      );
    }
    this.#state = { term, termid };
  }

  #note(what: string): void {
    this.#tell("storage", what);
    for (const text of [what, this.#nowMs().toFixed(3)]) {
      for (let index = 0; index < text.length; index += 1) {
        this.#digest = Math.imul(this.#digest ^ text.charCodeAt(index), 0x01000193);
      }
    }
  }
}

/** The timer looks at least each 500 ms of its own time, and clocks go wrong by a tenth at most. */
const timerToleranceMs = 560;
