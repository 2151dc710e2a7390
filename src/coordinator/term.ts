import type { Leadership } from "../election/hold/leadership.ts";
import type { Log } from "../model/log.ts";
import type { Marker } from "../model/marker.ts";
import type { Names } from "../model/names.ts";
import type { Spec } from "../model/run.ts";
import type { State } from "../model/state.ts";
import type { Clock, Storage } from "../storage/ports.ts";
import type { RunNotes } from "./decide/draft.ts";
import type { RunBackoff } from "./perform/runErrors.ts";
import type { StateChain } from "./perform/stateChain.ts";

/** What every term of this process acts on. */
export interface CoordinatorPorts {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Log;
  /** Is told with each list of the markers. */
  tellActive?(term: number, runs: number): void;
  /** Numbers of state writes, over all runs: never the same twice in a process. */
  nextSequence(): number;
  /** Time limit of one attempt of a pack, as workers have it. */
  readonly packLimitMs: number;
}

/** The right to lead runs: the part of the election's `Leadership` that it takes. */
export type Leader = Pick<
  Leadership,
  "term" | "termid" | "holder" | "signal" | "lost" | "assertLeading" | "progress" | "note"
> &
  Partial<Pick<Leadership, "cameBy">>;

/** One term of this process. */
export interface Term extends CoordinatorPorts {
  readonly leader: Leader;
  /** Runs that this term has taken over, by id. */
  readonly runs: Map<string, TermRun>;
  readonly backoff: RunBackoff;
  /** Whether this process gave way to a newer version before. */
  readonly newer: { readonly gaveWay: boolean };
  /** Blobs among the markers that are none, and that the log has told of. */
  readonly strays: Set<string>;
}

/** A marker as the list of the present loop gave it. */
export interface ListedMarker {
  readonly id: string;
  readonly etag: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Storage's time of the list. */
  readonly nowMs: number;
}

/** A run that this term has taken over. */
export interface TermRun {
  readonly term: Term;
  readonly spec: Spec;
  readonly chain: StateChain;
  readonly notes: RunNotes;
  /** The confirmed state, or one ahead of it by progress that was not worth a write yet. */
  working: State;
  listed: ListedMarker;
  marker: Marker;
}

/** List pages that a loop may still read, over all runs. */
export interface PageBudget {
  left: number;
}

/** Takes up to so many pages out of the budget and says how many there were. */
export function takePages(budget: PageBudget, pages: number): number {
  const taken = Math.max(0, Math.min(pages, budget.left));
  budget.left -= taken;
  return taken;
}
