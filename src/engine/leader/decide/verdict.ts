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

/** Deaths of one piece of work at different places, of which somebody else may have caused some. */
export const diedInAllMax = 2 * limits.diedSendsMax;

const hasDied = (one: Ended): boolean => one.code === "process-ended";

/** The kinds of ends that another send may follow, and which of them are so many that none does. */
const replaceable = [
  { is: (one: Ended) => one.code === "time-limit", enough: atLeast(limits.overtimeSendsMax) },
  { is: hasDied, enough: enoughDied },
  { is: (one: Ended) => one.cause === "poison" && !hasDied(one), enough: atLeast(limits.poisonedSendsMax) },
];

function atLeast(max: number): (ends: readonly Ended[]) => Cause | undefined {
  return (ends) => (ends.length < max ? undefined : causeOf(ends));
}

/**
 * Processes that died at one place died of what is computed there. Where places differ, somebody else may have ended some of them:
 * then a single chunk has to be found, or as many more deaths fail the work.
 */
function enoughDied(ends: readonly Ended[]): Cause | undefined {
  const { diedSendsMax } = limits;
  const { met, at } = meetingOf(ends);
  const agree = met.length === ends.length || (at !== undefined && sizeOf(at) === 1);
  const isFound = met.length >= diedSendsMax && agree;
  if (!isFound && ends.length < diedInAllMax) return undefined;
  const where = isFound && at !== undefined ? `${chunksText(at)}: ` : "";
  const why = `${where}ended its process ${isFound ? met.length : ends.length} times, alone`;
  return { why, code: "process-ended", at: isFound ? at : undefined };
}

/** Most of these ends that have chunks in common, and which; the latest where several are as many. One that tells of none had all in doubt. */
function meetingOf(ends: readonly Ended[]): { readonly met: readonly Ended[]; readonly at?: Range } {
  let met: readonly Ended[] = ends.filter(({ at }) => at === undefined);
  for (const chunk of ends.flatMap(({ at }) => at?.from ?? [])) {
    const there = ends.filter(({ at }) => at === undefined || isIn(chunk, at));
    if (there.length >= met.length) met = there;
  }
  const told = met.flatMap(({ at }) => at ?? []);
  if (told.length === 0) return { met };
  const [from, to] = [Math.max(...told.map((at) => at.from)), Math.min(...told.map((at) => at.to))];
  return { met, at: { from, to } };
}

const isIn = (chunk: number, { from, to }: Range): boolean => from <= chunk && chunk < to;

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
  const died = records.filter((one) => hasDied(one) && one.gaps === undefined);
  const alone = died.length > 0;
  if (cause === undefined) {
    const { at } = meetingOf(died.filter(({ send }) => send >= leftOutFrom));
    const doubt = pack && within(pack.chunks, at);
    return { kind: "replace", alone, ...(doubt && { doubt }) };
  }
  const leaveOut = pack && leftOutBy(cause, made, pack);
  return leaveOut === undefined ? { kind: "fail", why: cause.why } : { kind: "replace", alone, leaveOut };
}

/** A place that is some chunks of the pack only. */
const within = (chunks: Range, at: Range | undefined): Range | undefined =>
  at !== undefined &&
  at.from >= chunks.from &&
  at.to <= chunks.to &&
  at.from < at.to &&
  sizeOf(at) < sizeOf(chunks)
    ? at
    : undefined;

/** A chunk that was left out already was computed by a process that does not know of it: then the pack fails. */
function leftOutBy(cause: Cause, { leftOut = [] }: Made, pack: Leeway): LeftOut | undefined {
  const { chunks, tolerated } = pack;
  const at = within(chunks, cause.at);
  if (at === undefined || leftOut.length >= limits.leftOutMax) return undefined;
  const size = [...leftOut, at].reduce((sum, one) => sum + sizeOf(one), 0);
  if (size > tolerated || size >= sizeOf(chunks) || sizeOf(chunks) > limits.gappedChunksMax) return undefined;
  if (leftOut.some(({ from, to }) => from < at.to && at.from < to)) return undefined;
  return { ...at, code: cause.code, message: cause.why };
}

const isHopeless = (one: Ended): boolean => one.final || one.cause === "storage-lost";

/** Why no other send may follow these; undefined where one may. */
export const whyFailed = (records: readonly Ended[]): string | undefined => causeIn(records)?.why;

interface Cause {
  readonly why: string;
  readonly code: string;
  /** What the work was at. */
  readonly at: Range | undefined;
}

function causeIn(records: readonly Ended[]): Cause | undefined {
  const hopeless = records.find(isHopeless);
  if (hopeless !== undefined) return causeOf([hopeless]);
  // A process that ended beside other work, or before it began this, says nothing against it.
  const guilty = records.filter(({ code }) => code !== "lost");
  // The other chunks of the pack have a partial.
  const stored = guilty.findLast(({ gaps }) => gaps !== undefined);
  if (stored !== undefined) return causeOf([stored]);
  for (const { is, enough } of replaceable) {
    const cause = enough(guilty.filter(is));
    if (cause !== undefined) return cause;
  }
  // Work that threw had all its attempts within its send.
  const threw = guilty.findLast((one) => !replaceable.some(({ is }) => is(one)));
  return threw && causeOf([threw]);
}

function causeOf(ends: readonly Ended[]): Cause {
  const { message: why = "", code = "" } = ends.at(-1) ?? {};
  return { why, code, at: ends.findLast(({ at }) => at !== undefined)?.at };
}
