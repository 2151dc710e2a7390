import { InvalidArgumentError } from "commander";
import type { Tolerance } from "../model/run.ts";

/** Chunks that a result may miss, on the command line: `10`, or a share of them, `1%` or `0.5 %`. */
export function toleranceOption(text: string): Tolerance {
  const [, digits = "", percent] = /^\s*(\d+(?:\.\d+)?)\s*(%)?\s*$/.exec(text) ?? [];
  const value = Number(digits);
  if (digits === "")
    throw new InvalidArgumentError('it must be a number of chunks like 10, or a share like "1%".');
  if (percent === undefined) {
    if (Number.isSafeInteger(value)) return { chunks: value };
    throw new InvalidArgumentError("a number of chunks must be whole; a share ends with %.");
  }
  if (value <= 100) return { percent: value };
  throw new InvalidArgumentError("a share of the chunks is at most 100%.");
}
