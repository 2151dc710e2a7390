import { packsOf, packsOfShard } from "../../model/packs.ts";
import type { ProgressMark, State } from "../../model/state.ts";
import { judgeInFlight } from "../inFlight/resend.ts";
import { judgeWaits, trackWaits } from "../inFlight/waits.ts";
import type { Known } from "../notes.ts";
import type { Seen } from "../seen.ts";
import { askForFinish, askForGroups, askForStop, sealShards } from "./combine.ts";
import { giveUpRest, keepDeadline, takeCommand } from "./command.ts";
import { type DecideAt, type Draft, newDraft } from "./draft.ts";
import { trackFailures } from "./failures.ts";
import { askForPlan, fanOut, updateWindow } from "./fanOut.ts";
import { trackRate } from "./pace.ts";
import { trackRefused } from "./refused.ts";
import { beginTurn } from "./restart.ts";
import { tally, trackNodes, trackParts, trackPlan } from "./track.ts";

/**
 * One decision about one run: what is known and seen goes in, the next state and notes and the messages to send come out.
 * Pure: whoever performs it keeps them. The order of the steps is the story of a run.
 */
export function decide(known: Omit<Known, "lists">, seen: Seen, at: DecideAt): Draft {
  const draft = newDraft(known, at);
  const { working: before } = known;
  const { state, notes } = draft;
  notes.lostInMs = Number.POSITIVE_INFINITY;
  // A plan that this poll has found makes something that can be kept.
  const planned = trackPlan(draft, seen);
  if (planned === "older") beginTurn(state);
  takeCommand(draft, seen);
  keepDeadline(draft, seen);
  trackParts(draft, seen);
  trackNodes(draft, seen);
  tally(state);
  trackRate(draft, at.localMs);
  markProgress(draft, at.nowMs);
  if (seen.manifest !== undefined) draft.ending = { phase: "complete" };
  else {
    const failing = trackFailures(draft, seen);
    trackRefused(draft, seen, before);
    if (failing === "waits") return draft;
  }
  if (draft.ending !== undefined) return draft;
  if (state.keep === true) giveUpRest(draft, seen);

  askForPlan(draft, seen);
  trackWaits(draft, seen);
  judgeInFlight(draft, seen);
  notes.polledMs = at.localMs;
  updateWindow(state, notes, at.share);
  fanOut(draft);
  sealShards(draft);
  askForGroups(draft);
  askForStop(draft);
  askForFinish(draft);
  pruneBatches(state);
  judgeWaits(draft, seen);
  if (state.phase !== before.phase) {
    notes.phaseSinceMs = at.localMs;
    notes.rateSinceMs = at.localMs;
  }
  return draft;
}

/** The next packs of a run whose window is not full yet, without another poll. */
export function decideMore(known: Omit<Known, "lists">, at: DecideAt): Draft {
  const draft = newDraft(known, at);
  fanOut(draft);
  pruneBatches(draft.state);
  return draft;
}

/** Times kept. Neighbors are joined under the later one, which makes the leader a little more patient. */
const batchesKept = 40;

function pruneBatches(state: State): void {
  state.batches = pruned(state, state.batches);
  state.taken = pruned(state, state.taken);
}

function pruned({ layout, open }: State, batches: State["batches"]): State["batches"] {
  if (layout === undefined || batches.length <= batchesKept) return batches;
  const oldest = Math.min(...Object.keys(open).map((shard) => packsOfShard(layout, Number(shard)).from));
  const needed = batches.filter((batch) => batch.upTo > oldest);
  // The oldest of those left are joined, so that the time of none moves on with the run.
  return needed.length <= batchesKept
    ? needed
    : needed.filter((_, index) => index % 2 === 1 || index === needed.length - 1);
}

/** Marks kept: the first, the latest, and between them about one for each thirtieth of the packs. */
const marksBetween = 30;

/**
 * Notes how far a run is, for the estimate of its remaining time: how many packs have ended when, and what they took.
 * Only packs of the present generation count. A pause or resume moves the marks on to now, so that a pause takes no time.
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
