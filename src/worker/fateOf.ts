import { CorruptDataError, LeasefoldError, NewerVersionError } from "../model/errors.ts";
import { DroppedError, MalformedWorkError, StorageLostError } from "./ports.ts";

/**
 * What becomes of a message whose work did not succeed: it is completed in silence (`drop`); recorded as one that
 * nobody can act on (`malformed`); put back with its deliveries counted anew (`put-back`); given back to the host
 * for its next delivery (`again`); or its send ends with a record or an answer (`end`).
 */
export type Fate = "drop" | "malformed" | "put-back" | "again" | "end";

/** `asked`: a client waits for the answer, so every end is told and nothing is put off beyond the last delivery. */
export function fateOf(error: unknown, { last, asked }: { last: boolean; asked: boolean }): Fate {
  if (error instanceof DroppedError) return "drop";
  // Another instance may understand what a newer version wrote.
  if (error instanceof NewerVersionError) return "put-back";
  if (error instanceof MalformedWorkError) return asked ? "end" : "malformed";
  // Bytes that do not decode will not decode next time either, and a lost member will not come back.
  if (error instanceof CorruptDataError || error instanceof StorageLostError) return "end";
  if (!last) return "again";
  // Storage that is away says nothing about the work.
  const busy = error instanceof LeasefoldError && error.retry === "later";
  return busy && !asked ? "put-back" : "end";
}
