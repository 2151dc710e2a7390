import type { ProgressPart } from "./progressParts.ts";
import { trendOf } from "./trend.ts";

/** What a pack takes. Errors are standard deviations, as shares. */
export interface PackTime {
  readonly nowMs: number;
  /** On average over the packs that are left. */
  readonly aheadMs: number;
  /** Of one pack, by chance. */
  readonly chance: number;
  /** How far `aheadMs` may be off. */
  readonly error: number;
}

/** The level now is judged by so many of the latest packs that chance moves it by this share. */
const levelError = 0.05;
/** Standard error of a trend drawn half-way on, as a share of all of it: it may hasten, end or turn. */
const trendError = 0.65;
/** Standard error that even packs have which were all alike so far. */
const wayward = 0.09;

/**
 * What packs take now, from a local trend over the parts of a run, and ahead: half-way between a trend that ends
 * here and one that goes on to the last pack. What is left may differ from now as the parts so far did.
 */
export function packTimeOf(
  parts: readonly ProgressPart[],
  durationsMs: readonly number[],
  left: number,
): PackTime {
  const meanMs = durationsMs.reduce((sum, duration) => sum + duration, 0) / durationsMs.length;
  const chance = deviationOf(durationsMs) / meanMs;
  const ended = parts.reduce((sum, part) => sum + part.packs, 0);
  const reach = Math.min(Math.max((chance / levelError) ** 2, 0.1 * ended, 5), 0.4 * ended);
  const trend = trendOf(parts, reach, (chance * meanMs) ** 2);
  // A line through few points may dip below nothing.
  const nowMs = Math.max(trend.now, meanMs / 3);
  const goesOn = Math.log(ifItGoesOn(trend.perPack / nowMs, left));
  const differed = parts.reduce((sum, part) => sum + part.packs * times(part.value / nowMs) ** 2, 0) / ended;
  // It fades slowly, because the less is left the more it is alike, and off as a whole.
  const differs = Math.sqrt((differed + wayward ** 2) * Math.cbrt(left / (left + ended)));
  const error = Math.hypot(trend.error / nowMs, trendError * goesOn, differs);
  return { nowMs, aheadMs: nowMs * Math.exp(goesOn / 2), chance, error };
}

/** Standard deviation by chance, from neighbours, so that a trend does not count as chance (von Neumann). */
function deviationOf(values: readonly number[]): number {
  let squares = 0;
  for (const [index, value] of values.entries()) squares += (value - (values[index - 1] ?? value)) ** 2;
  return Math.sqrt(squares / (2 * Math.max(values.length - 1, 1)));
}

/**
 * The mean of what is left to what is now, if each pack takes this share more than the one before. A rise goes on by
 * the same amount, a fall by the same share: of the two ways to draw a curve on, the one that goes less far.
 */
function ifItGoesOn(sharePerPack: number, left: number): number {
  const change = sharePerPack * left;
  return change >= 0 ? 1 + change / 2 : (1 - Math.exp(change)) / -change;
}

/** A ratio as a logarithm; a part that took twice or half as long is different enough. */
const times = (ratio: number): number => Math.min(Math.max(Math.log(ratio), -Math.LN2), Math.LN2);
