import type { Leadership } from "../../election/hold/leadership.ts";
import { limits } from "../model/limits.ts";
import type { Log } from "../model/log.ts";
import type { Marker } from "../model/marker.ts";
import type { Names } from "../model/names.ts";
import type { Spec } from "../model/run.ts";
import type { State } from "../model/state.ts";
import type { Clock, Storage } from "../storage/ports.ts";
import type { Known } from "./notes.ts";
import type { Pause } from "./pause.ts";
import type { LocalWork } from "./perform/localWork.ts";

/** What every term of this process acts on. */
export interface CoordinatorPorts {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Log;
  /** Queue that gets a completion event for each run that ends. */
  readonly endedQueue?: string | undefined;
  /** Is told with each list of the markers. */
  tellActive?(term: number, runs: number): void;
  /** Markers for which nobody leads here, and that the log of this process has told of. */
  readonly told: Set<string>;
  /** Numbers of state writes, over all runs: never the same twice in a process. */
  nextSequence(): number;
  /** Time limit of one attempt of a pack, as workers have it. */
  readonly packLimitMs: number;
  /** In dollars, of a run that asks for no other. */
  readonly maxCost?: number | undefined;
}

/** The right to lead runs: the part of the election's `Leadership` that it takes. */
export type Leader = Omit<Leadership, "remainingMs" | "cameBy"> & Partial<Pick<Leadership, "cameBy">>;

/** One term of this process. */
export interface Term extends CoordinatorPorts {
  readonly leader: Leader;
  readonly pause: Pause;
  /** Takes work for this very process; absent where it has no worker. */
  readonly local?: LocalWork | undefined;
  /** Runs that this term has taken over, by id. */
  readonly runs: Map<string, TermRun>;
  readonly backoff: RunBackoff;
  /** When poison queues were read last, storage's time. */
  readonly poison: { readMs: number };
}

/** A marker as the list of the present loop gave it. */
export interface ListedMarker {
  readonly id: string;
  readonly etag: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Storage's time of the list, and when the marker was last written. */
  readonly nowMs: number;
  readonly writtenMs: number;
}

/**
 * Runs whose poll failed wait for longer and longer before the next one, and their log line comes once a minute.
 * A command ends the wait.
 */
export class RunBackoff {
  readonly #runs = new Map<string, { etag: string; untilMs: number; pauseMs: number; toldMs: number }>();

  /** Whether this run is skipped for now. */
  waits({ id, etag }: Pick<ListedMarker, "id" | "etag">, localMs: number): boolean {
    const known = this.#runs.get(id);
    return known !== undefined && known.etag === etag && localMs < known.untilMs;
  }

  /** Time until the next of the runs that wait is polled again; `Infinity` where none waits. */
  endsInMs(localMs: number): number {
    const leftMs = [...this.#runs.values()].map(({ untilMs }) => untilMs - localMs);
    return Math.min(Number.POSITIVE_INFINITY, ...leftMs.filter((ms) => ms > 0));
  }

  /** Takes note of another failure; true if it is to be logged. */
  add({ id, etag }: Pick<ListedMarker, "id" | "etag">, localMs: number): boolean {
    const known = this.#runs.get(id);
    const pauseMs = Math.min(known === undefined ? limits.backoffMs : 2 * known.pauseMs, limits.backoffMsMax);
    const tell = known === undefined || localMs - known.toldMs >= limits.backoffToldEveryMs;
    const toldMs = tell ? localMs : known.toldMs;
    this.#runs.set(id, { etag, untilMs: localMs + pauseMs, pauseMs, toldMs });
    return tell;
  }

  clear({ id }: Pick<ListedMarker, "id">): void {
    this.#runs.delete(id);
  }
}

/**
 * The If-Match chain of a run's `state.json`. A new term seals it first, so that every write still in flight from
 * an older term fails; from then on each write is conditional on the one before.
 *
 * Not promised: that a write which failed had no effect. Its bytes are repeated, and nothing else is written,
 * until one reply is definite; then the state is read back. A write of mine happened only if my termid and the
 * sequence of those very bytes are there.
 */
export interface StateChain {
  /** As last confirmed. */
  state(): State;
  /** The state is the first one, and this term has just made it. */
  readonly created: boolean;
  /** True while the outcome of a write is unknown; the next write settles it. */
  unsettled(): boolean;
  /**
   * Writes the next state under my term. `adopted`: an earlier write of mine, whose outcome was unknown until now,
   * stands instead; `state()` gives it, and whoever wrote decides again. Throws `DeposedError` if the chain is
   * another's, and `StorageError` when the outcome is still unknown; the next write then settles it first.
   */
  write(next: State): Promise<"written" | "adopted">;
}

/** A spec, and when it was written by storage's clock. */
export interface Submitted {
  readonly spec: Spec;
  /** Of its bytes. */
  readonly sha256: string;
  readonly submittedMs: number;
}

/** A run that this term has taken over. */
export interface TermRun extends Submitted, Known {
  readonly term: Term;
  readonly chain: StateChain;
  readonly listed: ListedMarker;
  readonly marker: Marker;
}

/** The one way in which what is known of a run moves on: the next decision begins from here. */
export function commit(
  run: TermRun,
  known: Partial<Pick<TermRun, "working" | "notes" | "lists" | "listed" | "marker">>,
): void {
  Object.assign(run, known);
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
