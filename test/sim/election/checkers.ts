import type { Leadership } from "../../../src/election/leadership.ts";
import type { LeaseStore } from "../../../src/storage/ports.ts";

/** One accepted write of the fenced state: whose, and in which term. */
interface Accepted {
  readonly term: number;
  readonly termid: string;
}

/** The state that leaders write, as a chain of conditional writes; what `state.json` is to a run. */
export interface FencedState {
  read(): Accepted & { readonly etag: number };
  /** `false`: the condition was not met. */
  write(ifMatch: number, by: Accepted): boolean;
}

/**
 * Looks at every effect at the moment storage accepts it, where nobody's opinion of who leads counts.
 * A violation throws inside the service, and is kept so that no process can swallow it.
 */
export class Checkers {
  readonly violations: string[] = [];
  readonly state: FencedState;
  claims = 0;
  accepted = 0;
  /** Every leadership object ever handed out, with its owner's name. */
  readonly leaderships = new Map<string, Leadership>();
  #highestTerm = 0;
  #operatorActed = false;
  readonly #claimed = new Set<string>();

  constructor() {
    let etag = 0;
    let last: Accepted = { term: 0, termid: "" };
    this.state = {
      read: () => ({ ...last, etag }),
      write: (ifMatch, by) => {
        if (ifMatch !== etag) return false;
        if (!this.#claimed.has(by.termid)) this.#report(`term ${by.term} wrote without a claim on record`);
        if (by.term < last.term) this.#report(`term ${by.term} wrote after term ${last.term}`);
        if (by.term === last.term && by.termid !== last.termid) {
          this.#report(`two writers in term ${by.term}: ${last.termid} and ${by.termid}`);
        }
        etag += 1;
        last = by;
        this.accepted += 1;
        return true;
      },
    };
  }

  /** An operator broke the lease or threw the record away: the next claim owes nothing to the last leader. */
  operatorActed(lostRecord: boolean): void {
    this.#operatorActed = true;
    if (lostRecord) this.#highestTerm = 0;
  }

  /** Sees each record at the moment it is accepted. */
  watch(lease: LeaseStore): LeaseStore {
    return {
      ...lease,
      writeRecord: async (id, metadata, options) => {
        const written = await lease.writeRecord(id, metadata, options);
        const termid = metadata["termid"] ?? "";
        const isClaim = metadata["state"] === "leading" && !this.#claimed.has(termid);
        if (Number(metadata["term"]) < this.#highestTerm) {
          this.#report(`a record of term ${metadata["term"]} replaced one of term ${this.#highestTerm}`);
        }
        if (isClaim) this.#onClaim(Number(metadata["term"]), termid);
        return written;
      },
    };
  }

  #onClaim(term: number, termid: string): void {
    this.claims += 1;
    this.#claimed.add(termid);
    if (term <= this.#highestTerm) this.#report(`term ${term} was claimed after term ${this.#highestTerm}`);
    this.#highestTerm = term;
    for (const [name, leadership] of this.leaderships) {
      // With every clock at the true pace, the last leader must have stopped by its own clocks already.
      if (!this.#operatorActed && leadership.remainingMs() > 0) {
        this.#report(`${name} still led term ${leadership.term} when term ${term} was claimed`);
      }
    }
    this.#operatorActed = false;
    this.leaderships.clear();
  }

  #report(what: string): void {
    this.violations.push(what);
  }
}
