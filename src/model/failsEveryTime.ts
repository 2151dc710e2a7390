import { CalculationError } from "./errors.ts";
import type { WorkMessage } from "./message.ts";

/**
 * Whether an attempt failed in a way that every other attempt would: then none is made. It decides by the error's
 * code alone. Not promised: that an error it calls passing ever passes.
 *
 * What user code throws may pass. Storage that is busy, lost or corrupt is none of a calculation's errors and is
 * decided elsewhere.
 */
export function failsEveryTime(error: unknown, kind: WorkMessage["kind"]): boolean {
  if (!(error instanceof CalculationError) || passing.has(error.code)) return false;
  return !(kind === "plan" && passingInPlan.has(error.code));
}

/** Codes of errors that another attempt, often in another process, may not meet. */
const passing: ReadonlySet<string> = new Set([
  // User code, which may depend on anything.
  "calculation-threw",
  // The thread, its memory and its time are shared with other work on the machine.
  "thread-not-started",
  "thread-exited",
  "thread-crashed",
  "out-of-memory",
  "time-limit",
  "dropped",
  // Storage refused one instance, or one call.
  "file-denied",
  "file-refused",
  // While the app is deployed, two versions of it with other calculations run side by side.
  "unknown-calculation",
  "bad-calculation-file",
  "no-calculation-file",
  "calculation-name",
  "no-library",
  "old-node",
]);

/** A chunk's file is fixed; another plan lists the files anew. */
const passingInPlan: ReadonlySet<string> = new Set(["file-missing", "file-changed"]);
