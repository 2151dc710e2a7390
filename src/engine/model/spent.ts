import { type CallCounts, noCalls, roundCalls } from "./calls.ts";
import { type Cost, costOf } from "./cost.ts";
import { limits } from "./limits.ts";
import { flexBilling } from "./prices.ts";
import { estimateCalls, estimateUse, packOwnMs, type RunShape } from "./runCost.ts";
import type { State } from "./state.ts";

/** Where a plan does not say what instances there are. */
const instanceDefault = { mb: flexBilling.memoryMb, threads: 2 };

/** What a run has cost until the last write of its state, or until its end. Nothing before its first state. */
export function spentOf(state: State | undefined): { readonly calls: CallCounts; readonly cost: Cost } {
  if (state === undefined) return { calls: noCalls, cost: costOf(noCalls, { mbMs: 0, executions: 0 }) };
  const { layout, led, wasted, computeMs, packsDone } = state;
  const { mb, threads } = layout?.instance ?? instanceDefault;
  const complete = state.phase === "complete";
  const threadMs = computeMs + wasted.ms + (packsDone + wasted.attempts) * packOwnMs;
  const shape: RunShape = {
    layout: layout ?? { chunks: 0, packSize: 1, shardSize: 1, fanIn: limits.fanIn },
    done: { packs: packsDone, complete, whole: complete && state.packsFailed === 0 },
    ...{ wasted, inFlight: state.inFlight, segments: 0, threads, planMs: led.planning },
    packMs: packsDone === 0 ? 0 : computeMs / packsDone,
    // A leader of several runs counts its time in equal parts, so these are the packs of all of them: they share the instances.
    workers: Math.max(1, threadMs / Math.max(1, led.computing)),
    durationMs: led.planning + led.computing + led.finishing,
    polls: led.polls,
  };
  const called = roundCalls(estimateCalls(shape).total);
  return { calls: called, cost: costOf(called, estimateUse(shape, mb)) };
}
