import type { Calculations } from "../calculation/contract.ts";
import type { Names } from "../model/names.ts";
import type { Clock, Random, Storage } from "../storage/ports.ts";

/**
 * What a person or program needs to work with runs; the HTTP functions and the CLI call the same verbs. A client writes
 * specs, markers, wakes and questions to workers, never the state or a partial. `depose` breaks a lease.
 *
 * Not promised: that a command has taken effect when its call returns. The leader executes it and records the answer in
 * the state, which `status` shows.
 */
export interface Client {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly random: Random;
  /** The built-in calculations and those of the user's files. */
  readonly calculations: Calculations;
  /** Who asks, as `actorOf`; specs and markers tell it. */
  readonly actor?: string | undefined;
  /** Has the leader of this very process poll now, so that no wake is needed; false where it does not lead. */
  readonly pollNow?: () => boolean;
}

export const clientLimits = {
  /** A plan has at most this many chunks, so a larger pack could never be filled. */
  packSizeMax: 10_000_000,
  /** The largest limit that an app can be set to (LEASEFOLD_PACK_LIMIT_S). */
  packLimitMsMax: 86_400_000,
  /** A year: a longer deadline is a mistake of units. */
  deadlineMsMax: 365 * 86_400_000,
  /** How long a submit waits for the deletion of an older run of the same id before it answers `being-deleted`. */
  deletionWaitMs: 2_000,
  deletionPollMs: 200,
  /** Tries of a read-modify-write of the marker; each failed one means that another client wrote a command. */
  markerTries: 20,
  markerRetryMs: 50,
  /** Documents of runs and failure records read at once. */
  readsAtOnce: 16,
  /** Ended runs on a page of the list: the default, and at most. One list call reads that many. */
  runsListed: 50,
  runsListedMax: 1_000,
  /** List calls for a page of runs that a filter leaves short. */
  runPagesRead: 10,
  /** Failure records shown by default: a person reads the first few, a program asks for more. */
  failuresShown: 1_000,
  /** Lines that user code printed, shown by default, and attempts of which they are read. */
  logLinesShown: 1_000,
  logBlobsRead: 1_000,
  /** Notes of failed attempts read: two calls each, and the newest are enough. */
  triedRead: 100,
  /** Largest pack whose inputs are shown; the range of chunks is enough for a larger one. */
  inputsShownMax: 10,
  /** Plan segments read to show inputs: each has up to 5,000 inputs. */
  inputSegmentsRead: 16,
  /** Characters of a message that are shown: most have a few hundred, and a finish at most 64 KB. */
  messageCharactersMax: 8_192,
  /** Cells of a map of packs: a screen has no more, and a person sees no more. */
  mapCellsMax: 2_000,
  /** List pages for durations: half a cent, and 100,000 partials. */
  durationPagesMax: 20,
  /** Time of a plan over HTTP, its waiting for a thread included; Azure's front end ends a request after 230 s. */
  planLimitMs: 60_000,
  /** Plans over HTTP at once in one process: each has a thread and a heap of its own. */
  plansAtOnce: 2,
  /** Polls for the answer of a worker: fast at first, and slower in a long wait. */
  answerPollMs: 250,
  answerPollSlowMs: 1_000,
  answerPollFastForMs: 10_000,
  /** Longest wait for an answer so far: a worker folds at most a few thousand partials. */
  soFarWaitMs: 60_000,
  /** Open shards of an answer so far: one list call each for the worker that answers. */
  soFarOpenMax: 256,
  /** Packs of one verification: each is computed again, and its message goes to the urgent queue. */
  verifyPacksMax: 1_000,
  /** Packs in flight of a verification, so that it never fills the urgent queue. */
  verifyAtOnce: 64,
  /** A verification ends after this time without any answer, plus three times the planned time of a pack. */
  verifyWaitMs: 60_000,
  /** Packs that a plan takes to be computed at once where nothing tells. */
  planWorkers: 20,
  planWorkersMax: 100_000,
  /** Threads of an instance by `host.json`: `batchSize` + `newBatchThreshold`. */
  planThreads: 2,
} as const;

/** A time as views tell it. */
export const iso = (ms: number): string => new Date(ms).toISOString();

type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

/** The properties that are not undefined: views leave out what is unknown. */
export const defined = <T extends object>(properties: T): Defined<T> =>
  Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined)) as Defined<T>;
