/**
 * The port through which the engine runs a user's calculation. Behind it stands a pool of worker threads, or code
 * in this process for simulations.
 *
 * Not promised: that a task ends by itself. Its time limit counts from when a thread takes it; past it the thread
 * is ended and the task fails. Whatever goes wrong in user code is a `CalculationError`.
 */
export interface UserCode {
  /**
   * Runs `plan`. A list is handed to `sink` in batches of at most 5,000 inputs and 4 MB, in order, the next one only
   * after `sink` has settled; a count never calls it.
   */
  plan(
    job: CalculationJob,
    sink: (inputs: readonly unknown[]) => Promise<void>,
    options: TaskOptions,
  ): Promise<{ readonly chunks: number; readonly list: boolean }>;
  /** Computes chunks `[from, to)` and folds them in index order. `inputs[i]` belongs to chunk `from + i`. */
  compute(
    job: CalculationJob & {
      readonly from: number;
      readonly to: number;
      /** Chunks of the whole run. */
      readonly count: number;
      readonly inputs?: readonly unknown[];
    },
    options: TaskOptions,
  ): Promise<TaskOutput>;
  /** Folds encoded partials in the given order; none gives the calculation's zero. */
  fold(
    job: CalculationJob & { readonly parts: readonly Uint8Array[] },
    options: TaskOptions,
  ): Promise<TaskOutput>;
  /** Folds and finishes. `folded` chunks of `count` are in the parts. */
  finish(
    job: CalculationJob & {
      readonly parts: readonly Uint8Array[];
      readonly folded: number;
      readonly count: number;
    },
    options: TaskOptions,
  ): Promise<{
    readonly body: Uint8Array;
    readonly contentType: string;
    readonly extension: string;
    readonly ms: number;
  }>;
  stop(): Promise<void>;
}

export interface CalculationJob {
  readonly calculation: string;
  readonly params: unknown;
}

/** Encoded partial, and the time a thread spent on it. */
export interface TaskOutput {
  readonly bytes: Uint8Array;
  readonly ms: number;
}

export interface TaskOptions {
  /** Taken before everything that is not. */
  readonly urgent: boolean;
  /** From when a thread takes the task. */
  readonly limitMs: number;
  /** Nothing else runs in this process meanwhile: the task may end it. */
  readonly alone?: boolean;
  /** Ends the task; it fails with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called when a thread takes the task; if it rejects, the task is not run and fails with that error. */
  readonly onStart?: () => void | Promise<void>;
}
