import { InvalidArgumentError } from "commander";

const msOf = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A duration on the command line, in ms: `500ms`, `30s`, `5m` or `5min`, `1.5h`, `1d`. The client checks its range. */
export function durationOption(text: string): number {
  const [, digits, unit] = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)\s*$/.exec(text) ?? [];
  if (digits !== undefined) return Math.round(Number(digits) * msOf[unit as keyof typeof msOf]);
  throw new InvalidArgumentError("it must be a duration like 30s, 5m, 2h or 1d.");
}
