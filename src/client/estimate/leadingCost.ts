import { hideEveryMs } from "../../election/hold/deadMansWake.ts";
import { electionSettings } from "../../election/settings.ts";
import { addCalls, type CallCounts, calls, noCalls, scaleCalls } from "../../model/calls.ts";
import { limits } from "../../model/limits.ts";
import { type Layout, packsOf } from "../../model/packs.ts";
import type { Settings } from "../../model/settings.ts";
import { packOwnMs } from "./expectedTime.ts";

/**
 * What leading a run costs: so much a minute, however many packs there are; and a little for each term, and for the
 * quick looks at the beginning and the end of a run. An estimate, and close to it: a test holds it to a simulated run.
 */

/** How often a leader does what; the settings of the app decide. */
export interface LeadingPace {
  readonly loopMs: number;
  readonly fastLoopMs: number;
  readonly renewEveryMs: number;
  readonly beatEveryMs: number;
  readonly wakeEveryMs: number;
  /** Longest time of one term. */
  readonly budgetMs: number;
}

/** What of a run its leading depends on. */
export interface LedRun {
  readonly layout: Layout;
  readonly packMs: number;
  readonly planMs: number;
  readonly workers: number;
  readonly durationMs: number;
}

/** Storage's own time in one loop, which comes on top of the pause: three calls one after the other. */
const loopOwnMs = 90;

export function leadingCalls(run: LedRun, pace: LeadingPace): CallCounts {
  const minutes = run.durationMs / 60_000;
  const loops = run.durationMs / (pace.loopMs + loopOwnMs);
  return [
    scaleCalls(leadingPerMinute(pace, run), minutes),
    scaleCalls(oneTerm, Math.ceil(run.durationMs / pace.budgetMs)),
    beginAndEnd,
    quickLooks(run, pace),
    // Very fast runs are written more often than once a loop, so that a crash sends few packs again.
    calls({ write: Math.max(0, packsOf(run.layout) / limits.sendsPerWriteMax - loops) }),
  ].reduce(addCalls, noCalls);
}

/**
 * One minute while a run computes: renewals, beats and the dead-man's wake; in each loop the markers and the
 * partials of the open shards; the state where a pack has ended since, and less often the failures.
 */
export function leadingPerMinute(pace: LeadingPace, run: LedRun): CallCounts {
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

/** Packs in flight lie in one or two neighbouring groups of shards, each of which one list brings. */
function pagesPerLoop({ layout, packMs, workers }: LedRun): number {
  let group = layout.shardSize;
  while (group * 10 <= limits.listPageMax) group *= 10;
  const inFlight = Math.min(workers * (2 + limits.windowAheadMs / Math.max(packMs, 1)), limits.capDefault);
  return 1 + Math.min(inFlight, packsOf(layout)) / group;
}

/** Looks at the lease, acquire, record of the term and its end, release; markers, spec and state; its wake. */
const oneTerm = calls({ other: 7, list: 2, read: 2, write: 1, queue: 3 });

/** The plan and the manifest are looked for, the final state is written, and the markers are found empty. */
const beginAndEnd = calls({ read: 2, write: 2, list: 2, other: 1, delete: 1 });

/** A phase is looked at quickly for so long at most; a young run whose first outcomes are there, at a quarter of the pause. */
const youngMs = 10_000;
const youngShare = 4;
/** The last packs, of which one is late as a rule; and the finish. */
const lastPacksMs = 2_000;
const finishMs = 500;

/** Looks beyond those of every minute: while a run is planned and young, for its last packs, and for its manifest. */
function quickLooks(run: LedRun, { loopMs, fastLoopMs }: LeadingPace): CallCounts {
  const { layout, planMs, packMs, workers, durationMs } = run;
  const more = (ms: number, everyMs: number): number =>
    Math.max(0, ms / (everyMs + loopOwnMs) - ms / (loopMs + loopOwnMs));
  const rounds = Math.ceil(Math.min(limits.outcomesForRate, packsOf(layout)) / workers);
  const firstMs = Math.min(rounds * (packMs + packOwnMs), youngMs);
  const learningMs = Math.min(youngMs - firstMs, durationMs / 4);
  // Beside the markers either the plan or the manifest is looked for, or the partials are listed.
  const reading = more(Math.min(planMs, youngMs) + finishMs, fastLoopMs);
  const firstEveryMs = Math.max(fastLoopMs, Math.min(loopMs / youngShare, packMs / 8));
  const listing =
    more(firstMs, firstEveryMs) + more(lastPacksMs, fastLoopMs) + more(learningMs, loopMs / youngShare);
  return calls({ list: reading + 2 * listing, read: reading });
}

/** How often a leader of an app with these settings does what. */
export function leadingPace(settings: Settings): LeadingPace {
  const budgetMs = settings.LEASEFOLD_BUDGET_S * 1_000;
  const { renewEveryMs, beatEveryMs } = electionSettings({ leaseDurationS: settings.LEASEFOLD_LEASE_S });
  return {
    loopMs: settings.LEASEFOLD_LOOP_MS,
    fastLoopMs: settings.LEASEFOLD_LOOP_FAST_MS,
    renewEveryMs,
    beatEveryMs,
    wakeEveryMs: hideEveryMs,
    budgetMs,
  };
}
