import { CalculationError, failRunCode, type LeasefoldError } from "./errors.ts";
import { chunksText, type Range } from "./packs.ts";

/** The chunks that an error names and its message tells, as `details` have them; undefined where it names none. */
export const chunksNamed = ({ details }: LeasefoldError): Range | undefined =>
  details["chunks"] as Range | undefined;

/** The same error with the chunks that caused it, told once by its message. */
export function withChunks(error: CalculationError, chunks: Range): CalculationError {
  if (chunksNamed(error) !== undefined) return error;
  const { code, details, cause = error } = error;
  const name = `${chunksText(chunks)}: `;
  // Code that ends its run says why first.
  const isTold = code === failRunCode || error.message.startsWith(name);
  const message = isTold ? error.message : `${name}${error.message}`;
  return new CalculationError(code, message, { cause, details: { ...details, chunks } });
}

/** A thread ended before its task did, while it computed this chunk: only without it does another attempt do better. */
export class ThreadEndedError extends CalculationError {
  readonly chunk: number;
  constructor(error: CalculationError, chunk: number) {
    const { code, message, details, cause } = withChunks(error, { from: chunk, to: chunk + 1 });
    super(code, message, { cause, details });
    this.chunk = chunk;
  }
}
