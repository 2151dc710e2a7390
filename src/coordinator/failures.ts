import { decodeBitmap, emptyBitmap, encodeBitmap, setBit } from "../model/bitmap.ts";
import { limits } from "../model/limits.ts";
import { workName } from "../model/names.ts";
import { chunksOfPack, packsOfShard, rangeText, shardOf, sizeOf } from "../model/packs.ts";
import type { Tolerance } from "../model/run.ts";
import type { Sends } from "../model/state.ts";
import { addSend, type Draft, layoutOf, type Memory, roomToWrite } from "./draft.ts";
import { sendsOf } from "./resend.ts";
import type { Seen, SeenFailure } from "./seen.ts";
import { tally } from "./tally.ts";
import { outcomeOf } from "./track.ts";

/**
 * Draws the consequences of failure records. A send ends with its output or with a record; work has failed when
 * all of its sends have ended without output. A send that ended in poison may never have run, so it is replaced
 * while fewer than three have ended. Silence is never a failure.
 */
export function trackFailures(
  draft: Draft,
  memory: Memory,
  { failures, tried, spec, nowMs }: Pick<Seen, "failures" | "tried" | "spec" | "nowMs">,
): void {
  const { state } = draft;
  for (const { work, generation, send } of tried) {
    const name = workName(work);
    if (generation === state.generation) memory.tried.set(name, Math.max(send, memory.tried.get(name) ?? 0));
  }
  const outcome = outcomeOf(state);
  const current = failures.filter((failure) => failure.generation === state.generation);
  for (const [name, records] of byWork(current)) {
    const work = records[0]?.work;
    if (work?.kind === "pack") {
      const open = state.phase === "computing" && work.pack < state.cursor && outcome(work.pack) === "open";
      if (open) trackPack(draft, memory, work.pack, records, nowMs);
      continue;
    }
    const task = state.tasks[name];
    if (task === undefined || work === undefined) continue;
    const verdict = judge(records, task);
    if (verdict === "fail") {
      const error = { code: `${work.kind}-failed`, message: records.at(-1)?.message ?? "" };
      draft.ending ??= { phase: "failed", error };
    } else if (verdict === "replace") {
      task.sends += 1;
      task.atMs = nowMs;
      draft.decided = true;
      const send = task.sends;
      if (work.kind === "node")
        draft.tasks.push({ kind: "combine", level: work.level, index: work.index, send });
      else draft.tasks.push({ kind: work.kind, send });
    }
  }
  tally(state);
  checkTolerance(draft, spec.tolerate, current);
}

/**
 * What the records of ended sends mean, in order of their send. A record may tell of a send that the state does not
 * know, when its leader died between send and write; then that one and those before it must have ended too.
 */
export function judge(
  records: readonly Pick<SeenFailure, "send" | "cause">[],
  made: Pick<Sends, "sends" | "since">,
): "wait" | "replace" | "fail" {
  const counted = records.filter((record) => record.send >= made.since);
  if (counted.some((record) => record.cause === "storage-lost")) return "fail";
  const ended = new Map(counted.map((record) => [record.send, record.cause]));
  const last = Math.max(made.sends, ...ended.keys());
  for (let send = made.since; send <= last; send += 1) if (!ended.has(send)) return "wait";
  return ended.get(last) === "poison" && ended.size < limits.poisonedSendsMax ? "replace" : "fail";
}

/** How many failed chunks the run may end with. */
export function toleratedChunks(tolerate: Tolerance | undefined, chunks: number): number {
  if (tolerate === undefined) return 0;
  return "chunks" in tolerate ? tolerate.chunks : Math.floor((tolerate.percent / 100) * chunks);
}

function trackPack(
  draft: Draft,
  memory: Memory,
  pack: number,
  records: readonly SeenFailure[],
  nowMs: number,
): void {
  const { state } = draft;
  const made = sendsOf(state, pack);
  const sends = Math.max(made.sends, ...records.map((record) => record.send));
  const verdict = judge(records, made);
  if (verdict === "fail") markFailed(draft, pack);
  else if (verdict === "replace") {
    if (state.paused || roomToWrite(draft, memory) <= 0) return;
    addSend(draft, memory, { pack, send: sends + 1, urgent: true });
    state.again[pack] = { ...made, sends: sends + 1, atMs: nowMs };
    state.sentAgain += 1;
  } else if (sends > made.sends) state.again[pack] = { ...made, sends };
}

function markFailed(draft: Draft, pack: number): void {
  const { state } = draft;
  const layout = layoutOf(state);
  const shard = shardOf(layout, pack);
  const open = state.open[shard];
  if (open === undefined || open.recount) return;
  const packs = packsOfShard(layout, shard);
  const size = sizeOf(packs);
  const failed = open.failed === undefined ? emptyBitmap(size) : decodeBitmap(open.failed, size);
  setBit(failed, pack - packs.from);
  open.failed = encodeBitmap(failed);
  delete state.again[pack];
  draft.decided = true;
}

function checkTolerance(
  draft: Draft,
  tolerate: Tolerance | undefined,
  failures: readonly SeenFailure[],
): void {
  const { state } = draft;
  if (state.layout === undefined || state.chunksFailed <= toleratedChunks(tolerate, state.layout.chunks))
    return;
  const first = failures.find((failure) => failure.work.kind === "pack");
  const where =
    first?.work.kind === "pack" ? `chunks ${rangeText(chunksOfPack(state.layout, first.work.pack))}: ` : "";
  const tolerated = tolerate === undefined ? "" : " (more than tolerated)";
  const failed = `${state.chunksFailed} of ${state.layout.chunks} chunks failed${tolerated}`;
  const message = `${failed}; ${where}${first?.message ?? ""}`;
  draft.ending ??= { phase: "failed", error: { code: "pack-failed", message } };
}

function byWork(failures: readonly SeenFailure[]): Map<string, SeenFailure[]> {
  const groups = new Map<string, SeenFailure[]>();
  for (const failure of failures) {
    const name = workName(failure.work);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [failure]);
    else group.push(failure);
  }
  for (const group of groups.values()) group.sort((a, b) => a.send - b.send);
  return groups;
}
