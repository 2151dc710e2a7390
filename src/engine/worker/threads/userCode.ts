import type { ChunkRetry } from "../../calculation/chunkAttempts.ts";
import type { ResultBytes } from "../../calculation/contract.ts";
import type { CoveringPart } from "../../calculation/foldParts.ts";
import type { GapsAllowed } from "../../calculation/gaps.ts";
import type { KeptFold } from "../../calculation/packFold.ts";
import type { ChunkFailure } from "../../calculation/runJob.ts";
import type { ChunkRange, PlannedChunks, SampleTime } from "../../calculation/timeChunks.ts";
import type { FailedChunk } from "../../model/errors.ts";
import type { Range } from "../../model/packs.ts";
import type { PrintedLine } from "../../model/printed.ts";

/**
 * The port through which the engine runs a user's calculation: a pool of worker threads, or code in this process for
 * simulations. Whatever goes wrong in user code is a `CalculationError`.
 *
 * Not promised: that a task ends by itself. Its time limit counts from when a thread takes it; at the limit the thread
 * is ended and the task fails.
 */
export interface UserCode {
  /**
   * Takes a thread for tasks with `held`, one after the other, so that none of them waits behind others. Whoever holds it
   * calls what this resolves to, once, whatever became of the tasks. Throws `NoThreadError` where all threads are overdue, as any task
   * without `held` does.
   */
  hold(options: Pick<TaskOptions, "urgent" | "isolated" | "run" | "expectedMs">): Promise<() => void>;
  /**
   * Runs `plan`. A list goes to `sink` in order, in batches of at most 5,000 inputs and 4 MB, the next one only after
   * `sink` has settled. A count never calls it.
   */
  plan(task: CalculationTask, sink: InputSink, options: TaskOptions): Promise<PlannedChunks>;
  /** Computes chunks `[from, to)` and folds them by the tree of spans; those that may fail are left out. */
  compute(task: ComputeTask, options: TaskOptions): Promise<ComputeOutput>;
  /** Folds encoded partials, which are in index order, into one that covers a range. */
  fold(task: FoldTask, options: TaskOptions): Promise<TaskOutput>;
  /** Whether the calculation stops after a prefix. */
  ask(task: AskTask, options: TaskOptions): Promise<boolean>;
  finish(task: FinishTask, options: TaskOptions): Promise<ResultBytes>;
  stop(): Promise<void>;
}

export interface CalculationTask {
  readonly calculation: string;
  readonly params: unknown;
}

export type ComputeTask = CalculationTask &
  ChunkRange & {
    readonly gaps?: GapsAllowed | undefined;
    /** Attempts at a chunk that throws, within this task. */
    readonly retry?: ChunkRetry | undefined;
    /** Fewer chunks at the same time than the calculation allows. */
    readonly atOnceMax?: number | undefined;
    /** What earlier attempts have of the pack. */
    readonly kept?: readonly KeptFold[] | undefined;
  };

/** `[from, to)`: what the fold covers. */
export interface FoldTask extends CalculationTask, Range {
  readonly parts: readonly CoveringPart[];
}

/** The parts of a prefix. */
export interface AskTask extends CalculationTask {
  readonly parts: readonly CoveringPart[];
  /** Chunks that the parts contain. */
  readonly folded: number;
  /** Chunks of the prefix. */
  readonly chunks: number;
}

/** The result of the parts together; none give the calculation's zero. */
export interface FinishTask extends CalculationTask {
  readonly parts: readonly CoveringPart[];
  /** Chunks that the parts contain. */
  readonly folded: number;
  /** Chunks of the whole run, or of the prefix that it stopped after. */
  readonly count: number;
}

export type InputSink = (inputs: readonly unknown[]) => Promise<void>;

/** Encoded partial, and the time that a thread spent on it. */
interface TaskOutput extends SampleTime {
  readonly bytes: Uint8Array;
}

export interface ComputeOutput extends TaskOutput {
  /** Chunks of the pack that the partial lacks, ascending; absent: none. */
  readonly failed?: readonly FailedChunk[];
}

export interface TaskOptions {
  /** Urgent tasks are taken before all others. */
  readonly urgent: boolean;
  /** For how long the task is planned to have its thread. */
  readonly expectedMs?: number | undefined;
  /** Counts from when a thread takes the task. */
  readonly limitMs: number;
  /** A run and its generation: a thread calls `setup` once for these. Without it, once for each task. */
  readonly run?: string | undefined;
  /** Nothing else runs in this process meanwhile, because the task may end the process. */
  readonly isolated?: boolean;
  /** The caller holds the thread for this task; see `hold`. */
  readonly held?: boolean;
  /** Ends the task, which fails with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Called when a thread takes the task; if it rejects, the task is not run and fails with that error. `chunkNow` tells the
   * chunk that the thread computes at that moment.
   */
  readonly onStart?: (chunkNow?: () => number | undefined) => void | Promise<void>;
  /** Stores a file that a chunk saves; without it none is stored. */
  readonly onSave?: ((name: string, body: Uint8Array) => Promise<void>) | undefined;
  /** Stores what another attempt at a pack can begin with, before the task ends; must not reject. */
  readonly onKept?: ((kept: Uint8Array) => Promise<void>) | undefined;
  /** A chunk threw, and is computed again within this task; called for the first of them. */
  readonly onThrew?: ((failure: ChunkFailure) => void) | undefined;
  /** Gets each line that user code prints, and at last how many more there were. */
  readonly onPrint?: ((line: PrintedLine | undefined, more: number) => void) | undefined;
}
