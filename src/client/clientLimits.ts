import { limits } from "../model/limits.ts";

/** Limits and timings of the client: unit in the name, and the reason. */
export const clientLimits = {
  /** A plan has at most this many chunks, so a larger pack could never be filled. */
  packSizeMax: 10_000_000,
  capMax: limits.capMax,
  /** How long a submit waits for an older run of the same id to be gone before it answers `being-deleted`. */
  deletionWaitMs: 2_000,
  deletionPollMs: 200,
  /** Tries of a read-modify-write of the marker; each lost one means that another client got its command in. */
  markerTries: 20,
  markerRetryMs: 50,
  /** Documents of runs and failure records read at the same time. */
  readsAtOnce: 16,
  /** Failure records shown unless asked for more: a person reads the first few, a program asks. */
  failuresShown: 1_000,
  /** Peek Messages returns at most 32 (learn.microsoft.com/rest/api/storageservices/peek-messages). */
  peekMax: 32,
  /** Outcomes before a time left is worth saying. */
  outcomesForTimeLeft: limits.outcomesForRate,
} as const;
