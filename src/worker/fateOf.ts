import { CorruptDataError, LeasefoldError, NewerVersionError } from "../model/errors.ts";
import { DroppedError, MalformedWorkError, StorageLostError } from "./ports.ts";
import { OtherCodeError } from "./rightCode.ts";

/**
 * What becomes of a message whose attempt did not succeed: it is completed in silence (`drop`); recorded as one that
 * nobody can act on (`malformed`); enqueued once more as it is (`put-back`) or as the next attempt of its send
 * (`again`); or its send ends with a record or an answer (`end`).
 */
export type Fate = "drop" | "malformed" | "put-back" | "again" | "end";

/**
 * `last`: no attempt of this send is left, or none could succeed. `asked`: a client waits for the answer, so every
 * end is told and nothing is put off beyond the last attempt.
 */
export function fateOf(error: unknown, { last, asked }: { last: boolean; asked: boolean }): Fate {
  if (error instanceof DroppedError) return "drop";
  // Another instance may understand what a newer version wrote.
  if (error instanceof NewerVersionError) return "put-back";
  if (error instanceof MalformedWorkError) return asked ? "end" : "malformed";
  // Bytes that do not decode will not decode next time either, and a lost member will not come back.
  if (error instanceof CorruptDataError || error instanceof StorageLostError) return "end";
  // Who asks learns at once that this code cannot answer.
  if (error instanceof OtherCodeError && asked) return "end";
  // Storage that is away and an instance that stops say nothing about the work.
  if (error instanceof LeasefoldError && error.retry === "later" && !asked) return "put-back";
  // The leader decides whether work that takes too long is given another attempt.
  if (error instanceof LeasefoldError && error.code === "time-limit") return "end";
  return last ? "end" : "again";
}
