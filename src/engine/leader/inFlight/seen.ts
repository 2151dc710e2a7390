import { limits } from "../../model/limits.ts";
import { type Work, workName } from "../../model/runBlobs.ts";
import type { Sends } from "../../model/state.ts";
import type { Draft } from "../decide/draft.ts";
import type { DecideTime, Lists } from "../notes.ts";
import { type Observed, type SeenHeartbeat, workKey } from "../seen.ts";
import { isBehind, isFromBefore, isHidden, waitOf } from "./waits.ts";

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
  /** Its message is hidden until its next attempt. */
  readonly hidden: boolean;
  /** Its message has come out of hiding, and may be behind those that the queue shows. */
  readonly behind: boolean;
  /** Taken, and had by nobody until then, it is lost. */
  readonly dueMs: number;
  /** Half-way to it poison queues are to be read. */
  readonly readAfterMs: number;
  /** When failure records were listed last, and nodes; a pack's partials are listed with what is observed. */
  readonly failuresMs: number;
  readonly nodesMs: number;
  /** When poison queues were read last. */
  readonly poisonMs: number;
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
  return {
    ...piece,
    nowMs: observed.nowMs,
    live: heartbeats.find(
      (heartbeat) => heartbeat.live && heartbeat.ageMs + heartbeat.silentMs <= stuckAfterMs(at),
    ),
    silent: heartbeats.find(
      (heartbeat) =>
        !heartbeat.live && heartbeat.send === sends.send && !isFromBefore(heartbeat, wait, observed),
    ),
    queued: observed.packs.waiting.has(key) || observed.urgent.waiting.has(key),
    tried: wait !== undefined,
    hidden: isHidden(wait, observed),
    behind: isBehind(wait, observed),
    dueMs: sinceMs + waitMs,
    // What is lost as soon as it is seen nowhere does not wait for that.
    readAfterMs: waitMs === 0 ? Number.NEGATIVE_INFINITY : sinceMs + waitMs / 2,
    failuresMs: lists.failuresAtMs,
    poisonMs: observed.poisonMs ?? Number.POSITIVE_INFINITY,
    nodesMs: work.kind === "node" ? lists.nodesAtMs : Number.POSITIVE_INFINITY,
  };
}

/** Longer than a process can be at a piece of work: its limit, the retries of its record, and the host's ten minutes. */
export const stuckAfterMs = ({ limitMs }: Pick<DecideTime, "limitMs">): number =>
  limits.hostHidesMs + limitMs + limits.endRetryMs;
