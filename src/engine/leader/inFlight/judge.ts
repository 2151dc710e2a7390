import type { FailedChunk } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { type Range, sizeOf } from "../../model/packs.ts";
import { p95 } from "../../model/quantile.ts";
import { type Work, workName } from "../../model/runBlobs.ts";
import type { Sends, State } from "../../model/state.ts";
import type { Draft } from "../decide/draft.ts";
import type { DecideTime, Lists } from "../notes.ts";
import { type Observed, type SeenFailure, type SeenHeartbeat, workKey } from "../seen.ts";
import { isBehind, isFromBefore, isInvisible, waitOf } from "./waits.ts";

/**
 * Whether a leader has a piece of work, a pack or a task, computed again. Pure, and in two parts:
 *
 * - while no record ends its latest send, by what is observed: `seeWork` gathers that, and `judgements` is the table;
 * - once records end its sends, by those records: `verdictOf`.
 *
 * The host hides the message of an instance that died for ten minutes. Waiting for that would make every crash a ten-minute tail,
 * and a duplicate costs compute and never correctness, because the first output wins.
 *
 * Not promised: that work which seems lost is. It may only have been late with its heartbeat.
 */

/** A piece of work in flight, a pack or a task, and how long those of its kind take. Times are in ms. */
export interface Piece {
  readonly work: Work;
  readonly sends: Sends;
  /** Since when its latest message is in no queue any more, storage's time; undefined while it may be. */
  readonly takenMs: number | undefined;
  readonly lostAfterMs: number;
  readonly slowAfterMs: number;
  /** It is a pack at the very end of its run. */
  readonly last: boolean;
}

/** The same with what heartbeats, queues and notes tell of it. */
export interface WorkSeen extends Piece {
  readonly nowMs: number;
  /** The heartbeat of a process that lives and has it. */
  readonly live: SeenHeartbeat | undefined;
  /** The heartbeat of a process that had its latest send, and is silent. */
  readonly silent: SeenHeartbeat | undefined;
  /** Its message is among the first of a queue. */
  readonly queued: boolean;
  /** Its latest send has noted that an attempt threw and another follows. */
  readonly tried: boolean;
  /** Its message is invisible until its next attempt. */
  readonly invisible: boolean;
  /** Its message is visible again, and may be behind those that the queue shows. */
  readonly behind: boolean;
  /** Taken, it is lost once nobody has had it for so much longer; negative once nobody has. */
  readonly lostInMs: number;
  /** Half of the time until it is lost is over: poison queues are to be read. */
  readonly isHalfWay: boolean;
  readonly isPoisonRead: boolean;
  /** Listed since it ended, if it did, so that what it left is seen; a pack's partials are listed with what is observed. */
  readonly areFailuresListed: boolean;
  readonly areNodesListed: boolean;
}

/** What the leader observes in one loop. */
export interface Observing {
  readonly observed: Observed;
  readonly lists: Lists;
  /** When work was last seen in a queue or in a live heartbeat, by `workName`. */
  readonly seenMs: ReadonlyMap<string, number>;
}

export function seeWork(
  { state, notes, at }: Pick<Draft, "state" | "notes" | "at">,
  { observed, lists, seenMs }: Observing,
  piece: Piece,
): WorkSeen {
  const { work, sends, takenMs = 0, lostAfterMs } = piece;
  const name = workName(work);
  const key = workKey(state, name);
  const heartbeats = observed.heartbeats.get(key) ?? [];
  const wait = waitOf(notes, name, sends);
  const waitMs = lostAfterMs * 2 ** Math.min(sends.losses, limits.lostDoublings);
  const sinceMs = Math.max(takenMs, sends.sentMs, seenMs.get(name) ?? 0, wait?.untilMs ?? 0);
  const { nowMs, poisonMs = Number.POSITIVE_INFINITY } = observed;
  const silent = heartbeats.find(
    (heartbeat) =>
      !heartbeat.live && heartbeat.send === sends.send && !isFromBefore(heartbeat, wait, observed),
  );
  const endedMs =
    silent === undefined ? sinceMs + waitMs : nowMs - Math.min(silent.silentMs, limits.lostMsMin);
  // What is lost as soon as it is seen nowhere does not wait for half of that.
  const halfWayMs = waitMs === 0 ? Number.NEGATIVE_INFINITY : sinceMs + waitMs / 2;
  return {
    ...piece,
    nowMs,
    live: heartbeats.find(
      (heartbeat) => heartbeat.live && heartbeat.ageMs + heartbeat.silentMs <= stuckAfterMs(at),
    ),
    silent,
    queued: observed.packs.waiting.has(key) || observed.urgent.waiting.has(key),
    tried: wait !== undefined,
    invisible: isInvisible(wait, observed),
    behind: isBehind(wait, observed),
    lostInMs: sinceMs + waitMs - nowMs,
    isHalfWay: nowMs > halfWayMs,
    isPoisonRead: poisonMs > halfWayMs,
    areFailuresListed: lists.failuresAtMs > endedMs,
    areNodesListed: work.kind !== "node" || lists.nodesAtMs > endedMs,
  };
}

/** Longer than a process can be at a piece of work: its limit, the retries of its record, and the host's ten minutes. */
export const stuckAfterMs = ({ limitMs }: Pick<DecideTime, "limitMs">): number =>
  limits.hostHidesMs + limitMs + limits.endRetryMs;

/** For how long nobody may have a pack that was taken, until it counts as lost: within that its process writes a heartbeat. */
export const lostAfterMs = ({ durationsMs }: State): number =>
  lostAfter(durationsMs.length === 0 ? undefined : p95(durationsMs));

/** The same for a task of a kind: `plan`, `combine` or `finish`. */
export const taskLostAfterMs = ({ taskMsMax }: State, kind: string): number => lostAfter(taskMsMax[kind]);

/** A process writes it after `heartbeatAfterMsMax` at the latest, and after `heartbeatAfterMs` where it knows nothing of the work. */
const lostAfter = (usualMs: number | undefined): number =>
  usualMs === undefined
    ? limits.lostMsUnknown
    : Math.min(Math.max(limits.slowFactor * usualMs, limits.lostMsMin), limits.lostMsMax);

/** A pack that is computed for longer than this is slow: longer than any before, where the longest are few and known. */
export const slowAfterMs = ({ durationsMs }: State): number =>
  durationsMs.length === 0
    ? Number.POSITIVE_INFINITY
    : Math.max(limits.slowFactor * p95(durationsMs), 2 * Math.max(...durationsMs), limits.lostMsMin);

/** What is done about a piece of work. A resend takes nothing away from the sends before it: their outputs and records count. */
export type Doing =
  /** Nothing. */
  | "wait"
  /** Nothing, and from now on counts anew for how long nobody has had it. */
  | "wait, seen"
  /** Nothing before outcomes were listed once more. */
  | "list outcomes"
  /** A second send beside the first: both count. */
  | "copy"
  | "resend"
  | "resend isolated"
  /** A failure record, of which `verdictOf` says the consequences in the next poll. */
  | "record";

export interface Judgement {
  /** Its name in the table of the page. */
  readonly is: string;
  readonly if: (seen: WorkSeen) => boolean;
  readonly do: Doing;
  /** One more loss of this work. */
  readonly loss?: true;
}

/** Read from the top: the first row that holds is the judgement (rule *judgement*, which a test holds against it). */
export const judgements: readonly Judgement[] = [
  { is: "slow", if: isSlow, do: "copy" },
  { is: "held", if: ({ live }) => live !== undefined, do: "wait, seen" },
  { is: "queued", if: ({ queued }) => queued, do: "wait, seen" },
  { is: "backing off", if: ({ invisible }) => invisible, do: "wait" },
  { is: "late", if: isLate, do: "wait, seen" },
  {
    is: "not taken",
    if: (seen) => !isSilent(seen) && (seen.takenMs === undefined || seen.behind),
    do: "wait",
  },
  { is: "not due", if: (seen) => !isSilent(seen) && seen.lostInMs >= 0, do: "wait" },
  { is: "not polled", if: ({ areNodesListed }) => !areNodesListed, do: "wait" },
  { is: "not listed", if: ({ areFailuresListed }) => !areFailuresListed, do: "list outcomes" },
  { is: "not read", if: (seen) => !isSilent(seen) && !seen.isPoisonRead, do: "list outcomes" },
  { is: "died isolated", if: ({ silent }) => silent?.begun === true && silent.isolated, do: "record" },
  { is: "died", if: ({ silent }) => silent?.begun === true, do: "resend isolated" },
  { is: "lost too often", if: ({ sends }) => sends.losses + 1 >= limits.lostMax, do: "record", loss: true },
  { is: "lost", if: () => true, do: "resend", loss: true },
];

export const judge = (seen: WorkSeen): Judgement => judgements.find((row) => row.if(seen)) as Judgement;

/** The last pack of its run, sent once and computed for longer than any before it, though none of its chunks threw. */
function isSlow({ live, last, sends, slowAfterMs, tried }: WorkSeen): boolean {
  const computes = live?.begun === true && live.fresh && live.ageMs > slowAfterMs;
  return computes && last && sends.send === sends.awaitedFrom && sends.isolated !== true && !tried;
}

const isSilent = ({ silent }: WorkSeen): boolean => silent !== undefined;

/** Three isolated deaths fail the work, so each must be more than a late heartbeat. */
function isLate({ silent }: WorkSeen): boolean {
  const diedIsolated = silent?.begun === true && silent.isolated && silent.ended === undefined;
  return diedIsolated && silent.silentMs <= limits.isolatedDeathMs;
}

/** What the records of ended sends mean for their work (rules *attempts*, *isolation*, *failure records* and *failed chunks*). */
export type Verdict =
  | { readonly kind: "wait" }
  /**
   * `isolated`: nothing else may run beside the next attempt. `excluded`: the chunks that ended as many sends as fail a pack, which
   * it does not compute.
   */
  | { readonly kind: "replace"; readonly isolated: boolean; readonly excluded?: readonly FailedChunk[] }
  | { readonly kind: "fail"; readonly why: string };

type Ended = Pick<SeenFailure, "send" | "cause" | "code" | "message" | "final" | "chunk" | "named">;

/** The chunks of a pack, and how many of them may fail. */
interface Leeway {
  readonly chunks: Range;
  readonly tolerated: number;
}

const hasDied = (one: Ended): boolean => one.code === "process-ended";

/** A message that was delivered again tells so before any heartbeat does: without this its work would end one process after the other. */
const mayHaveDied = (one: Ended): boolean => hasDied(one) || one.code === "lost";

/** The kinds of ends that another send may follow, and how many of them none does. */
const replaceable = [
  { is: (one: Ended) => one.code === "time-limit", max: limits.overtimeSendsMax },
  { is: hasDied, max: limits.diedSendsMax },
  { is: (one: Ended) => one.cause === "unreported" && !hasDied(one), max: limits.poisonedSendsMax },
];

/**
 * What the records of ended sends, sorted by send, mean for their work. A record may be of a send that the state does not
 * know, when its leader died between send and write; then that one and those before it must have ended too.
 *
 * Where the sends would fail a pack because of one chunk, later ones exclude it instead, as far as chunks may fail. The ends at
 * excluded chunks say nothing of the others and count no more.
 */
export function verdictOf(
  records: readonly Ended[],
  made: Pick<Sends, "send" | "awaitedFrom">,
  pack?: Leeway,
): Verdict {
  if (records.some(isHopeless)) return { kind: "fail", why: whyFailed(records)?.why ?? "" };
  const ended = new Set(records.map((one) => one.send));
  const last = Math.max(made.send, ...ended);
  for (let send = made.awaitedFrom; send <= last; send += 1) if (!ended.has(send)) return { kind: "wait" };
  const excluded: FailedChunk[] = [];
  let counted: Ended[] = [];
  for (const one of records) {
    if (excluded.some(({ chunk }) => chunk === one.chunk)) continue;
    counted.push(one);
    const cause = causeIn(counted);
    if (cause === undefined) continue;
    const { chunk, code, why: message } = cause;
    if (chunk === undefined || !mayExclude(chunk, excluded, pack)) return { kind: "fail", why: message };
    excluded.push({ chunk, code, message });
    counted = counted.filter((other) => other.chunk !== chunk);
  }
  return { kind: "replace", isolated: records.some(mayHaveDied), ...(excluded.length > 0 && { excluded }) };
}

function mayExclude(chunk: number, excluded: readonly FailedChunk[], pack: Leeway | undefined): boolean {
  if (pack === undefined) return false;
  const { from, to } = pack.chunks;
  const size = sizeOf(pack.chunks);
  const most = Math.min(pack.tolerated, size - 1, limits.excludedMax);
  return from <= chunk && chunk < to && size <= limits.gapsChunksMax && excluded.length < most;
}

const isHopeless = (one: Ended): boolean => one.final || one.cause === "storage-lost";

/** Why no other send may follow these; undefined where one may. `named`: it tells the chunks that it is about. */
export const whyFailed = (records: readonly Ended[]): Pick<Cause, "why" | "named"> | undefined =>
  causeIn(records);

interface Cause {
  readonly why: string;
  readonly named: boolean;
  readonly code: string;
  /** What the thread was at. */
  readonly chunk: number | undefined;
}

function causeIn(records: readonly Ended[]): Cause | undefined {
  const hopeless = records.find(isHopeless);
  if (hopeless !== undefined) return causeOf([hopeless]);
  // A process that ended beside other work, or before it began this, says nothing against it.
  const guilty = records.filter(({ code }) => code !== "lost");
  for (const { is, max } of replaceable) {
    const ends = guilty.filter(is);
    if (ends.length >= max) return causeOf(ends);
  }
  // Work that threw had all its attempts within its send.
  const threw = guilty.findLast((one) => !replaceable.some(({ is }) => is(one)));
  return threw && causeOf([threw]);
}

function causeOf(ends: readonly Ended[]): Cause {
  const { message = "", code = "", named = false } = ends.at(-1) ?? {};
  const died = ends.every(hasDied);
  const why = died ? `ended its process ${ends.length} times, isolated` : message;
  return {
    why,
    named: named && !died,
    code,
    chunk: ends.findLast(({ chunk }) => chunk !== undefined)?.chunk,
  };
}
