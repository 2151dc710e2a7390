/** What a call throws when the caller's own signal ended it: always of this name, whatever the signal's reason was. */
export function abortError(cause?: unknown): Error {
  const error = new Error("the caller's signal ended this storage call", { cause });
  error.name = "AbortError";
  return error;
}

export const isAbortError = (error: unknown): boolean =>
  error instanceof Error && error.name === "AbortError";

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal.reason);
}
