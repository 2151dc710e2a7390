import { limits } from "../../model/limits.ts";
import { packsOf, shardOf } from "../../model/packs.ts";
import { workName } from "../../model/runBlobs.ts";
import type { Sends, State } from "../../model/state.ts";
import type { Seen } from "../poll/seen.ts";
import {
  addSend,
  type DecideAt,
  type Draft,
  type Front,
  layoutOf,
  nodeOf,
  type RunNotes,
  resendTask,
  roomToWrite,
} from "./draft.ts";
import { outOfOrderMs, p95, packsTaken, sharing, silentAfterMs, stragglerAfterMs } from "./pace.ts";
import { unfinishedPacks } from "./track.ts";

/**
 * Resends stragglers and silent work. The host hides a dead worker's message for ten minutes; waiting for that would
 * make every crash a ten-minute tail. A duplicate costs compute, never correctness: the first partial wins.
 * See docs/ARCHITECTURE.md, rule 18.
 *
 * All times are storage's and are in the state, so that a new leader knows at once what the one before knew. Time
 * counts from when a pack is presumed begun, never while it only waits in the queue. A resend takes nothing away from
 * the sends before it: their partial and their records still count.
 */

/** Resends packs whose worker seems dead, and silent ones: nothing was heard of them for longer than the host can hide them. */
export function resendPacks(draft: Draft, { queued }: Pick<Seen, "queued">): void {
  const { state, notes, at } = draft;
  if (state.phase !== "computing" || state.paused || state.keep === true) return;
  const unfinished = unfinishedPacks(state);
  // Fewer messages than packs in flight: some were lost, and nobody can say which.
  const lost = queued !== undefined && queued < unfinished.length;
  const passedMsMax = outOfOrderMs(state);
  const silentMs = silentAfterMs(at) + passedMsMax;
  if (lost) presumeBegun(state, state.cursor, at.nowMs - silentMs - 1);
  else trackBegun(state, unfinished, at);
  const sentNow = new Set(draft.packs.map((one) => one.pack));
  const duplicatesMax = Math.max(limits.duplicatesMin, limits.duplicatesShare * packsOf(layoutOf(state)));
  let duplicates = Object.values(state.again).filter(({ late }) => late > 0).length;
  const stragglerMs = Math.min(stragglerAfterMs(state, at.limitMs), silentMs);
  // Once every sent pack is presumed begun, no message waits that others could pass.
  const lastBegunMs = begunAtMs(state, unfinished.at(-1) ?? 0, at);

  for (const pack of unfinished) {
    if (roomToWrite(draft) <= 0) return;
    if (sentNow.has(pack)) continue;
    const again = state.again[pack];
    const begunMs = begunAtMs(state, pack, at);
    if (begunMs === undefined) continue;
    const sinceMs = Math.max(begunMs, again?.atMs ?? 0);
    if (at.nowMs - sinceMs > silentMs) {
      resendPack(draft, pack, { silent: true });
      continue;
    }
    const passedMs = Math.min(passedMsMax, Math.max((lastBegunMs ?? at.nowMs) - begunMs, 0));
    const stragglerAtMs = Math.max(begunMs + passedMs, again?.atMs ?? 0) + stragglerMs;
    const name = workName({ kind: "pack", shard: shardOf(layoutOf(state), pack), pack });
    const made = sendsOf(state, pack);
    if (!mayResendStraggler(made, notes, name)) continue;
    if (at.nowMs <= stragglerAtMs) {
      if (lastBegunMs !== undefined)
        notes.stragglerInMs = Math.min(notes.stragglerInMs, stragglerAtMs - at.nowMs);
      continue;
    }
    // Its worker lives: it noted that an attempt threw, and others follow.
    if ((notes.tried.get(name) ?? 0) >= made.since) continue;
    if (made.late === 0 && duplicates >= duplicatesMax) continue;
    // Its worker may have noted so since failures were last listed.
    if (notes.failuresAtMs <= stragglerAtMs) {
      notes.wantsFailures = true;
      continue;
    }
    duplicates += 1;
    resendPack(draft, pack, { straggler: true, alone: isDead(notes, name) });
  }
}

/** Resends a plan, combine or finish whose worker seems dead; it is recorded before it is sent. */
export function resendTasks(draft: Draft): void {
  const { state, notes, at } = draft;
  // A thread has to become free before a task begins.
  const waitMs = state.inFlight > 0 ? Math.max(p95(state.durationsMs), state.layout?.packMs ?? 0) : 0;
  for (const [name, task] of Object.entries(state.tasks)) {
    const kind = nodeOf(name) === undefined ? name : "combine";
    const sinceMs = Math.max(task.atMs, notes.aliveMs.get(name) ?? 0);
    const stragglerMs =
      Math.max(limits.stragglerFactor * (state.taskMsMax[kind] ?? 0), limits.taskStragglerMsMin) + waitMs;
    const silent = at.nowMs - sinceMs > silentAfterMs(at) + waitMs;
    const tried = (notes.tried.get(name) ?? 0) >= task.since;
    const late = at.nowMs - sinceMs > stragglerMs && mayResendStraggler(task, notes, name) && !tried;
    if (!silent && !late) continue;
    // Its worker may have noted since failures were last listed that it works or failed.
    if (!silent && notes.failuresAtMs - sinceMs <= stragglerMs) {
      notes.wantsFailures = true;
      continue;
    }
    // Not the first resend: a plan that is alone times no chunk, and a process may end for any reason.
    if (!silent && task.late > 0 && isDead(notes, name)) task.alone = true;
    resendTask(draft, task);
    if (silent) task.since = task.sends;
    else task.late += 1;
    state.sentAgain += 1;
  }
}

/**
 * Whether work may be resent as a straggler. An attempt that began may have ended its process, so only one other is risked
 * before the host delivers its message again, and once its note shows that it died. A resend without a begin note did no
 * harm: its message lies hidden with an instance that died before it began. Sends that replace ended ones count as well, so
 * that few processes begin the work.
 */
function mayResendStraggler({ sends, since, late }: Sends, notes: RunNotes, name: string): boolean {
  if (notes.aliveMs.has(name))
    return late < (isDead(notes, name) ? limits.resendsDeadMax : limits.resendsMax);
  return Math.max(late, sends - since) < limits.resendsUnbegunMax;
}

/** Whether an attempt had begun and not ended when failures were last listed, and had given no sign of life for long. */
const isDead = ({ begunMs, failuresAtMs }: RunNotes, name: string): boolean =>
  failuresAtMs - (begunMs.get(name) ?? failuresAtMs) > limits.taskStragglerMsMin;

/** The packs presumed to be taken, over those that the rate tells of. */
const rateSlack = 1.15;

/**
 * Moves on to which pack work is presumed begun: as many unfinished packs as workers have taken, in send order. Beside other
 * runs these are the packs that the front of all has passed, and those of which enough later ones have ended. A begun pack
 * stays begun, also when the rate falls because workers died. Until the first outcome of any run nobody knows how many run at
 * once, and every pack counts from its send.
 */
function trackBegun(state: State, unfinished: readonly number[], at: DecideAt): void {
  const { front } = at;
  const known = state.durationsMs.length > 0;
  if (!known && front === undefined) return;
  // The rate falls a little between waves of packs that end together.
  const taken = known ? Math.round(packsTaken(state) * rateSlack) : unfinished.length;
  const own = unfinished.slice(0, taken);
  const last = front === undefined ? own.at(-1) : lastBeside(state, unfinished, own, { ...at, front });
  presumeBegun(state, (last ?? -1) + 1, at.nowMs);
}

/** The last pack that is begun beside other runs: by the rates of all, as its own (`own`) falls when its workers die. */
function lastBeside(
  state: State,
  unfinished: readonly number[],
  own: readonly number[],
  { nowMs, limitMs, front }: DecideAt & { readonly front: Front },
): number {
  const passed = passedUpTo(state, unfinished);
  const isPassed = (pack: number): boolean =>
    pack < passed || positionMs(pack, sentAtMs(state, pack)) < front.atMs;
  // A run whose packs never end, or a stream of new runs, holds those of the others back for this long and no longer.
  const drainedMs = limits.stragglerFirstMs + limits.drainTimesHeld * front.drainMs;
  const heldMs = Math.min(silentAfterMs({ limitMs }), drainedMs);
  const byTime = own.findLast((pack) => nowMs - sentAtMs(state, pack) > heldMs) ?? -1;
  return Math.max(unfinished.findLast(isPassed) ?? -1, byTime);
}

/** Up to which pack more of the later ones have ended than come out of order. */
function passedUpTo({ cursor }: State, unfinished: readonly number[]): number {
  let [pack, open, ended] = [cursor, unfinished.length, 0];
  while (pack > 0 && ended <= limits.outOfOrderPacks) {
    pack -= 1;
    if (pack === unfinished[open - 1]) open -= 1;
    else ended += 1;
  }
  return pack;
}

/** The position of a pack among those of all runs: when it was sent, or long before that in the urgent queue. */
const positionMs = (pack: number, sentMs: number): number =>
  sentMs - (pack < limits.urgentFirstPacks ? limits.hostHidesMs : 0);

/** The front of runs that share the workers, by the rates of all. Undefined for a run alone, and where none has an outcome. */
export function frontOf(states: readonly State[]): Front | undefined {
  const { computing, known } = sharing(states);
  if (known.length === 0) return undefined;
  const sumOf = (of: (state: State) => number): number => known.reduce((sum, state) => sum + of(state), 0);
  const line = computing.flatMap(positionsOf).sort((a, b) => a.atMs - b.atMs);
  const waiting = line.reduce((sum, { packs }) => sum + packs, 0);
  const drainMs = (waiting * 1_000) / sumOf(({ rate }) => rate);
  let left = Math.round(sumOf(packsTaken) * rateSlack);
  for (const { atMs, packs } of line) {
    left -= packs;
    if (left < 0) return { atMs, drainMs };
  }
  return { atMs: Number.POSITIVE_INFINITY, drainMs };
}

/** How many unfinished packs of a run are at which position. */
function positionsOf(state: State): { readonly atMs: number; packs: number }[] {
  const { batches } = state;
  const line: { readonly atMs: number; packs: number }[] = [];
  let batch = 0;
  for (const pack of unfinishedPacks(state)) {
    while ((batches[batch]?.upTo ?? Number.POSITIVE_INFINITY) <= pack) batch += 1;
    const atMs = positionMs(pack, batches[batch]?.atMs ?? 0);
    const last = line.at(-1);
    if (last?.atMs === atMs) last.packs += 1;
    else line.push({ atMs, packs: 1 });
  }
  return line;
}

function presumeBegun(state: State, upTo: number, atMs: number): void {
  if (upTo > (state.begun.at(-1)?.upTo ?? 0)) state.begun.push({ upTo, atMs });
}

/** When a sent pack was first sent, or later where its batch was dropped from the record. */
const sentAtMs = ({ batches }: State, pack: number): number =>
  batches.find(({ upTo }) => pack < upTo)?.atMs ?? 0;

/** When a sent pack is presumed begun; undefined while others are before it. */
function begunAtMs(state: State, pack: number, { front }: DecideAt): number | undefined {
  const sentMs = sentAtMs(state, pack);
  const begun = state.begun.find(({ upTo }) => pack < upTo);
  if (begun !== undefined) return Math.max(begun.atMs, sentMs);
  return state.durationsMs.length === 0 && front === undefined ? sentMs : undefined;
}

/** What is known of the sends of a pack that the cursor has passed. */
export const sendsOf = (state: State, pack: number): Sends =>
  state.again[pack] ?? { sends: state.firstSend, atMs: 0, late: 0, since: state.firstSend };

/** Resends a pack. `silent`: no record of the sends before is waited for; one that comes still counts. */
export function resendPack(
  draft: Draft,
  pack: number,
  why: { readonly silent?: true; readonly straggler?: true; readonly alone?: boolean },
): void {
  const { state, at } = draft;
  const before = sendsOf(state, pack);
  const send = before.sends + 1;
  const alone = before.alone === true || why.alone === true;
  state.again[pack] = {
    sends: send,
    atMs: at.nowMs,
    late: before.late + (why.straggler === true ? 1 : 0),
    since: why.silent === true ? send : before.since,
    alone: alone || undefined,
  };
  state.sentAgain += 1;
  addSend(draft, { pack, send, urgent: true, repeat: true, alone });
}
