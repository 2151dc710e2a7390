import { count, dollars, duration, typedMs } from "./figures.ts";

interface Counted {
  readonly complete: number;
  readonly gaps: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly active: number;
  readonly dollars: number;
}

/** `38 complete, 3 failed, $1.20 since yesterday`. `since`: as it was typed. */
export function overviewText({ dollars: spent, ...counts }: Counted, since: string): string {
  const parts: readonly (readonly [number, string])[] = [
    [counts.complete, "complete"],
    [counts.gaps, "with gaps"],
    [counts.failed, "failed"],
    [counts.cancelled, "cancelled"],
    [counts.active, "not ended yet"],
  ];
  const shown = parts.filter(([value]) => value > 0).map(([value, word]) => `${count(value)} ${word}`);
  const all = shown.length === 0 ? "no runs" : `${shown.join(", ")}, ${sumText(spent)}`;
  const ms = typedMs(since);
  return `${all} ${ms === undefined ? `since ${since}` : `in the last ${duration(ms / 1_000)}`}`;
}

/** A sum that stands alone is read in cents. */
const sumText = (value: number): string => (value >= 0.01 ? `$${value.toFixed(2)}` : dollars(value));
