import { limits } from "../../model/limits.ts";
import type { WorkSeen } from "./seen.ts";

/**
 * What becomes of a piece of work in flight, by what is seen of it. The host hides the message of an instance that died for
 * ten minutes; waiting for that would make every crash a ten-minute tail. A duplicate costs compute, never correctness: the first partial
 * wins. A resend takes nothing away from the sends before it: their outputs and records count.
 *
 * Not promised: that work which seems lost is. It may only have been late to say that it lives.
 */
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
  /** A failure record, from which `ended.ts` draws the consequences. */
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
  { is: "pausing", if: ({ hidden }) => hidden, do: "wait" },
  { is: "late", if: isLate, do: "wait, seen" },
  {
    is: "not taken",
    if: (seen) => !hasDied(seen) && (seen.takenMs === undefined || seen.behind),
    do: "wait",
  },
  { is: "taken", if: (seen) => !hasDied(seen) && seen.nowMs <= seen.dueMs, do: "wait" },
  { is: "not polled", if: (seen) => seen.nodesMs <= endedMs(seen), do: "wait" },
  { is: "not listed", if: (seen) => seen.failuresMs <= endedMs(seen), do: "list outcomes" },
  { is: "not read", if: (seen) => !hasDied(seen) && seen.poisonMs <= seen.readAfterMs, do: "list outcomes" },
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

const hasDied = ({ silent }: WorkSeen): boolean => silent !== undefined;

/** Three isolated deaths fail the work, so each must be more than a late heartbeat. */
function isLate({ silent }: WorkSeen): boolean {
  const diedIsolated = silent?.begun === true && silent.isolated && silent.ended === undefined;
  return diedIsolated && silent.silentMs <= limits.isolatedDeathMs;
}

/** When the work ended at the latest, if it did: what it left is seen by a list from after that. */
const endedMs = ({ silent, dueMs, nowMs }: WorkSeen): number =>
  silent === undefined ? dueMs : nowMs - Math.min(silent.silentMs, limits.lostMsMin);
