import type { Calculations } from "../calculations/registry.ts";
import { limits } from "../model/limits.ts";
import type { Names } from "../model/names.ts";
import type { Clock, Random, Storage } from "../storage/ports.ts";

/**
 * What a person or program can do with runs, one verb per file; the HTTP functions and the CLI are two faces of
 * it. A client only writes specs, markers and wakes: it never touches the state, a partial or the lease.
 *
 * Not promised: that a command has taken effect when its call returns. The leader executes it and records the
 * answer in the state, which `status` shows.
 */
export interface Client {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly random: Random;
  /** The built-in calculations and those of the user's files. */
  readonly calculations: Calculations;
}

/** Limits and timings of the client: unit in the name, and the reason. */
export const clientLimits = {
  /** A plan has at most this many chunks, so a larger pack could never be filled. */
  packSizeMax: 10_000_000,
  capMax: limits.capMax,
  /** The largest limit that an app can be set to (LEASEFOLD_PACK_LIMIT_S). */
  packLimitMsMax: 86_400_000,
  /** A year: what is written as a deadline beyond that is a mistake of units. */
  deadlineMsMax: 365 * 86_400_000,
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
  /** Notes of failed attempts read: two calls each, and the newest tell enough. */
  triedRead: 100,
  /** Inputs of a failed pack are shown up to so many chunks; the range tells the same of a larger one. */
  inputsShownMax: 10,
  /** Plan segments read to show inputs: each has up to 5,000 inputs. */
  inputSegmentsRead: 16,
  /** Peek Messages returns at most 32 (learn.microsoft.com/rest/api/storageservices/peek-messages). */
  peekMax: 32,
  /** How often a client looks for the answer of a worker: quickly at first, and less often in a long wait. */
  answerPollMs: 250,
  answerPollSlowMs: 1_000,
  answerPollFastForMs: 10_000,
  /** How long an answer so far is waited for: a worker folds at most a few thousand partials. */
  soFarWaitMs: 60_000,
  /** Open shards that an answer so far looks into: one list call each for the worker that answers. */
  soFarOpenMax: 256,
  /** Packs of one verification: each is computed again, and its message goes to the urgent queue. */
  verifyPacksMax: 1_000,
  /** Packs asked for and not answered, so that a verification never fills the urgent queue. */
  verifyAtOnce: 64,
  /** Without any answer for so long, and three times the planned time of a pack, a verification gives up. */
  verifyWaitMs: 60_000,
  /** Packs computed at once where nobody says how many: ten instances of two threads. */
  planWorkers: 20,
  planWorkersMax: 100_000,
  /** Threads of an instance as `host.json` has them: `batchSize` + `newBatchThreshold`. */
  planThreads: 2,
} as const;
