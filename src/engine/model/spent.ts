import { addCalls, type CallCounts, noCalls, roundCalls } from "./calls.ts";
import { type Cost, costOf, sumCosts } from "./cost.ts";
import { limits } from "./limits.ts";
import { flexBilling } from "./prices.ts";
import { estimateCalls, estimateUse, packOwnMs, type RunShape } from "./runCost.ts";
import type { State } from "./state.ts";

/** Where a plan does not say what instances there are. */
const instanceDefault = { mb: flexBilling.memoryMb, threads: 2 };

export interface Spent {
  readonly calls: CallCounts;
  readonly cost: Cost;
}

const nothing: Spent = { calls: noCalls, cost: costOf(noCalls, { mbMs: 0, executions: 0 }) };

/** What a run has cost in all its generations until the last write of its state, or until its end. */
export function spentOf(state: State | undefined): Spent {
  if (state === undefined) return nothing;
  const spent = spentInGeneration(state);
  return state.earlier === undefined ? spent : sumOf([...state.earlier, spent]);
}

const sumOf = (all: readonly Spent[]): Spent => ({
  calls: all.map(({ calls }) => calls).reduce(addCalls, noCalls),
  cost: sumCosts(all.map(({ cost }) => cost)),
});

/** The state has at most so many generations; before it the oldest two become one. */
const earlierKept = 16;

/** What the generations took and cost that have ended with this state. */
export function earlierWith(state: State): NonNullable<State["earlier"]> {
  const { earlier = [], generation, createdMs, retriedMs, updatedMs, finishedMs } = state;
  const tookMs = Math.max(0, (finishedMs ?? updatedMs) - (retriedMs ?? createdMs));
  const all = [...earlier, { generation, tookMs, ...spentInGeneration(state) }];
  const [first, second, ...rest] = all;
  if (all.length <= earlierKept || first === undefined || second === undefined) return all;
  return [{ ...second, tookMs: first.tookMs + second.tookMs, ...sumOf([first, second]) }, ...rest];
}

/** The same in its present generation alone. */
export function spentInGeneration(state: State): Spent {
  const { layout, led, wasted, computeMs, packsDone, packsComputed = packsDone } = state;
  const { mb, threads } = layout?.instance ?? instanceDefault;
  const complete = state.phase === "complete";
  const threadMs = threadMsOf(state);
  const shape: RunShape = {
    layout: layout ?? { chunks: 0, packSize: 1, shardSize: 1, fanIn: limits.fanIn },
    done: { packs: packsComputed, complete, whole: complete && state.packsFailed === 0 },
    ...{ wasted, inFlight: state.inFlight, segments: 0, threads, planMs: led.planning },
    packMs: packsComputed === 0 ? 0 : computeMs / packsComputed,
    // A leader of several runs counts its time in equal parts, so these are the packs of all of them: they share the instances.
    workers: Math.max(1, threadMs / Math.max(1, led.computing)),
    durationMs: led.planning + led.computing + led.finishing,
    polls: led.polls,
  };
  const called = roundCalls(estimateCalls(shape).total);
  return { calls: called, cost: costOf(called, estimateUse(shape, mb)) };
}

/** What a run will have cost once so many packs in flight have ended after `packMs` each. */
export function costWith(state: State, inFlight: number, packMs: number): Cost {
  const { led, layout, computeMs, packsDone, packsComputed = packsDone } = state;
  // Until packs have ended, so many are computed at once as the plan counts on, or one instance computes.
  const known = threadMsOf(state) / Math.max(1, led.computing);
  const expected = layout?.workers ?? (layout?.instance ?? instanceDefault).threads;
  const rounds = inFlight === 0 ? 0 : Math.max(1, inFlight / Math.max(known, Math.min(inFlight, expected)));
  const computing = led.computing + rounds * (packMs + packOwnMs);
  return spentOf({
    ...state,
    inFlight: 0,
    packsComputed: packsComputed + inFlight,
    computeMs: computeMs + inFlight * packMs,
    led: { ...led, computing },
  }).cost;
}

const threadMsOf = ({ computeMs, wasted, packsDone, packsComputed = packsDone }: State): number =>
  computeMs + wasted.ms + (packsComputed + wasted.attempts) * packOwnMs;
