import { encodeBitmap, setBit } from "../../model/bitmap.ts";
import { limits } from "../../model/limits.ts";
import { belongsTo } from "../../model/output.ts";
import { chunksOfPack, type Range, rangeText, shardOf, sizeOf } from "../../model/packs.ts";
import { type Spec, toleratedChunks } from "../../model/run.ts";
import { workName } from "../../model/runBlobs.ts";
import type { Sends, State } from "../../model/state.ts";
import type { Seen, SeenFailure } from "../seen.ts";
import { type Draft, layoutOf, resendTask, roomToWrite } from "./draft.ts";
import { resendPack, sendsOf } from "./inFlight.ts";
import { bitsOf, outcomeOf, tally } from "./track.ts";

/**
 * Draws the consequences of failure records. A send ends with its output or with a record; work has failed when all
 * of its sends that are waited for have ended without output. Silence is never a failure.
 */
export function trackFailures(draft: Draft, seen: Seen): void {
  const { state } = draft;
  trackTried(draft, seen);
  const outcome = outcomeOf(state);
  const current = seen.failures.filter((failure) => failure.generation === state.generation);
  for (const [name, records] of Map.groupBy(current, ({ work }) => workName(work))) {
    records.sort((a, b) => a.send - b.send);
    const work = records[0]?.work;
    if (work?.kind === "pack") {
      const open = state.phase === "computing" && work.pack < state.cursor && outcome(work.pack) === "open";
      if (open) trackPack(draft, work.pack, records);
      continue;
    }
    const task = state.tasks[name];
    if (task === undefined || work === undefined) continue;
    const verdict = verdictOf(records, task);
    if (verdict.kind === "fail") {
      const lost = records.some(({ cause }) => cause === "storage-lost");
      const code = lost ? "storage-lost" : `${work.kind}-failed`;
      draft.ending ??= { phase: "failed", error: { code, message: verdict.why } };
    } else if (verdict.kind === "replace") {
      if (verdict.alone) task.alone = true;
      task.sends = Math.max(task.sends, ...records.map((record) => record.send));
      resendTask(draft, task);
    }
  }
  tally(state);
  if (state.trying !== undefined && isOver(state, state.trying.work)) delete state.trying;
  if (state.keep !== true) checkTolerance(draft, seen.spec, current);
}

/** Whether no further attempt at a piece of work is to come. */
function isOver(state: State, work: string): boolean {
  const pack = /^\d+\/(\d+)$/.exec(work)?.[1];
  if (pack === undefined) return !(work in state.tasks);
  return state.layout === undefined || outcomeOf(state)(Number(pack)) !== "open";
}

/** Takes over which attempts threw while others of their send are to come. */
function trackTried(draft: Draft, { tried }: Seen): void {
  const { state } = draft;
  for (const { work, generation, code, message, attempts, attemptsMax } of tried) {
    if (generation !== state.generation) continue;
    const name = workName(work);
    // Notes of earlier versions have no code.
    if (code === "" || isOver(state, name)) continue;
    if (state.trying?.work === name && state.trying.attempts >= attempts) continue;
    state.trying = { work: name, code, message, attempts, attemptsMax };
    draft.noted = true;
  }
}

export type Verdict =
  | { readonly kind: "wait" }
  /** `alone`: nothing else may run beside the next attempt. */
  | { readonly kind: "replace"; readonly alone: boolean }
  | { readonly kind: "fail"; readonly why: string };

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

type Ended = Pick<SeenFailure, "send" | "cause" | "code" | "message" | "final">;

/**
 * What the records of ended sends, sorted by send, mean for their work. A record may be of a send that the state does not
 * know, when its leader died between send and write; then that one and those before it must have ended too.
 */
export function verdictOf(records: readonly Ended[], made: Pick<Sends, "sends" | "since">): Verdict {
  if (records.some(isHopeless)) return { kind: "fail", why: whyFailed(records) ?? "" };
  const ended = new Set(records.map((one) => one.send));
  const last = Math.max(made.sends, ...ended);
  for (let send = made.since; send <= last; send += 1) if (!ended.has(send)) return { kind: "wait" };
  const why = whyFailed(records);
  if (why !== undefined) return { kind: "fail", why };
  return { kind: "replace", alone: records.some(({ code }) => code === "process-ended") };
}

const isHopeless = (one: Ended): boolean => one.final || one.cause === "storage-lost";

/** Why no other send may follow these; undefined where one may. */
function whyFailed(records: readonly Ended[]): string | undefined {
  const hopeless = records.find(isHopeless);
  if (hopeless !== undefined) return hopeless.message;
  // A process that ended beside other work, or before it began this, says nothing against it.
  const guilty = records.filter(({ code }) => code !== "lost");
  for (const { is, max, say } of replaceable) {
    const ends = guilty.filter(is);
    if (ends.length >= max) return say?.(ends.length) ?? ends.at(-1)?.message;
  }
  // Work that threw had all its attempts within its send.
  return guilty.findLast((one) => !replaceable.some(({ is }) => is(one)))?.message;
}

function trackPack(draft: Draft, pack: number, records: readonly SeenFailure[]): void {
  const { state } = draft;
  const made = sendsOf(state, pack);
  const sends = Math.max(made.sends, ...records.map((record) => record.send));
  const verdict = verdictOf(records, made);
  if (verdict.kind === "fail") markFailed(draft, pack, lackingOf(state, pack, records));
  else if (verdict.kind === "replace") {
    if (state.paused || state.keep === true || roomToWrite(draft) <= 0) return;
    state.again[pack] = { ...made, sends };
    resendPack(draft, pack, { alone: verdict.alone });
  } else if (sends > made.sends) state.again[pack] = { ...made, sends };
}

/** How many chunks the partial of a failed pack lacks, where one of its sends has stored one; of another plan it counts as missing. */
function lackingOf(state: State, pack: number, records: readonly SeenFailure[]): number | undefined {
  const told = records.find(({ gaps }) => gaps !== undefined && belongsTo(state, { plan: gaps.plan }));
  const failed = told?.gaps?.failed ?? Number.POSITIVE_INFINITY;
  return failed < sizeOf(chunksOfPack(layoutOf(state), pack)) ? failed : undefined;
}

/** `lacking`: so many of its chunks failed, and the others have a partial. */
function markFailed(draft: Draft, pack: number, lacking: number | undefined): void {
  const { state } = draft;
  const layout = layoutOf(state);
  const shard = shardOf(layout, pack);
  const open = state.open[shard];
  if (open === undefined || open.recount) return;
  const { packs, failed } = bitsOf(layout, shard, open);
  setBit(failed, pack - packs.from);
  open.failed = encodeBitmap(failed);
  if (lacking !== undefined) open.gapped = { ...open.gapped, [pack]: lacking };
  delete state.again[pack];
  draft.decided = true;
}

function checkTolerance(draft: Draft, { tolerate }: Spec, failures: readonly SeenFailure[]): void {
  const { state } = draft;
  const { layout, chunksFailed } = state;
  if (layout === undefined) return;
  const tolerated = toleratedChunks(tolerate, layout.chunks);
  if (chunksFailed <= tolerated) return;
  // A record of a pack that another send completed, or may yet, is no reason.
  const outcome = outcomeOf(state);
  const first = failures.find(({ work }) => work.kind === "pack" && outcome(work.pack) === "failed");
  const pack = first?.work.kind === "pack" ? first.work.pack : undefined;
  const records = failures.filter(({ work }) => work.kind === "pack" && work.pack === pack);
  const why = whyFailed(records) ?? first?.message ?? "";
  // A thread names the chunk or chunks where it can; anything else happened to the whole pack.
  const named = pack === undefined || /^chunks? \d[^:]*: /.test(why);
  const where = named ? "" : `${chunksText(chunksOfPack(layout, pack))}: `;
  // A pack without a partial counts whole, whichever of its chunks failed: the true number may be lower.
  const count = tolerated === 0 ? "" : `more than ${tolerated} of ${layout.chunks} chunks failed; `;
  draft.ending ??= { phase: "failed", error: { code: "pack-failed", message: `${count}${where}${why}` } };
}

const chunksText = (range: Range): string =>
  `${sizeOf(range) === 1 ? "chunk" : "chunks"} ${rangeText(range)}`;
