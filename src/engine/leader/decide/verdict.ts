import type { LeftOut } from "../../model/leftOut.ts";
import { limits } from "../../model/limits.ts";
import { chunksText, type Range, sizeOf } from "../../model/packs.ts";
import type { Sends } from "../../model/state.ts";
import type { SeenFailure } from "../seen.ts";

/** What ended sends mean for their work: pure, from their records alone (docs/ARCHITECTURE.md, rules 7, 15, 16 and 32). */
export type Verdict =
  | { readonly kind: "wait" }
  /**
   * `alone`: nothing else may run beside the next attempt. `leaveOut`: the chunks that ended as many sends as fail a pack.
   * `doubt`: those that may have ended its process.
   */
  | {
      readonly kind: "replace";
      readonly alone: boolean;
      readonly leaveOut?: LeftOut;
      readonly doubt?: Range;
    }
  | { readonly kind: "fail"; readonly why: string };

type Ended = Pick<SeenFailure, "send" | "cause" | "code" | "message" | "final" | "gaps" | "at">;
type Made = Pick<Sends, "sends" | "since" | "leftOut" | "leftOutFrom">;

/** The chunks of a pack, and how many of them may fail. */
interface Leeway {
  readonly chunks: Range;
  readonly tolerated: number;
}

/** The kinds of ends that another send may follow, and after how many of them none does. */
const replaceable = [
  { is: (one: Ended) => one.code === "time-limit", max: limits.overtimeSendsMax },
  {
    is: (one: Ended) => one.code === "process-ended",
    max: limits.diedSendsMax,
    say: (times: number) => `ended its process ${times} times, alone`,
  },
  {
    is: (one: Ended) => one.cause === "poison" && one.code !== "process-ended",
    max: limits.poisonedSendsMax,
  },
];

/**
 * What the records of ended sends, sorted by send, mean for their work. A record may be of a send that the state does not
 * know, when its leader died between send and write; then that one and those before it must have ended too.
 *
 * Of a pack that would fail, later sends leave out the chunks at which its sends ended, as far as these may fail. What was
 * sent before says nothing of the others, so everything counts anew from there, `leftOutMax` times at most.
 */
export function verdictOf(records: readonly Ended[], made: Made, pack?: Leeway): Verdict {
  if (records.some(isHopeless)) return { kind: "fail", why: whyFailed(records) ?? "" };
  const ended = new Set(records.map((one) => one.send));
  const last = Math.max(made.sends, ...ended);
  for (let send = made.since; send <= last; send += 1) if (!ended.has(send)) return { kind: "wait" };
  const { leftOutFrom = 1 } = made;
  const counted = records.filter(({ send, gaps }) => send >= leftOutFrom || gaps !== undefined);
  const cause = causeIn(counted);
  const died = records.filter(({ code, gaps }) => code === "process-ended" && gaps === undefined);
  const alone = died.length > 0;
  if (cause === undefined) {
    const doubt = pack && narrowest(died, pack.chunks, leftOutFrom);
    return { kind: "replace", alone, ...(doubt && { doubt }) };
  }
  const leaveOut = pack && leftOutBy(cause, made, pack);
  return leaveOut === undefined ? { kind: "fail", why: cause.why } : { kind: "replace", alone, leaveOut };
}

/** The latest of these ends that tells of some chunks of the pack only. */
const narrowest = (ends: readonly Ended[], chunks: Range, fromSend = 1): Range | undefined =>
  ends.findLast(
    ({ at, send }) =>
      send >= fromSend &&
      at !== undefined &&
      at.from >= chunks.from &&
      at.to <= chunks.to &&
      at.from < at.to &&
      sizeOf(at) < sizeOf(chunks),
  )?.at;

/** A chunk that was left out already was computed by a process that does not know of it: then the pack fails. */
function leftOutBy({ ends, why }: Cause, { leftOut = [] }: Made, pack: Leeway): LeftOut | undefined {
  const { chunks, tolerated } = pack;
  const at = narrowest(ends, chunks);
  if (at === undefined || leftOut.length >= limits.leftOutMax) return undefined;
  const size = [...leftOut, at].reduce((sum, one) => sum + sizeOf(one), 0);
  if (size > tolerated || size >= sizeOf(chunks) || sizeOf(chunks) > limits.gappedChunksMax) return undefined;
  if (leftOut.some(({ from, to }) => from < at.to && at.from < to)) return undefined;
  const code = ends.at(-1)?.code ?? "";
  return { ...at, code, message: why };
}

const isHopeless = (one: Ended): boolean => one.final || one.cause === "storage-lost";

/** Why no other send may follow these; undefined where one may. */
export const whyFailed = (records: readonly Ended[]): string | undefined => causeIn(records)?.why;

interface Cause {
  readonly why: string;
  readonly ends: readonly Ended[];
}

function causeIn(records: readonly Ended[]): Cause | undefined {
  const hopeless = records.find(isHopeless);
  if (hopeless !== undefined) return causeOf(hopeless);
  // A process that ended beside other work, or before it began this, says nothing against it.
  const guilty = records.filter(({ code }) => code !== "lost");
  // The other chunks of the pack have a partial.
  const stored = guilty.findLast(({ gaps }) => gaps !== undefined);
  if (stored !== undefined) return causeOf(stored);
  for (const { is, max, say } of replaceable) {
    const ends = guilty.filter(is);
    const last = ends.at(-1);
    if (last !== undefined && ends.length >= max) return { why: saying(ends, say) ?? last.message, ends };
  }
  // Work that threw had all its attempts within its send.
  const threw = guilty.findLast((one) => !replaceable.some(({ is }) => is(one)));
  return threw && causeOf(threw);
}

const causeOf = (one: Ended): Cause => ({ why: one.message, ends: [one] });

function saying(ends: readonly Ended[], say: ((times: number) => string) | undefined): string | undefined {
  const at = ends.findLast((one) => one.at !== undefined)?.at;
  return say && `${at === undefined ? "" : `${chunksText(at)}: `}${say(ends.length)}`;
}
