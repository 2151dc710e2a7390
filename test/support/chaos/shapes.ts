import type { RunRequest } from "../../../src/engine/client/runRequest.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";

/** One shape of a run among those that go on side by side. All of them chain steps, so order and number of chunks count. */
export interface Shape {
  readonly name: string;
  readonly request: RunRequest;
  /** Pauses the run once this holds, and resumes it some seconds later. */
  readonly pauseOnce?: (view: RunView) => boolean;
}

/** Nobody mends the chunk, so it fails in each attempt. */
const broken = (chunks: string) => ({ broken: chunks, mendedBy: "/nowhere" });

const chain = (params: RunRequest["params"], more: Partial<RunRequest> = {}): RunRequest => ({
  ...{ calculation: "chain", params, ...more },
  // Attempts at what throws follow each other at once; the pauses between them have tests of their own.
  ...(more.tolerate === undefined ? {} : { attempts: 2, retryAfterS: [0] }),
});

export const shapes: readonly Shape[] = [
  { name: "short chunks", request: chain({ chunks: 6_000 }, { packSize: 100 }) },
  { name: "long chunks", request: chain({ chunks: 5, ms: 2_000 }, { packSize: 1 }) },
  {
    name: "a failing pack",
    request: chain({ chunks: 20, ms: 20, ...broken("7") }, { packSize: 1, tolerate: { chunks: 1 } }),
  },
  {
    name: "gapped packs",
    request: chain({ chunks: 128, ms: 10, ...broken("5,70") }, { packSize: 16, tolerate: { chunks: 2 } }),
  },
  {
    name: "paused",
    request: chain({ chunks: 24, ms: 100 }, { packSize: 2 }),
    pauseOnce: ({ packs }) => (packs?.done ?? 0) >= 4,
  },
];

export const pausedMs = 2_000;

/** Its runs begin by the clock, each minute; beside them a run of the same request tells how long one takes. */
export const scheduled: Shape = {
  name: "scheduled",
  request: chain({ chunks: 500, ms: 1 }, { packSize: 50 }),
};
