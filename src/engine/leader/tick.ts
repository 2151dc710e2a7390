import type { OnElectionEvent } from "../../election/events.ts";
import { LostLeadership } from "../../election/hold/leadership.ts";
import { race } from "../../election/race.ts";
import type { RaceOutcome, RaceRequest } from "../../election/raceContext.ts";
import type { LeaderRecord } from "../../election/record/record.ts";
import type { ElectionSettings } from "../../election/settings.ts";
import { edgeOf, LeasefoldError, messageOf } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { type Log, logEvents } from "../model/log.ts";
import { encodeWake, wakeFromLeader } from "../model/message.ts";
import { leaderBlob } from "../model/names.ts";
import type { Clock, ContentLease, Random } from "../storage/ports.ts";
import { isAbortError } from "../storage/system.ts";
import { type CoordinateSettings, coordinate, newTerm } from "./coordinate.ts";
import { keepDeadMansWake } from "./deadMansWake.ts";
import { type Expiry, expiry } from "./deletion/expire.ts";
import { type LocalWork, type LocalWorker, localWork } from "./perform/localWork.ts";
import { DeposedError } from "./perform/stateChain.ts";
import { anyRunToLead } from "./poll/markers.ts";
import type { CoordinatorPorts, Leader, Term } from "./term.ts";

export interface TickRequest {
  /** `wait`: a request that waits for a run. It races once, and the next tick or wake takes over what it leads. */
  readonly startedBy: "tick" | "wake" | "wait";
  /** When the host began this invocation, on the monotonic clock: the budget counts from there. */
  readonly startedAtMonotonicMs: number;
  /** Fires when the process is to stop, or the request has been answered. */
  readonly stopping?: AbortSignal | undefined;
}

/** `busy`: this very process is racing or leading already. */
export type TickOutcome = RaceOutcome | { readonly kind: "busy" };

export interface CoordinatorOptions
  extends Pick<RaceRequest, "holder" | "region" | "about">,
    Pick<CoordinatorPorts, "packLimitMs"> {
  readonly election: ElectionSettings;
  readonly loop: CoordinateSettings;
  /** Finished runs are deleted after so many days; 0 keeps them for ever. */
  readonly keepDays: number;
}

type TickPorts = Omit<CoordinatorPorts, "nextSequence" | "packLimitMs" | "tellActive" | "told"> & {
  readonly random: Random;
  readonly onElection: OnElectionEvent;
  /** The worker of this process, which has its work without a queue. Absent: all work goes to the queues. */
  readonly worker?: LocalWorker;
  /** Sees the lease record at each poll of a contender. */
  readonly onPoll?: (record: LeaderRecord) => void;
};

interface Raced {
  readonly outcome: RaceOutcome;
  readonly afterRelease?: () => Promise<void>;
  readonly local?: LocalWork | undefined;
}

/** One process that races for the lease, and what it remembers from term to term. */
export class Coordinator {
  readonly #ports: CoordinatorPorts & TickPorts;
  readonly #options: CoordinatorOptions;
  readonly #lease: ContentLease;
  readonly #expiry: Expiry;
  #busy = false;
  /** Set while a request that waits races or leads: another invocation takes that over, until its own signal fires. */
  #takeOver: ((stopping: AbortSignal | undefined) => Promise<TickOutcome>) | undefined;
  /** The term that this process leads. */
  #term: Term | undefined;
  #wokenMeanwhile = false;
  /** Ends the pause of a contender that waits; one for each time. */
  #contending = new AbortController();
  #sequence = 0;
  #aboveTerm = 0;

  constructor(ports: TickPorts, options: CoordinatorOptions) {
    const { packLimitMs, keepDays } = options;
    const tellActive = activeGauge(ports.clock, ports.log);
    this.#ports = {
      ...ports,
      packLimitMs,
      tellActive,
      told: new Set(),
      nextSequence: () => ++this.#sequence,
    };
    this.#options = options;
    this.#lease = ports.storage.lease(ports.names.coordination, leaderBlob);
    this.#expiry = expiry(this.#ports, keepDays);
  }

  /**
   * One tick of one instance: race for the lease, and if a term is won and a run is active, coordinate until no run
   * is left or the budget ends. A tick and a wake do the same; in one process only one of them does it at a time.
   */
  readonly tick = async (request: TickRequest): Promise<TickOutcome> => {
    const { startedBy, stopping } = request;
    if (!this.#busy) return startedBy === "wait" ? this.#lend(request) : this.#tick(request);
    if (startedBy === "wake") {
      this.#wokenMeanwhile = true;
      // A leader that hands over wakes others, and who waits for its lease here would poll only after a pause.
      this.#contending.abort();
      this.pollNow();
    }
    if (startedBy === "wait") return { kind: "busy" };
    return (await this.#takeOver?.(stopping)) ?? { kind: "busy" };
  };

  /** A tick until the request is answered, or, once another invocation has taken it over, until that one must stop. */
  #lend(request: TickRequest): Promise<TickOutcome> {
    const [stop, ended] = [new AbortController(), new AbortController()];
    const end = (): void => stop.abort();
    const follow = (signal: AbortSignal | undefined): void =>
      signal?.aborted ? end() : signal?.addEventListener("abort", end, { signal: ended.signal });
    follow(request.stopping);
    const over = this.#tick({ ...request, stopping: stop.signal }).finally(() => ended.abort());
    const taken = Promise.withResolvers<TickOutcome>();
    this.#takeOver = (stopping) => {
      this.#takeOver = undefined;
      request.stopping?.removeEventListener("abort", end);
      follow(stopping);
      taken.resolve({ kind: "busy" });
      return over;
    };
    return Promise.race([over, taken.promise]);
  }

  async #tick(request: TickRequest): Promise<TickOutcome> {
    this.#busy = true;
    const stop = (): void => this.#contending.abort();
    request.stopping?.addEventListener("abort", stop);
    let raced: Raced;
    try {
      do {
        // A wake that came after our list of the markers must not be lost with it.
        this.#wokenMeanwhile = false;
        raced = await this.#race(request);
      } while (this.#wokenMeanwhile && raced.outcome.kind === "nothingToLead");
    } finally {
      request.stopping?.removeEventListener("abort", stop);
      this.#busy = false;
      this.#wokenMeanwhile = false;
      this.#takeOver = undefined;
    }
    // The wake is made visible only after the release, or whoever it calls would find the lease held; and only
    // when this process can answer it too.
    await raced.afterRelease?.();
    // What runs after its invocation has ended, the host may stop at any moment.
    await raced.local?.settled();
    return raced.outcome;
  }

  /** Has the leader of this process poll now; false where it does not lead. */
  readonly pollNow = (): boolean => {
    if (this.#term === undefined || this.#term.leader.signal.aborted) return false;
    this.#term.pause.end();
    return true;
  };

  /** For the worker of this process. Any attempt, and the word of it, must end before the host ends the invocation. */
  #localWork({ startedAtMonotonicMs, stopping }: TickRequest): LocalWork | undefined {
    const { clock, worker } = this.#ports;
    const { functionTimeoutMs, functionMarginMs } = this.#options.election;
    const untilMs = startedAtMonotonicMs + functionTimeoutMs - functionMarginMs - limits.endRetryMs;
    return worker && localWork({ worker, clock }, { untilMs, stopping });
  }

  /** Acquire, lead, hand over. */
  async #race(request: TickRequest): Promise<Raced> {
    const { clock, random, onElection: on, onPoll, storage, names } = this.#ports;
    const { holder, region, about, election } = this.#options;
    const { startedAtMonotonicMs, startedBy, stopping } = request;
    const raced = await race({ lease: this.#lease, clock, random, on, onPoll }, election, {
      holder,
      region,
      about,
      startedAtMonotonicMs,
      startedBy: startedBy === "wake" ? "wake" : "tick",
      stopping,
      aboveTerm: this.#aboveTerm,
      pollNow: () => {
        const { signal } = this.#contending;
        if (signal.aborted) this.#contending = new AbortController();
        return signal;
      },
      worthLeading: async ({ poll, signal }) =>
        (await anyRunToLead(this.#ports, signal)) || (await this.#expiry.dueWhenIdle(poll, signal)),
    });
    if (raced.kind !== "claimed") return { outcome: raced };

    const { leadership } = raced;
    const ofWake = { queue: names.wake, text: encodeWake(wakeFromLeader), signal: leadership.lost };
    const wake = keepDeadMansWake({ queues: storage.queues, clock }, ofWake);
    const local = this.#localWork(request);
    const term = newTerm(this.#ports, leadership, local);
    this.#term = term;
    const { outcome } = await raced.lead(() => this.#lead(term));
    this.#term = undefined;
    // After what nobody expects the wake becomes visible by itself: whoever it calls does not meet the same at once.
    if (!outcome.handedOver || !isOrdinary(outcome.error, leadership)) return { outcome, local };
    const afterRelease = async (): Promise<void> => {
      // Whoever comes next should come now if there is work; a marker written while we released counts too. Runs that
      // were active in the last loop need no list: it would only delay the wake.
      const active = term.runs.size > 0 || (await anyRunToLead(this.#ports).catch(() => true));
      if (active) await wake.handOver();
      else await wake.remove();
    };
    return { outcome, afterRelease, local };
  }

  /** Leads one term. Throws what ended it too early: what was sent may not be recorded then. */
  async #lead(term: Term): Promise<void> {
    const { leader } = term;
    try {
      await coordinate(term, this.#options.loop, this.#expiryBeside(leader));
      // Between two slices a run that came meanwhile has its turn.
      while (!leader.signal.aborted && (await this.#expire(leader)))
        await coordinate(term, this.#options.loop);
    } catch (error) {
      this.#noteEnd(leader, error);
      throw error;
    }
  }

  /** A slice of the expiry now and then beside the runs: where one follows the other all day, no term comes to its end. */
  #expiryBeside(leader: Leader): () => Promise<void> {
    const { clock } = this.#ports;
    let slicedMs = clock.monotonicMs();
    return async () => {
      if (clock.monotonicMs() - slicedMs < limits.expiryBesideEveryMs) return;
      slicedMs = clock.monotonicMs();
      await this.#expire(leader);
    };
  }

  /** True if a slice was made. What storage refuses or does not answer must not end the term of the runs. */
  async #expire(leader: Leader): Promise<boolean> {
    try {
      if (!(await this.#expiry.due(leader))) return false;
      await this.#expiry.slice(leader);
      return true;
    } catch (error) {
      this.#expiry.refused(error);
      return false;
    }
  }

  /** Takes note of why a term ended early. The election itself tells of a lost lease. */
  #noteEnd(leader: Leader, error: unknown): void {
    const { term } = leader;
    const { log } = this.#ports;
    if (error instanceof DeposedError) {
      this.#aboveTerm = Math.max(this.#aboveTerm, error.seenTerm);
      log(logEvents.deposed({ term, seenTerm: error.seenTerm }));
    } else if (!isOrdinary(error, leader)) {
      const code = error instanceof LeasefoldError ? error.code : "unexpected";
      log(logEvents.leadingFailed(edgeOf(error).level, { term, code, message: messageOf(error) }));
    }
  }
}

/** What a term may end with. A lost lease also ends the calls that are under way. */
const isOrdinary = (error: unknown, { lost }: Pick<Leader, "lost">): boolean =>
  error === undefined ||
  error instanceof DeposedError ||
  error instanceof LostLeadership ||
  (lost.aborted && isAbortError(error));

/**
 * Logs how many runs are open: once a minute while there are any, and once in a term when there are none. Alerts take
 * the first as a heartbeat, and the second as the end of what they wait for.
 */
export function activeGauge(clock: Clock, log: Log): (term: number, runs: number) => void {
  let toldAtMs = Number.NEGATIVE_INFINITY;
  let idleTerm: number | undefined;
  let polls = 0;
  return (term, runs) => {
    polls += 1;
    const nowMs = clock.monotonicMs();
    if (runs === 0 ? idleTerm === term : nowMs - toldAtMs < 60_000) return;
    if (runs === 0) idleTerm = term;
    else toldAtMs = nowMs;
    log(logEvents.leading({ term, runs, polls }));
    polls = 0;
  };
}
