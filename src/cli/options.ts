import { InvalidArgumentError, Option } from "commander";
import type { Tolerance } from "../model/run.ts";

/** `--param name=value`, repeatable: for a parameter whose name an option of Leasefold has taken; see `freeOptions.ts`. */
export const paramOption = (): Option =>
  new Option("-p, --param <name=value>", "a parameter by its name, repeatable")
    .argParser((pair: string, before: readonly string[]): readonly string[] => [...before, pair])
    .default([]);

/** A number on the command line: `2000`, `1e6`. Its range is checked by the client. */
export function wholeOption(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("it must be a whole number.");
}

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

const msOf = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A duration on the command line, in ms: `500ms`, `30s`, `5m` or `5min`, `1.5h`, `1d`. The client checks its range. */
export function durationOption(text: string): number {
  const [, digits, unit] = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)\s*$/.exec(text) ?? [];
  if (digits !== undefined) return Math.round(Number(digits) * msOf[unit as keyof typeof msOf]);
  throw new InvalidArgumentError("it must be a duration like 30s, 5m, 2h or 1d.");
}
