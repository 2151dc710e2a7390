import { emptyBitmap, encodeBitmap } from "../../model/bitmap.ts";
import { limits } from "../../model/limits.ts";
import type { Marker } from "../../model/marker.ts";
import { hasOutcome } from "../../model/outcomes.ts";
import { packsOf, packsOfShard, shardOf, shardsOf, sizeOf } from "../../model/packs.ts";
import type { Spec } from "../../model/run.ts";
import type { State } from "../../model/state.ts";
import type { RunNotes } from "../notes.ts";
import type { Seen } from "../seen.ts";
import {
  addSend,
  addTask,
  type Draft,
  layoutOf,
  newTask,
  packsAllowed,
  roomToWrite,
  type Share,
  sendsOf,
} from "./draft.ts";
import { expectedPackMs } from "./pace.ts";
import { windowAmong } from "./shares.ts";

/**
 * What the first state of a run records, so that its plan can be sent at once. Only for a marker that no command has
 * changed since the submit: any other is judged by `decide` first.
 */
export const firstTasks = (
  { command, want, generation }: Marker,
  { code }: Pick<Spec, "code">,
  nowMs: number,
): Partial<State> =>
  command === 0 && want === "run" && generation === 1
    ? { tasks: { plan: newTask(nowMs) }, ...(code === undefined ? {} : { code }) }
    : {};

/** Has the run planned if it is not. The request is recorded first and sent after. */
export function askForPlan(draft: Draft, { spec }: Pick<Seen, "spec">): void {
  const { state } = draft;
  if (state.phase !== "planning" || "plan" in state.tasks) return;
  // The code that validated the parameters plans them.
  if (spec.code !== undefined) state.code = spec.code;
  addTask(draft, "plan");
}

/**
 * Sends the next packs, in order, as far as the window reaches. The cursor skips what has its outcome, also where the window has no
 * room, and waits before a shard that must be recounted.
 */
export function fanOut(draft: Draft): void {
  const { state, notes, at } = draft;
  if (state.phase !== "computing" || state.paused || state.keep === true) return;
  const layout = layoutOf(state);
  const packs = packsOf(layout);
  const before = state.cursor;
  const hasEnded = hasOutcome(state, layout);
  const window = Math.min(notes.window, packsAllowed(state));
  const hasRoom = () => state.inFlight < window && roomToWrite(draft) > 0;
  while (state.cursor < packs) {
    const shard = shardOf(layout, state.cursor);
    const { to } = packsOfShard(layout, shard);
    if (shard in state.sealed) {
      state.cursor = to;
      continue;
    }
    if (!(shard in state.open)) {
      if (!hasRoom()) break;
      openShards(state, shard);
    }
    if (state.open[shard]?.recount) break;
    for (; state.cursor < to; state.cursor += 1) {
      const pack = state.cursor;
      if (hasEnded(pack)) continue;
      if (!hasRoom()) break;
      const own = state.resent[pack];
      if (own !== undefined) own.sentMs = at.nowMs;
      const urgent = own !== undefined || isUrgent(state, pack, at.share);
      // What overtakes the queue is not judged by what the queue shows.
      if (urgent && at.share.beside) state.resent[pack] ??= { ...sendsOf(state, pack), sentMs: at.nowMs };
      if (notes.credit !== undefined) notes.credit -= 1;
      const repeat = pack < state.possiblySentUpTo;
      addSend(draft, { pack, send: state.cursorSend, urgent, repeat, isolated: own?.isolated });
      state.inFlight += 1;
    }
    if (state.cursor < to) break;
  }
  if (state.cursor > before) state.batches.push({ upTo: state.cursor, atMs: at.nowMs });
}

/**
 * In the first generation a pack can have a partial before this leader sends it only where an earlier leader
 * sent it and died before it recorded the send; its message then says that it may be a repeat. In later generations
 * any pack can have one, so shards are listed before their packs are sent.
 */
export function openShards(state: State, shard: number): void {
  const layout = layoutOf(state);
  const first = state.generation === 1;
  const to = first ? shard + 1 : Math.min(shard + limits.recountAhead, shardsOf(layout));
  for (let next = shard; next < to; next += 1) {
    if (next in state.open || next in state.sealed) continue;
    const done = encodeBitmap(emptyBitmap(sizeOf(packsOfShard(layout, next))));
    state.open[next] = first ? { done } : { done, recount: true };
  }
}

/**
 * Once a poll: two packs per worker and eight seconds of work at the rate of this run; among others what keeps its share of all
 * at work for as long as its packs wait behind theirs. Until the first outcomes it is a fixed number, which the runs
 * under way share. It is at most twice the last window. Where the queues show that the
 * workers took all, the rate says less than they can, and it is doubled; for a run alone also where they took more than half
 * of it since the last poll. Whoever sends applies the cap.
 */
export function updateWindow(state: State, notes: RunNotes, share: Share, localMs: number): void {
  if (overtakes(state, notes, share, localMs)) return;
  const { packsAtOnce, runs, beside } = share;
  const isLong = expectedPackMs(state) >= limits.shortPackMs;
  const shared = packsAtOnce !== undefined;
  // A term begins, and reads in this very loop what is in flight of others. What lasts for longer can wait for that.
  if (notes.window === 0 && runs > 1 && !shared && isLong && state.inFlight > 0) {
    notes.window = state.inFlight;
    return;
  }
  const outcomes = state.durationsMs.length + state.packsFailed;
  const aheadMs = 2 * expectedPackMs(state) + limits.windowAheadMs;
  const byRate = shared ? windowAmong(state, share, packsAtOnce) : (state.rate * aheadMs) / 1_000;
  const first = firstWindow(state, share);
  const known = outcomes >= limits.outcomesForRate && state.rate > 0;
  const target = Math.ceil(known ? byRate : shared ? Math.min(first, byRate) : first);
  const few = notes.drained || (!shared && outcomes > 0 && state.inFlight <= notes.window / 2);
  notes.starved = few && mayGrow(state, notes);
  // A rate that was measured while leaders died says little, and the next one may die soon. Others would wait for so much.
  const twice = notes.window === 0 ? Math.max(target, runs > 1 ? 0 : first) : notes.window * 2;
  // Alone it falls slowly, because the first outcomes make the rate look low.
  const least =
    beside && (shared || isLong)
      ? limits.windowMin / runs
      : Math.max(shared ? 0 : Math.floor(notes.window * 0.9), limits.windowMin);
  const grows = notes.starved || notes.window === 0;
  notes.window = Math.ceil(Math.max(grows ? twice : Math.min(target, twice), least));
}

/**
 * Past the queue a run sends what its share computes as time goes by. Half as much may wait, so that it has the next worker that is
 * free.
 */
function overtakes(
  state: State,
  notes: RunNotes,
  { overtakes, packsAtOnce }: Share,
  localMs: number,
): boolean {
  const { credit, polledMs } = notes;
  notes.credit = undefined;
  if (!overtakes || packsAtOnce === undefined) return false;
  const most = Math.max(1, packsAtOnce);
  const since = (packsAtOnce * (localMs - polledMs)) / expectedPackMs(state);
  notes.credit = Math.min(credit ?? most, most) + since;
  const inFlightMax = Math.min(1.5 * packsAtOnce + since + 1, limits.overtakingMax);
  notes.window = Math.min(state.inFlight + Math.floor(notes.credit), Math.ceil(inFlightMax));
  notes.starved = false;
  return true;
}

/**
 * Packs in flight while nobody knows how fast they go: fewer where the plan says that they take long, but two for each worker
 * that it counts on.
 */
function firstWindow({ layout }: State, { runs, beside }: Share): number {
  const { windowFirst, windowFirstMs, windowFirstBesideMs } = limits;
  const ofWorkMs = (beside ? windowFirstBesideMs : windowFirstMs) / Math.max(layout?.packMs ?? 0, 1);
  return Math.max(Math.min(windowFirst, Math.ceil(ofWorkMs)), 2 * (layout?.workers ?? 0)) / runs;
}

/** Something is left to send, and the cap does not forbid it. */
const mayGrow = (state: State, { window }: RunNotes): boolean =>
  state.phase === "computing" &&
  state.layout !== undefined &&
  state.cursor < packsOf(state.layout) &&
  window < packsAllowed(state);

/**
 * The first packs of a run go to the urgent queue, so that it is under way at once; of long ones fewer, as other work waits there
 * as well. Beside other runs it has as many there as its share of the workers.
 */
export function isUrgent(state: State, pack: number, { packsAtOnce, overtakes, runs }: Share): boolean {
  if (packsAtOnce !== undefined)
    return overtakes || state.inFlight < Math.min(packsAtOnce, limits.overtakingMax);
  return pack < Math.min(limits.urgentFirstPacks, limits.windowFirstBesideMs / expectedPackMs(state)) / runs;
}
