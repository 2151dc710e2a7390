import { limits } from "../../model/limits.ts";
import { type Layout, packsOf } from "../../model/packs.ts";

/** One storage call as seen from the same region. An assumption: the service promises none (10 to 60 ms are usual). */
const callMs = 30;

/** What a pack costs its thread beside computing: its message is got and deleted, its partial is written. */
export const packOwnMs = 3 * callMs;

/** Messages that a leader puts in a second. */
const sendsPerS = (limits.sendsAtOnce * 1_000) / callMs;

/** A leader is elected and asks for the plan; the last partials are seen, combined and finished. */
const beginMs = 1_500;
const endMs = 2_000;

/**
 * How long a run takes from submit to result on so many warm workers whose packs are all alike. Not in it: instances
 * that must start first, packs of unequal weight, whatever else the workers do.
 */
export function expectedMs(run: {
  readonly layout: Layout;
  readonly packMs: number;
  readonly planMs: number;
  /** Packs computed at the same moment. */
  readonly workers: number;
}): number {
  const packs = packsOf(run.layout);
  const rounds = Math.ceil(packs / run.workers);
  const computingMs = Math.max(rounds * (run.packMs + packOwnMs), (packs / sendsPerS) * 1_000);
  return beginMs + run.planMs + (packs === 0 ? 0 : computingMs) + endMs;
}
