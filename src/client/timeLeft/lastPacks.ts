/** Durations to judge by, and how the end of a run stands. */
export interface LastPacks {
  readonly durationsMs: readonly number[];
  /** Packs computed at once while there are enough. */
  readonly atOnce: number;
  /** Packs without an outcome. */
  readonly left: number;
}

/** Times that the last packs stay below with probability 0.1, 0.5 and 0.9, in ms. */
export interface LastPacksTime {
  readonly low: number;
  readonly middle: number;
  readonly high: number;
}

/**
 * How long the last packs take once no other is waiting. Nobody knows whether those computed at once go in step:
 * low is as if they were met at random moments, high also as if all had just begun.
 */
export function lastPacksMs({ durationsMs, atOnce, left }: LastPacks): LastPacksTime {
  const there = Math.max(1, Math.min(left, atOnce));
  const longestFirst = durationsMs.toSorted((a, b) => b - a);
  const share = there / Math.max(there, atOnce);
  // Where fewer are left than were computed at once, the short rests are over already.
  const gone = restMs(longestFirst, share);
  const met = (chance: number) =>
    Math.max(0, restMs(longestFirst, share * (1 - chance ** (1 / there))) - gone);
  const begun = (chance: number) =>
    longestFirst[Math.floor((1 - chance ** (1 / there)) * longestFirst.length)] ?? 0;
  return {
    low: met(0.1),
    middle: (met(0.5) + begun(0.5)) / 2,
    high: Math.max(met(0.9), begun(0.9)),
  };
}

/**
 * The rest that a share of the packs met at random moments exceeds: a rest r is as frequent as durations above r
 * (renewal theory).
 */
function restMs(longestFirst: readonly number[], share: number): number {
  const beyond = share * longestFirst.reduce((sum, duration) => sum + duration, 0);
  let sum = 0;
  for (const [index, duration] of longestFirst.entries()) {
    sum += duration;
    const next = longestFirst[index + 1] ?? 0;
    if (sum - (index + 1) * next >= beyond) return (sum - beyond) / (index + 1);
  }
  return 0;
}
