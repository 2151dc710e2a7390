import type { FailedChunk } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { type Range, sizeOf } from "../../model/packs.ts";
import type { Sends } from "../../model/state.ts";
import type { SeenFailure } from "../seen.ts";

/** What ended sends mean for their work: pure, from their records alone (rules *attempts*, *isolation*, *failure records* and *failed chunks*). */
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
  { is: (one: Ended) => one.cause === "poison" && !hasDied(one), max: limits.poisonedSendsMax },
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
