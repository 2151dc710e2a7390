import { limits } from "../../model/limits.ts";
import { type Layout, packsOf } from "../../model/packs.ts";

/** The properties of a run that its duration and its calls depend on. */
export interface RunShape {
  readonly layout: Layout;
  readonly packMs: number;
  /** Time of planning, samples included. */
  readonly planMs: number;
  /** Segments that hold the inputs of a listed plan; 0 if the plan is a count. */
  readonly segments: number;
  /** Packs computed at once, over all instances. */
  readonly workers: number;
  /** Worker threads of one instance, which share what it has read. */
  readonly threads: number;
  /** From submit to result. */
  readonly durationMs: number;
}

/** One storage call as seen from the same region. An assumption: the service promises none (10 to 60 ms are usual). */
const callMs = 30;

/** Time that a pack occupies its thread besides computing: its message is got and deleted, its partial is written. */
export const packOwnMs = 3 * callMs;

/** Messages that a leader sends in a second. */
const sendsPerS = (limits.sendsAtOnce * 1_000) / callMs;

/** A leader is elected and sends the plan; the last partials are listed, combined and finished. */
const beginMs = 1_500;
const endMs = 2_000;

/**
 * Estimates the duration of a run, from submit to result, on warm workers and for packs that are all alike. Not included:
 * start-up of instances, packs of unequal weight, other work of the workers.
 */
export function expectedMs(run: Pick<RunShape, "layout" | "packMs" | "planMs" | "workers">): number {
  const packs = packsOf(run.layout);
  const rounds = Math.ceil(packs / run.workers);
  const computingMs = Math.max(rounds * (run.packMs + packOwnMs), (packs / sendsPerS) * 1_000);
  return beginMs + run.planMs + (packs === 0 ? 0 : computingMs) + endMs;
}
