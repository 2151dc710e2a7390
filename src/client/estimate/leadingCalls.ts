import { hideEveryMs } from "../../election/hold/deadMansWake.ts";
import { electionSettings } from "../../election/settings.ts";
import { addCalls, type CallCounts, calls, noCalls, scaleCalls } from "../../model/calls.ts";
import { limits } from "../../model/limits.ts";
import { type Layout, packsOf } from "../../model/packs.ts";
import type { Settings } from "../../model/settings.ts";

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

/**
 * Estimates the storage calls of leading a run: a rate per minute that does not depend on the number of packs, and some
 * calls for each term and for the fast polls at the beginning and the end. A test compares it with a simulated run.
 */

/** How often a leader does what, by the settings of the app. */
export type LeadingPace = ReturnType<typeof leadingPace>;

export function leadingPace(settings: Settings) {
  const { renewEveryMs, beatEveryMs } = electionSettings({ leaseDurationS: settings.LEASEFOLD_LEASE_S });
  return {
    loopMs: settings.LEASEFOLD_LOOP_MS,
    fastLoopMs: settings.LEASEFOLD_LOOP_FAST_MS,
    renewEveryMs,
    beatEveryMs,
    wakeEveryMs: hideEveryMs,
    /** Longest time of one term. */
    budgetMs: settings.LEASEFOLD_BUDGET_S * 1_000,
  };
}

/** Storage's own time in one loop, besides the pause: three calls one after the other. */
const loopOwnMs = 90;

/** Reads of the lease, acquire, record of the term and its end, release; markers, spec and state; the term's wake. */
const oneTerm = calls({ other: 7, list: 2, read: 2, write: 1, queue: 3 });

/** The plan and the manifest are read, the final state is written, and no marker is listed. */
const beginAndEnd = calls({ read: 2, write: 2, list: 2, other: 1, delete: 1 });

export function leadingCalls(run: RunShape, pace: LeadingPace): CallCounts {
  const loops = run.durationMs / (pace.loopMs + loopOwnMs);
  return [
    scaleCalls(leadingPerMinute(pace, run), run.durationMs / 60_000),
    scaleCalls(oneTerm, Math.ceil(run.durationMs / pace.budgetMs)),
    beginAndEnd,
    fastPolls(run, pace),
    // The state of very fast runs is written more often than once a loop, so that a crash resends few packs.
    calls({ write: Math.max(0, packsOf(run.layout) / limits.sendsPerWriteMax - loops) }),
  ].reduce(addCalls, noCalls);
}

/**
 * Calls of one minute while a run computes: renewals, beats and the dead-man's wake; in each loop the markers and the
 * partials of the open shards; the state if a pack has ended since; less often the failures.
 */
export function leadingPerMinute(pace: LeadingPace, run: RunShape): CallCounts {
  const per = (everyMs: number): number => 60_000 / everyMs;
  const loopMs = pace.loopMs + loopOwnMs;
  const endedPerLoop = (run.workers * loopMs) / Math.max(run.packMs, 1);
  return calls({
    other: per(pace.renewEveryMs) + per(pace.beatEveryMs),
    queue: per(pace.wakeEveryMs),
    list: per(loopMs) * (1 + pagesPerLoop(run)) + per(limits.failuresEverySlowMs),
    write: per(loopMs) * (1 - Math.exp(-endedPerLoop)),
  });
}

/** Packs in flight lie in one or two neighboring groups of shards; one list covers a group. */
function pagesPerLoop({ layout, packMs, workers }: RunShape): number {
  let group = layout.shardSize;
  while (group * 10 <= limits.namesTogetherMax) group *= 10;
  const inFlight = Math.min(workers * (2 + limits.windowAheadMs / Math.max(packMs, 1)), limits.capDefault);
  return 1 + Math.min(inFlight, packsOf(layout)) / group;
}

/** Longest time of fast polls in a phase. After the first outcomes a young run is polled at a quarter of the pause. */
const youngMs = 10_000;
const youngShare = 4;
/** Time of the last packs, one of which is usually slow; and of the finish. */
const lastPacksMs = 2_000;
const finishMs = 500;

/** A plan is polled each eighth of the time that it has taken so far, first at the fast pace. */
const planShare = 8;
function pollsOfPlan(planMs: number, fastLoopMs: number): number {
  const everyMs = fastLoopMs + loopOwnMs;
  const fastMs = Math.min(planMs, planShare * fastLoopMs);
  return fastMs / everyMs + planShare * Math.log((planMs - fastMs) / planShare / everyMs + 1);
}

/** Polls beyond those of every minute: while a run is planned and young, for its last packs, and for its manifest. */
function fastPolls(run: RunShape, { loopMs, fastLoopMs }: LeadingPace): CallCounts {
  const { layout, planMs, packMs, workers, durationMs } = run;
  const more = (ms: number, everyMs: number): number =>
    Math.max(0, ms / (everyMs + loopOwnMs) - ms / (loopMs + loopOwnMs));
  const rounds = Math.ceil(Math.min(limits.outcomesForRate, packsOf(layout)) / workers);
  const firstMs = Math.min(packMs + packOwnMs, youngMs);
  const learningMs = Math.min((rounds - 1) * (packMs + packOwnMs), youngMs - firstMs);
  // A fast run then has some polls of a quarter of the pause, until it is clear what is left of it.
  const youngRestMs = Math.min(youngMs - firstMs - learningMs, durationMs / 4);
  // Each poll lists the markers, and either reads the plan or the manifest, or lists the partials.
  const reading = more(finishMs, fastLoopMs) + pollsOfPlan(Math.min(planMs, youngMs), fastLoopMs);
  const partOfPack = (part: number): number =>
    Math.max(fastLoopMs, Math.min(loopMs / youngShare, packMs / part));
  const listing =
    more(firstMs, partOfPack(8)) +
    more(learningMs, packsOf(layout) > 2 * limits.outcomesForRate ? partOfPack(4) : fastLoopMs) +
    more(youngRestMs, loopMs / youngShare) +
    more(lastPacksMs, fastLoopMs);
  return calls({ list: reading + 2 * listing, read: reading });
}
