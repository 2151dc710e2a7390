import { AsyncLocalStorage } from "node:async_hooks";

export type TraceFields = Readonly<Record<string, unknown>>;

/** One thing that happened in a simulated world: an event in a log, a fault, or what storage accepted. */
export interface TraceEvent {
  /** True time since the world began. */
  readonly atMs: number;
  /** A process, `storage`, or `checker`. */
  readonly who: string;
  readonly event: string;
  readonly fields: TraceFields;
}

/** Who listens to the worlds that are made inside of `traces.run`. A trace draws nothing, so a seed plays the same with it. */
export const traces = new AsyncLocalStorage<(event: TraceEvent) => void>();
