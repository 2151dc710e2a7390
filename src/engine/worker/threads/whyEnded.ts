import { placeOf } from "../../calculation/placeOf.ts";
import { ThreadEndedError, withChunks } from "../../model/chunkErrors.ts";
import { CalculationError, messageOf } from "../../model/errors.ts";
import { OtherCodeError } from "../attempt/rightCode.ts";
import type { MarkedChunk } from "./chunkMark.ts";
import type { ThreadWork } from "./threadTask.ts";
import { needsMore } from "./watchMemory.ts";

/** Why a thread was ended, or ended by itself, before its task did. */

export function tooLong(limitMs: number, work: ThreadWork): CalculationError {
  // The chunk that is named need not be slow itself.
  const whole = work.kind === "compute" && work.to - work.from > 1 ? " for its whole pack" : "";
  // Of several tasks of one attempt each has what those before have left of its limit.
  const limitS = Number((limitMs / 1_000).toFixed(1));
  const message = `the time limit of ${limitS} s${whole} is past; the thread was ended`;
  return new CalculationError("time-limit", message);
}

export const outOfMemory = (text: string, cause?: unknown): CalculationError =>
  new CalculationError("out-of-memory", `the calculation ${text}`, { cause });

/** An error of the task as it is; any other says why the thread ended before its task did. */
export function explained(error: unknown, memoryMb: number): Error {
  if (error instanceof CalculationError || error instanceof OtherCodeError) return error;
  const from = { cause: error };
  const why = messageOf(error);
  if ((error as { code?: unknown }).code === "ERR_WORKER_OUT_OF_MEMORY")
    return outOfMemory(needsMore(memoryMb), error);
  if (/worker exited with code/i.test(why))
    return new CalculationError("thread-exited", `the calculation ended its thread: ${why}`, from);
  return new CalculationError("thread-crashed", `the thread crashed: ${why}${placeOf(error)}`, from);
}

/**
 * The same with the chunk that the thread computed then. At its time limit that one is to blame only if it took half of the time
 * itself: in a pack whose chunks all are slow none is.
 */
export function inChunk(error: Error, chunk: MarkedChunk | undefined, limitMs: number): Error {
  if (!(error instanceof CalculationError) || chunk === undefined) return error;
  const { index, sinceMs } = chunk;
  if (error.code !== "time-limit" || sinceMs <= limitMs / 2) return new ThreadEndedError(error, index);
  return withChunks(error, { from: index, to: index + 1 });
}
