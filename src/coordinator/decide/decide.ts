import { packsOf, packsOfShard } from "../../model/packs.ts";
import type { ProgressMark, State } from "../../model/state.ts";
import type { Seen } from "../look/seen.ts";
import { askForFinish, askForGroups, sealShards } from "./combine.ts";
import { giveUpRest, keepDeadline, takeCommand } from "./command.ts";
import { type Draft, type Memory, newDraft } from "./draft.ts";
import { trackFailures } from "./failures.ts";
import { askForPlan, fanOut } from "./fanOut.ts";
import { trackRate } from "./pace.ts";
import { trackRefused } from "./refused.ts";
import { resendPacks, resendTasks } from "./resend.ts";
import { tally, trackNodes, trackParts, trackPlan } from "./track.ts";
import { alone, type Share, updateWindow } from "./window.ts";

/**
 * One decision about one run: what was seen goes in, the next state and the messages to send come out. Pure but
 * for `memory`, the leader's own notes. The order of the steps is the story of a run.
 */
export function decide(
  state: State,
  seen: Seen,
  memory: Memory,
  time: DecideTime,
  share = alone,
  /** Messages that are put before the next write anyway. */
  owed = 0,
): Draft {
  const draft = newDraft(state);
  draft.puts = owed;
  memory.wantsFailures = false;
  memory.stragglerInMs = Number.POSITIVE_INFINITY;
  takeCommand(draft, seen);
  keepDeadline(draft, seen);
  trackPlan(draft, seen);
  trackParts(draft, seen);
  trackNodes(draft, seen);
  tally(draft.state);
  trackRate(draft, memory, time.localMs);
  markProgress(draft, time.nowMs);
  if (seen.manifest !== undefined) draft.ending = { phase: "complete" };
  else {
    trackFailures(draft, memory, seen);
    trackRefused(draft, memory, seen, time);
  }
  if (draft.ending !== undefined) return draft;
  if (draft.state.keep === true) giveUpRest(draft);

  askForPlan(draft, seen.spec, time.nowMs);
  resendPacks(draft, memory, time, seen.queued);
  resendTasks(draft, memory, time);
  updateWindow(draft.state, memory, share);
  fanOut(draft, memory, share, time.nowMs);
  sealShards(draft, time.nowMs);
  askForGroups(draft, time.nowMs);
  askForFinish(draft, time.nowMs);
  pruneBatches(draft.state);
  if (draft.state.phase !== state.phase) {
    memory.phaseSinceMs = time.localMs;
    memory.rateSinceMs = time.localMs;
  }
  return draft;
}

/** The next packs of a run whose window is not full yet, without another look. */
export function decideMore(state: State, memory: Memory, share: Share, nowMs: number): Draft {
  const draft = newDraft(state);
  fanOut(draft, memory, share, nowMs);
  pruneBatches(draft.state);
  return draft;
}

export interface DecideTime {
  /** Storage's time of the look. */
  readonly nowMs: number;
  /** This process's own monotonic time, for intervals. */
  readonly localMs: number;
  /** Time limit of one attempt in this run. */
  readonly limitMs: number;
}

/** Times kept. Neighbours are joined under the later one, which makes the leader a little more patient. */
const batchesKept = 40;

function pruneBatches(state: State): void {
  state.batches = pruned(state, state.batches);
  state.begun = pruned(state, state.begun);
}

function pruned({ layout, open }: State, batches: State["batches"]): State["batches"] {
  if (layout === undefined || batches.length <= batchesKept) return batches;
  const oldest = Math.min(...Object.keys(open).map((shard) => packsOfShard(layout, Number(shard)).from));
  const needed = batches.filter((batch) => batch.upTo > oldest);
  // The oldest of those left are joined, so that the time of none moves on with the run.
  return needed.length <= batchesKept
    ? needed
    : needed.filter((_, place) => place % 2 === 1 || place === needed.length - 1);
}

/** Marks kept: the first, the latest, and between them about one for each thirtieth of the packs. */
const marksBetween = 30;

/**
 * Notes how far a run is, for the time left: how many packs have ended when, and what they took. A generation begins
 * anew, so that only its own packs count. A pause or resume moves the marks on to now, as if the time between had
 * not been.
 */
export function markProgress({ state }: Pick<Draft, "state">, nowMs: number): void {
  const { layout, generation, turn, computeMs } = state;
  if (state.phase !== "computing" || layout === undefined) return;
  const now: ProgressMark = { atMs: nowMs, ended: state.packsDone + state.packsFailed, computeMs };
  const { progress } = state;
  const last = progress.marks.at(-1);
  if (last === undefined || progress.generation !== generation || now.ended < last.ended) {
    state.progress = { generation, turn, marks: [now] };
    return;
  }
  if (progress.turn !== turn) {
    for (const mark of progress.marks) mark.atMs += Math.max(0, nowMs - last.atMs);
    progress.turn = turn;
  }
  if (now.ended > last.ended) addMark(progress.marks, now, packsOf(layout));
}

/** The latest mark gives way to the next until a thirtieth of the packs lie behind it. */
function addMark(marks: State["progress"]["marks"], now: ProgressMark, packs: number): void {
  const [first = now] = marks;
  const [before, last] = [marks.at(-2), marks.at(-1)];
  const apart = (packs - first.ended) / marksBetween;
  if (before !== undefined && last !== undefined && last.ended - before.ended < apart) marks.pop();
  marks.push(now);
}
