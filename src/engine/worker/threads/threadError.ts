import { userFrames } from "../../calculation/placeOf.ts";
import { CalculationError, LeasefoldError, messageOf } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";

/**
 * An error on its way from a thread to the process: as data, because a class does not survive the transfer. A thread that ended
 * sends none; `whyEnded.ts` makes it.
 */
export interface ErrorData {
  readonly code: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * The details that the process needs: in how many seconds to come back (`retryLater`); how many attempts at the chunk there were,
 * whether none follows, whether the program itself is wrong; and the chunks that the message tells.
 */
const carried = ["laterS", "attempts", "over", "program", "chunks"];

export function errorAsData(error: unknown): ErrorData {
  const { code, details = {} } = error instanceof LeasefoldError ? error : { code: "calculation-threw" };
  return {
    code,
    // User code may quote whole files; this goes into logs and records, several times over.
    message: messageOf(error).slice(0, limits.errorCharactersMax),
    stack: stackOf(error)?.slice(0, limits.errorCharactersMax),
    details: Object.fromEntries(carried.map((name) => [name, details[name]])),
  };
}

export const errorOfData = ({ code, message, stack, details }: ErrorData): CalculationError =>
  new CalculationError(code, message, { details: { ...details, stack } });

/** The error and where user code threw; the frames of this program tell its author nothing. */
function stackOf(error: unknown): string | undefined {
  if (!(error instanceof LeasefoldError)) return error instanceof Error ? error.stack : undefined;
  const ofUser = error.code === "calculation-threw" && error.cause instanceof Error;
  const thrown = ofUser ? (error.cause as Error) : error;
  return [`${thrown.name}: ${error.message}`, ...userFrames(thrown)].join("\n");
}
