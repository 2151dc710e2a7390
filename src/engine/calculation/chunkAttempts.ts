import { backOff } from "../model/backOff.ts";
import type { CalculationError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";

/**
 * The chunks of one pack in one thread: several at the same time where the calculation says so, and one that throws again after
 * its pause, while the others are computed. So a chunk that fails costs its own attempts, and not those of its pack.
 *
 * Not promised: that all attempts of a chunk are made here. One whose pause is long, or would not fit into the time limit, ends
 * the attempt at the pack, whose message then waits (rule *waits*).
 */
export interface ChunkRetry {
  /** The number of the attempt that begins, from 1. */
  readonly attempt: number;
  readonly attemptsMax: number;
  /** Seconds before the second, third … attempt; the last of them holds for all further ones. */
  readonly pausesS: readonly number[];
  /** The time limit of the pack in ms. */
  readonly limitMs: number;
}

/** What became of a chunk, and by how many attempts. */
export type ChunkOutcome =
  | { readonly part: unknown }
  | { readonly error: unknown; readonly attempts: number };

interface Running {
  readonly index: number;
  attempt: number;
  isReady: boolean;
  outcome?: ChunkOutcome;
}

/** Chunks that are begun before the first of them is over, as it pauses or is slow: their parts are in memory. */
const begunMax = (atOnce: number): number => 16 + 4 * atOnce;

/** The time of an attempt at a pack. */
export interface ChunkTime {
  /** Ends early, and may reject, when the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<unknown>;
  /** Since the attempt began. */
  spentMs(): number;
}

export interface ChunkCalls {
  /** Chunks that are computed at the same time. */
  readonly atOnce: number;
  readonly retry: ChunkRetry | undefined;
  readonly compute: (index: number) => Promise<unknown>;
  /** Takes the outcomes, in the order of the chunks. What it throws ends all. */
  readonly take: (index: number, outcome: ChunkOutcome) => Promise<void>;
  /** Where `take` threw: gets the parts of later chunks that were computed by then, in their order. */
  readonly onLeft?: (parts: ReadonlyMap<number, unknown>) => Promise<void>;
  /** A chunk threw, and another attempt follows here. */
  readonly onThrew?: ((error: unknown, attempt: number) => void) | undefined;
  readonly time: ChunkTime;
}

/** Computes the chunks and hands over what became of each. Ends when none runs any more, with what `take` threw if it did. */
export async function computeChunks(indexes: Iterable<number>, calls: ChunkCalls): Promise<void> {
  const { atOnce, retry, compute, take, time } = calls;
  const left = indexes[Symbol.iterator]();
  const begun: Running[] = [];
  const over = new AbortController();
  let running = 0;
  let change = Promise.withResolvers<void>();
  const changed = (): void => {
    change.resolve();
    change = Promise.withResolvers();
  };

  const failed = (chunk: Running, error: unknown): void => {
    const pauseMs = over.signal.aborted
      ? undefined
      : pauseBefore(chunk.attempt, error, retry, time.spentMs());
    if (pauseMs === undefined) {
      chunk.outcome = { error, attempts: chunk.attempt };
      return;
    }
    calls.onThrew?.(error, chunk.attempt);
    chunk.attempt += 1;
    time.sleep(pauseMs, over.signal).then(
      () => {
        chunk.isReady = true;
        changed();
      },
      () => {
        chunk.outcome = { error, attempts: chunk.attempt - 1 };
        changed();
      },
    );
  };
  const begin = async (chunk: Running): Promise<void> => {
    chunk.isReady = false;
    running += 1;
    try {
      chunk.outcome = { part: await compute(chunk.index) };
    } catch (error) {
      failed(chunk, error);
    }
    running -= 1;
    changed();
  };
  const next = (): Running | undefined => {
    const ready = begun.find(({ isReady }) => isReady);
    if (ready !== undefined || begun.length >= begunMax(atOnce)) return ready;
    const { done, value: index } = left.next();
    if (done === true) return undefined;
    const chunk: Running = { index, attempt: retry?.attempt ?? 1, isReady: true };
    begun.push(chunk);
    return chunk;
  };

  try {
    for (;;) {
      const [first] = begun;
      if (first?.outcome !== undefined) {
        begun.shift();
        await take(first.index, first.outcome);
        continue;
      }
      const chunk = running < atOnce ? next() : undefined;
      // Alone, nothing else can change meanwhile, and most packs are computed in this way.
      if (chunk !== undefined && atOnce === 1 && begun.length === 1) await begin(chunk);
      else if (chunk !== undefined) void begin(chunk);
      else if (begun.length === 0) return;
      else await change.promise;
    }
  } catch (error) {
    over.abort("over");
    // What runs on would share the thread with the next task.
    while (running > 0) await change.promise;
    const left = begun.flatMap(({ index, outcome }) =>
      outcome !== undefined && "part" in outcome ? [[index, outcome.part] as const] : [],
    );
    await calls.onLeft?.(new Map(left));
    throw error;
  }
}

/**
 * The pause before the next attempt at a chunk that threw, in ms; undefined where none follows here. `spentMs`: what the attempt
 * at the pack has taken, which must leave time for the rest of it.
 */
export function pauseBefore(
  attempt: number,
  error: unknown,
  retry: ChunkRetry | undefined,
  spentMs: number,
): number | undefined {
  if (retry === undefined || !mayThrowAgain(error) || attempt >= attemptsFor(error, retry.attemptsMax))
    return undefined;
  const pauseMs = 1_000 * pauseOf(attempt, error, retry.pausesS);
  const isShort = pauseMs <= limits.threadPauseMsMax && spentMs + pauseMs <= retry.limitMs / 2;
  return isShort ? pauseMs : undefined;
}

/** Seconds before the attempt that follows this one. */
export const pauseOf = (
  attempt: number,
  error: unknown,
  pausesS: readonly number[] = backOff.pausesDefaultS,
): number => (isOfProgram(error) ? 0 : (pausesS[attempt - 1] ?? pausesS.at(-1) ?? 0));

/** How many attempts there are at what ends with this error. */
export const attemptsFor = (error: unknown, attemptsMax: number): number =>
  isOfProgram(error) ? Math.min(attemptsMax, backOff.programAttempts) : attemptsMax;

const mayThrowAgain = (error: unknown): boolean =>
  (error as Partial<CalculationError> | undefined)?.code === "calculation-threw";

/** Whether the code of the calculation is wrong, so that another attempt most likely meets the same. */
const isOfProgram = (error: unknown): boolean =>
  (error as Partial<CalculationError> | undefined)?.details?.["program"] === true;

/** Errors of JavaScript itself. One with a cause was made of another: `fetch` throws a TypeError where there is no connection. */
export function isProgramError(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || thrown.cause !== undefined) return false;
  return programErrors.has(thrown.name) || (thrown as { code?: unknown }).code === "ERR_ASSERTION";
}

const programErrors: ReadonlySet<string> = new Set([
  "TypeError",
  "ReferenceError",
  "SyntaxError",
  "AssertionError",
]);
