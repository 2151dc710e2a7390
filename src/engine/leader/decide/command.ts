import { backOff } from "../../model/backOff.ts";
import {
  type Bitmap,
  clearBit,
  countBits,
  decodeBitmap,
  encodeBitmap,
  fullBitmap,
  hasBit,
} from "../../model/bitmap.ts";
import { duration } from "../../model/figures.ts";
import { type Action, withAct } from "../../model/labels.ts";
import { limits } from "../../model/limits.ts";
import type { Marker } from "../../model/marker.ts";
import { type Layout, packsOf, packsOfShard, shardsOf, sizeOf } from "../../model/packs.ts";
import { deadlineMs, type State } from "../../model/state.ts";
import { possiblySentBelow, type RunNotes } from "../notes.ts";
import type { Observed, Seen } from "../seen.ts";
import type { DecideAt, Draft } from "./draft.ts";
import { openShards } from "./fanOut.ts";
import { beginTurn } from "./restart.ts";
import { bitsOf, tally } from "./track.ts";

/**
 * Takes over what the marker wants. A cancel before `finishing` ends the run, or with `keep` what is not done of it;
 * from then on it is too late. A new turn (a pause or resume that this state has not seen) makes workers drop what was
 * sent under the old one and they have not begun, so every unfinished pack will be resent.
 */
export function obeyCommand(draft: Draft, { marker }: Pick<Seen, "marker">): void {
  const { state } = draft;
  const newTurn = marker.turn !== state.turn;
  if (marker.command === state.command && !newTurn && marker.cap === state.cap) return;
  state.possiblySentUpTo = possiblySentBelow(state, draft.sendNotes);
  if (marker.command !== state.command) {
    const act = { command: marker.command, action: actionOf(state, marker), atMs: draft.at.nowMs };
    state.history = withAct(state.history, { ...act, ...(marker.who !== undefined && { by: marker.who }) });
  }
  state.command = marker.command;
  state.cap = marker.cap;
  if (marker.dollars !== undefined) state.maxCost = marker.dollars;
  // What is left of a run that keeps what is done are its folds, which a pause would not hold back.
  const tooLate = state.phase === "finishing" || (state.keep === true && marker.want === "paused");
  state.paused = marker.want === "paused" && !tooLate;
  if (state.paused) state.pausedAtMs = draft.at.nowMs;
  state.turn = marker.turn;
  state.answer = "done";
  draft.decided = true;
  if (tooLate && marker.want !== "run") state.answer = "too-late";
  else if (marker.want === "cancelled" && marker.keep !== undefined && state.layout !== undefined)
    state.keep = true;
  else if (marker.want === "cancelled") draft.ending = { phase: "cancelled" };
  if (newTurn && !state.paused && state.phase === "computing") beginTurn(state);
}

/** What the last command asked for. */
function actionOf({ turn }: State, { want, keep, turn: now }: Marker): Action {
  if (want === "cancelled") return keep === undefined ? "cancel" : "finish-early";
  if (now === turn) return "cap";
  return want === "paused" ? "pause" : "resume";
}

/** Past its deadline a run fails, or finishes with what is done. A run that is finishing already may end. */
export function keepDeadline(draft: Draft, { spec: { deadline } }: Pick<Seen, "spec">): void {
  const { state, at } = draft;
  if (deadline === undefined || at.nowMs <= deadlineMs(deadline, state)) return;
  endAtDeadline(draft, deadline, `it did not end within its deadline of ${duration(deadline.ms / 1_000)}`);
}

export function endAtDeadline(
  draft: Draft,
  deadline: NonNullable<Seen["spec"]["deadline"]>,
  message: string,
): void {
  const { state } = draft;
  if (state.keep === true || (state.phase !== "planning" && state.phase !== "computing")) return;
  if (deadline.keep && state.layout !== undefined) {
    state.possiblySentUpTo = possiblySentBelow(state, draft.sendNotes);
    state.keep = true;
    state.paused = false;
    draft.decided = true;
    return;
  }
  draft.ending ??= { phase: "failed", error: { code: "deadline", message } };
}

/**
 * Gives up every pack that has no partial of a run that is to end with what is done, so that its shard can be sealed. Where partials may be there that nobody
 * has counted, the shard is listed first.
 */
export function giveUpRest(draft: Draft, { shards }: Pick<Seen, "shards">): void {
  const { state } = draft;
  const { layout } = state;
  if (state.keep !== true || state.phase !== "computing" || layout === undefined) return;
  const sent = state.cursor;
  state.gaveUp ??= { cursor: sent, failed: failedIn(state, layout) };
  for (let shard = 0; shard < shardsOf(layout); shard += 1) {
    if (!(shard in state.open) && !(shard in state.sealed)) {
      openShards(state, shard);
      const fresh = state.open[shard];
      if (fresh !== undefined && packsOfShard(layout, shard).from < state.possiblySentUpTo)
        fresh.recount = true;
    }
    const open = state.open[shard];
    if (open === undefined || open.recount === true) continue;
    const { packs, size, done, failed } = bitsOf(layout, shard, open);
    if (countBits(done) + countBits(failed) === size) continue;
    // It was sent, and no page was left for it in this poll: its partials are listed before any is given up.
    if (packs.from < sent && !shards.has(shard)) {
      open.recount = true;
      continue;
    }
    if (open.failed !== undefined) state.gaveUp.failed[shard] = open.failed;
    open.failed = encodeBitmap(without(size, done));
  }
  state.cursor = packsOf(layout);
  state.resent = {};
  tally(state);
}

/** The packs that have failed, as bitmaps by shard. */
function failedIn({ sealed, open }: State, layout: Layout): Record<string, string> {
  const failed: Record<string, string> = {};
  for (const [shard, one] of Object.entries(open)) if (one.failed !== undefined) failed[shard] = one.failed;
  for (const [shard, { members }] of Object.entries(sealed)) {
    if (members === undefined) continue;
    const size = sizeOf(packsOfShard(layout, Number(shard)));
    failed[shard] = encodeBitmap(without(size, decodeBitmap(members, size)));
  }
  return failed;
}

/** All of `size` but these. */
function without(size: number, bits: Bitmap): Bitmap {
  const others = fullBitmap(size);
  for (let index = 0; index < size; index += 1) if (hasBit(bits, index)) clearBit(others, index);
  return others;
}

/**
 * Until when a run needs no leader, storage's time: while all of its work waits, or if it is paused or at its max cost. Its
 * marker then says so with the number of its command, so that any later command wakes it by its higher number. Undefined: it
 * needs one.
 */
export function restsUntil(
  state: State,
  marker: Marker,
  at: Pick<DecideAt, "nowMs" | "observed">,
  notes: Pick<RunNotes, "idleUntilMs" | "computedMs">,
): number | undefined {
  const { want } = marker;
  if (state.command !== marker.command || (want !== "run" && want !== "paused")) return undefined;
  const { idleUntilMs } = notes;
  if (idleUntilMs === undefined && hasComeToRest(state, marker, at, notes)) return Number.POSITIVE_INFINITY;
  return idleUntilMs !== undefined && idleUntilMs - at.nowMs >= backOff.restMsMin ? idleUntilMs : undefined;
}

/** Whether a run is paused or at its max cost, no process says that it computes any of it, and no task is under way. */
function hasComeToRest(
  state: State,
  { want }: Marker,
  { nowMs, observed }: Pick<DecideAt, "nowMs" | "observed">,
  notes: Pick<RunNotes, "computedMs">,
): boolean {
  if (want === "paused" && !state.paused) return false;
  const sinceMs = state.paused ? (state.pausedAtMs ?? 0) : sentNothingSinceMs(state, notes);
  if (sinceMs === undefined) return false;
  if (Object.keys(state.tasks).length > 0 || state.phase !== "computing") return false;
  // What was begun since has a heartbeat by now, or has ended.
  const toldMs = limits.markerTrustMs + limits.heartbeatAfterMsMax + limits.heartbeatMsMin;
  if (observed === undefined || nowMs - sinceMs <= toldMs) return false;
  // Workers drop what is paused. Of a run at its max cost they still have what they put back for a while, as for other code.
  return !observed.computing.has(state.uid) && (state.paused || !isHeldBy(observed, state.uid));
}

const isHeldBy = ({ heartbeats }: Observed, uid: string): boolean =>
  [...heartbeats.values()].some((all) => all.some((one) => one.uid === uid && one.live));

/** Of a run at its max cost: since when nothing of it is in a queue, computed or ends. What is in flight nevertheless was lost. */
function sentNothingSinceMs(
  { maxCostAtMs, inFlight, cursor, taken, progress }: State,
  { computedMs }: Pick<RunNotes, "computedMs">,
): number | undefined {
  if (maxCostAtMs === undefined || inFlight === 0) return maxCostAtMs;
  const last = taken.at(-1);
  if (last === undefined || last.upTo < cursor) return undefined;
  return Math.max(maxCostAtMs, last.atMs, computedMs, progress.marks.at(-1)?.atMs ?? 0);
}
