import { limits } from "../../model/limits.ts";
import { packsOf, packsOfShard } from "../../model/packs.ts";
import type { ProgressMark, State } from "../../model/state.ts";
import { checkTolerance, endIfAsked, trackEndedSends, trackTried } from "../inFlight/endedSends.ts";
import { judgeInFlight } from "../inFlight/resend.ts";
import { judgeWaits, trackWaits } from "../inFlight/waits.ts";
import type { Known } from "../notes.ts";
import type { Seen } from "../seen.ts";
import { askForFinish, askForGroups, askForStop, sealShards } from "./combine.ts";
import { giveUpRest, keepDeadline, obeyCommand } from "./command.ts";
import { type DecideAt, type Draft, newDraft } from "./draft.ts";
import { askForPlan, fanOut, updateWindow } from "./fanOut.ts";
import { judgeCost } from "./maxCost.ts";
import { trackRate } from "./pace.ts";
import { trackRefused } from "./refused.ts";
import { beginTurn } from "./restart.ts";
import { tally, trackNodes, trackParts, trackPlan } from "./track.ts";

type Step = (draft: Draft, seen: Seen) => void;

/**
 * What storage, marker and clock say, in this order:
 *
 * 1. the plan, as what it makes can be kept by the commands and the deadline that follow;
 * 2. commands and the deadline before outcomes: a run that keeps what is done counts no failure of this poll against it;
 * 3. outcomes before counts, and counts before whatever judges by them: the rate, the marks, failures;
 * 4. the manifest before failures: a run that has its result fails of nothing.
 */
const learn: readonly Step[] = [
  learnPlan,
  obeyCommand,
  keepDeadline,
  trackParts,
  trackNodes,
  ({ state }) => tally(state),
  (draft) => trackRate(draft, draft.at.localMs),
  (draft) => markProgress(draft, draft.at.nowMs),
  learnManifest,
  trackTried,
  endIfAsked,
  trackEndedSends,
  checkTolerance,
  trackRefused,
];

/**
 * What follows for a run that goes on:
 *
 * 1. what is given up comes first, as nothing of it is sent;
 * 2. what waits is known before work in flight is judged: it is not lost;
 * 3. resends come before first sends, which have the room that is left;
 * 4. shards are sealed before nodes, prefixes and the result are asked for, each of which needs the ones before;
 * 5. whether all that is left waits, or is too expensive, is said of what this decision leaves.
 */
const act: readonly Step[] = [
  giveUpRest,
  askForPlan,
  trackWaits,
  judgeInFlight,
  ({ state, notes, at }) => updateWindow(state, notes, at.share, at.localMs),
  fanOut,
  sealShards,
  askForGroups,
  askForStop,
  askForFinish,
  ({ state }) => pruneBatches(state),
  judgeWaits,
  tellBehind,
  judgeCost,
];

/**
 * One decision about one run: what is known and seen goes in, the next state and notes and the messages to send come out.
 * Pure: whoever performs it keeps them.
 */
export function decide(known: Omit<Known, "lists">, seen: Seen, at: DecideAt): Draft {
  const draft = newDraft(known, at);
  const { state, notes } = draft;
  notes.lostInMs = Number.POSITIVE_INFINITY;
  for (const step of learn) {
    step(draft, seen);
    if (draft.ending?.phase === "complete") return draft;
  }
  if (draft.ending !== undefined || draft.undecided) return draft;
  for (const step of act) step(draft, seen);
  notes.polledMs = at.localMs;
  if (state.phase !== known.working.phase) {
    notes.phaseSinceMs = at.localMs;
    notes.rateSinceMs = at.localMs;
  }
  return draft;
}

function learnPlan(draft: Draft, seen: Seen): void {
  if (trackPlan(draft, seen) === "older") beginTurn(draft.state);
}

/** For readers: who has the workers while nothing of the run ends. */
function tellBehind(draft: Draft): void {
  const { state, at } = draft;
  const sinceMs = state.progress.marks.at(-1)?.atMs ?? state.createdMs;
  const behind = at.nowMs - sinceMs > limits.lostMsMax ? at.share.behind : undefined;
  if (state.behind === behind) return;
  draft.noted = true;
  if (behind === undefined) delete state.behind;
  else state.behind = behind;
}

function learnManifest(draft: Draft, { manifest }: Seen): void {
  if (manifest !== undefined) draft.ending = { phase: "complete" };
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
