import type { ProgressPart } from "./progressParts.ts";

/** Packs computed at once: compute time per time that passed, below 1 where packs are mostly waited for. */
export interface Concurrency {
  readonly busy: number;
  /** Without the packs under way `busy` is too low at the beginning of a run: it may be up to this. */
  readonly busyMax: number;
  /** Standard error of `busy` from here on, as a share. */
  readonly error: number;
}

/** Marks carry whole seconds, so less time between two of them says nothing. */
const spanMsMin = 3_000;
/** Of the packs that ended: fewer would follow every whim. */
const latestShare = 0.1;

/** Workers that came or went once may do so again, but twice or half as many are enough to count. */
const changedMax = Math.LN2;

/**
 * How many packs are computed at once, from the latest parts of a run: as many as hold two packs for each one at
 * once. `packMs` is what one takes. Undefined while too little time has passed.
 */
export function concurrencyOf(parts: readonly ProgressPart[], packMs: number): Concurrency | undefined {
  const all = sumOf(parts);
  if (all.spanMs < spanMsMin) return undefined;
  const wanted = Math.max((2 * all.workMs) / all.spanMs, latestShare * all.packs);
  let from = parts.length - 1;
  let latest = sumOf(parts.slice(from));
  while (from > 0 && (latest.packs < wanted || latest.spanMs < spanMsMin)) {
    from -= 1;
    latest = sumOf(parts.slice(from));
  }
  const busy = latest.workMs / latest.spanMs;
  // The parts begin and end anywhere within the packs at once, an error even over one pack each: 1/√12 of it.
  const edges = Math.max(busy, 1) / Math.sqrt(12) / latest.packs;
  if (from === 0) {
    const settledMs = latest.spanMs - packMs;
    return {
      busy,
      busyMax: settledMs > 0 ? latest.workMs / settledMs : Number.POSITIVE_INFINITY,
      error: edges,
    };
  }
  const before = sumOf(parts.slice(0, from));
  const changed = before.spanMs < spanMsMin ? 0 : Math.log((busy * before.spanMs) / before.workMs);
  return {
    busy,
    busyMax: busy,
    error: Math.hypot(edges, Math.max(-changedMax, Math.min(changed, changedMax))),
  };
}

function sumOf(parts: readonly ProgressPart[]): { packs: number; workMs: number; spanMs: number } {
  const sum = { packs: 0, workMs: 0, spanMs: 0 };
  for (const { packs, workMs, spanMs } of parts) {
    sum.packs += packs;
    sum.workMs += workMs;
    sum.spanMs += spanMs;
  }
  return sum;
}
