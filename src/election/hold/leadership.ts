import { LeasefoldError } from "../../engine/model/errors.ts";
import type { CameBy, EndCause } from "../record/record.ts";

/**
 * The right to act as a leader, for one term. Whatever has an effect takes this object, calls `assertLeading()` right
 * before it, and passes a signal to its calls. Its writes are conditional on ETags that the next leader changes,
 * because a check made here can be outdated when the write arrives.
 */
export interface Leadership {
  readonly term: number;
  readonly termid: string;
  readonly holder: string;
  readonly cameBy: CameBy;
  /** Fires when leading has to end, whatever the cause. The task must end soon; the lease is released after that. */
  readonly signal: AbortSignal;
  /**
   * Fires only when no effect may follow any more: the lease is lost, the stop-work deadline has passed, or the task
   * took longer than the drain cap. On a planned end it does not fire while the task drains, so calls with this
   * signal are not cut off half-way.
   */
  readonly lost: AbortSignal;
  /** Confirmed remaining time to act, in ms: until the stop-work deadline or the end of the budget. 0 when lost. */
  remainingMs(): number;
  /** Throws `LostLeadership` if the term is over or its stop-work deadline has passed by now. */
  assertLeading(): void;
  /** The task makes progress; see `stallAfterMs`. */
  progress(): void;
  /** Merges these into the public record's notes, with the next heartbeat. An empty value deletes a note. */
  note(notes: Readonly<Record<string, string>>): void;
}

/** Thrown instead of having an effect. It ends the term in this process; it is no failure of the task. */
export class LostLeadership extends LeasefoldError {
  readonly term: number;
  readonly reason: EndCause | "over";
  constructor(term: number, reason: EndCause | "over", cause?: unknown) {
    super("lost-leadership", `Term ${term} is over here: ${reason}.`, {
      retry: "later",
      details: { term, reason },
      cause,
    });
    this.term = term;
    this.reason = reason;
  }
}
