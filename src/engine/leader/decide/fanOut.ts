import { emptyBitmap, encodeBitmap } from "../../model/bitmap.ts";
import { limits } from "../../model/limits.ts";
import type { Marker } from "../../model/marker.ts";
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
} from "./draft.ts";
import { mean, packsAtOnce, takenMs } from "./pace.ts";
import { outcomeOf } from "./track.ts";

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
  const outcome = outcomeOf(state);
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
      if (outcome(pack) !== "open") continue;
      if (!hasRoom()) break;
      const again = state.again[pack];
      if (again !== undefined) again.atMs = at.nowMs;
      const urgent = again !== undefined || isUrgent(state, pack, at.share);
      const repeat = pack < state.doubtUpTo;
      addSend(draft, { pack, send: state.firstSend, urgent, repeat, alone: again?.alone });
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
 * What each run has of the workers: what all runs together compute at once, shared evenly. What one cannot use (its cap,
 * few packs left, or a window full of packs that wait for their next attempt) goes to the others. A run that is paused, or
 * whose code no instance has, takes none of them; one that begins in this loop has what it would have beside those that
 * compute. `unread` is how many more runs there are, whose states this leader has not read; `polledMs` is how long ago
 * the others were polled, on average: many take turns.
 */
export function shareOut(states: readonly State[], unread: number, polledMs = 0): (run: string) => Share {
  const begun = states.filter(
    ({ phase, paused, otherCode }) =>
      (phase === "planning" || phase === "computing") && !paused && otherCode === undefined,
  );
  const runs = Math.max(1, begun.length + unread);
  const computing = begun.filter(({ phase }) => phase === "computing");
  const known = computing.filter(({ durationsMs }) => durationsMs.length > 0);
  if (known.length === 0) return () => ({ runs, packsAtOnce: undefined, waitMs: undefined });
  let total = known.reduce((sum, state) => sum + packsAtOnce(state), 0);
  // In one queue all wait for the same time. A turn is twice as long as the average of what has passed of it.
  const waitMs = mean(known.map(takenMs)) + Math.max(limits.windowAheadMs, 2 * 2 * polledMs);
  // Where caps or their ends hold all back, workers may be idle.
  const busy = computing.some((state) => demandOf(state) > 2 * packsAtOnce(state));
  const newcomer = busy ? total / (computing.length + 1) : undefined;
  const shares = new Map<string, number | undefined>();
  for (const [served, state] of computing.sort((a, b) => demandOf(a) - demandOf(b)).entries()) {
    const share = Math.min(demandOf(state), total / (computing.length - served));
    shares.set(state.run, computing.length > 1 ? share : undefined);
    total -= share;
  }
  return (run) => ({ runs, packsAtOnce: shares.has(run) ? shares.get(run) : newcomer, waitMs });
}

function demandOf(state: State): number {
  const { layout, packsDone, packsFailed, inFlight, waits } = state;
  const left = layout === undefined ? 0 : packsOf(layout) - packsDone - packsFailed;
  const awake = waits === undefined ? Number.POSITIVE_INFINITY : Math.max(0, inFlight - waits.works);
  return Math.min(packsAllowed(state), left, awake);
}

/**
 * Once a poll: two packs per worker and eight seconds of work at the rate of this run; among others what keeps its fair share
 * of all at work for as long as its packs wait behind theirs. Until the first outcomes it is a fixed number, which the runs
 * under way share. It is never under 8, and at most twice the last window. Where the queues show that the
 * workers took all, the rate says less than they can, and it is doubled; for a run alone also where they took more than half
 * of it since the last poll. Whoever sends applies the cap.
 */
export function updateWindow(state: State, notes: RunNotes, share: Share): void {
  const packMs = takenMs(state);
  const outcomes = state.durationsMs.length + state.packsFailed;
  const shared = share.packsAtOnce !== undefined;
  const rate = shared ? (share.packsAtOnce * 1_000) / packMs : state.rate;
  const first = firstWindow(state) / share.runs;
  const waitMs = (shared ? share.waitMs : undefined) ?? packMs + limits.windowAheadMs;
  const byRate = (rate * (packMs + waitMs)) / 1_000;
  const known = outcomes >= limits.outcomesForRate && rate > 0;
  const wanted = Math.ceil(known ? byRate : shared ? Math.min(first, byRate) : first);
  const few = notes.drained || (!shared && outcomes > 0 && state.inFlight <= notes.window / 2);
  notes.starved = few && mayGrow(state, notes);
  // A rate that was measured while leaders died says little, and the next one may die soon. Others would wait for so much.
  const twice = notes.window === 0 ? Math.max(wanted, share.runs > 1 ? 0 : first) : notes.window * 2;
  // Alone it falls slowly, because the first outcomes make the rate look low.
  const least = shared ? 0 : Math.floor(notes.window * 0.9);
  const grows = notes.starved || notes.window === 0;
  notes.window = Math.max(grows ? twice : Math.min(wanted, twice), least, limits.windowMin);
}

/**
 * Packs in flight while nobody knows how fast they go: fewer where the plan says that they take long, but two for each worker
 * that it counts on.
 */
const firstWindow = ({ layout }: State): number =>
  Math.max(
    Math.min(limits.windowFirst, Math.ceil(limits.windowFirstMs / Math.max(layout?.packMs ?? 0, 1))),
    2 * (layout?.workers ?? 0),
  );

/** Something is left to send, and the cap does not forbid it. */
const mayGrow = (state: State, { window }: RunNotes): boolean =>
  state.phase === "computing" &&
  state.layout !== undefined &&
  state.cursor < packsOf(state.layout) &&
  window < packsAllowed(state);

/**
 * The first packs of a run go to the urgent queue, so that it is under way at once. Behind other runs a young one
 * has as many packs there as its share of the workers, instead of waiting behind their seconds of work.
 */
export function isUrgent(state: State, pack: number, share: Share): boolean {
  if (pack < limits.urgentFirstPacks) return true;
  return pack < limits.urgentYoungPacks && state.inFlight < (share.packsAtOnce ?? 0);
}
