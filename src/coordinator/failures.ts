import { decodeBitmap, emptyBitmap, encodeBitmap, setBit } from "../model/bitmap.ts";
import { limits } from "../model/limits.ts";
import { workName } from "../model/names.ts";
import { chunksOfPack, packsOfShard, shardOf, sizeOf } from "../model/packs.ts";
import type { Tolerance } from "../model/run.ts";
import type { Draft } from "./draft.ts";
import { layoutOf } from "./draft.ts";
import type { Seen, SeenFailure } from "./seen.ts";
import { outcomeOf } from "./track.ts";

/**
 * Draws the consequences of failure records. A send ends with its output or with a record; work has failed when
 * all of its sends have ended without output. A send that ended in poison may never have run, so it is replaced
 * while fewer than three have ended. Silence is never a failure.
 */
export function trackFailures(
  draft: Draft,
  { failures, spec, nowMs }: Pick<Seen, "failures" | "spec" | "nowMs">,
): void {
  const { state } = draft;
  const current = failures.filter((failure) => failure.generation === state.generation);
  for (const [name, records] of byWork(current)) {
    const { work } = records[0] as SeenFailure;
    if (work.kind === "pack") {
      if (state.phase === "computing") trackPack(draft, work.pack, records, nowMs);
      continue;
    }
    const task = state.tasks[name];
    if (task === undefined) continue;
    const verdict = judge(records, task.sends);
    if (verdict === "fail") {
      const last = records.at(-1);
      draft.ending ??= {
        phase: "failed",
        error: { code: `${work.kind}-failed`, message: last?.message ?? "" },
      };
    } else if (verdict === "replace") {
      task.sends += 1;
      draft.decided = true;
      if (work.kind === "node") {
        draft.tasks.push({ kind: "combine", level: work.level, index: work.index, send: task.sends });
      } else draft.tasks.push({ kind: work.kind, send: task.sends });
    }
  }
  checkTolerance(draft, spec.tolerate, current);
}

/** What so many ended sends, of so many made, mean. Records are in order of their send. */
export function judge(
  records: readonly Pick<SeenFailure, "send" | "cause">[],
  sends: number,
): "wait" | "replace" | "fail" {
  const ended = new Set(records.map((record) => record.send));
  if (records.some((record) => record.cause === "storage-lost")) return "fail";
  if (ended.size < sends) return "wait";
  const lastCause = records.findLast((record) => record.send === sends)?.cause;
  return lastCause === "poison" && ended.size < limits.poisonedSendsMax ? "replace" : "fail";
}

/** How many failed chunks the run may end with. */
export function toleratedChunks(tolerate: Tolerance | undefined, chunks: number): number {
  if (tolerate === undefined) return 0;
  return "chunks" in tolerate ? tolerate.chunks : Math.floor((tolerate.percent / 100) * chunks);
}

function trackPack(draft: Draft, pack: number, records: readonly SeenFailure[], nowMs: number): void {
  const { state } = draft;
  const layout = layoutOf(state);
  if (pack >= state.cursor || outcomeOf(state)(pack) !== "open") return;
  const sends = state.again[pack]?.sends ?? 1;
  const verdict = judge(records, sends);
  if (verdict === "replace") {
    const before = state.again[pack];
    draft.packs.push({ pack, send: sends + 1, urgent: true });
    state.again[pack] = { sends: sends + 1, atMs: nowMs, late: before?.late ?? 0 };
    state.sentAgain += 1;
  }
  if (verdict !== "fail") return;
  const shard = shardOf(layout, pack);
  const open = state.open[shard];
  if (open === undefined) return;
  const packs = packsOfShard(layout, shard);
  const failed =
    open.failed === undefined ? emptyBitmap(sizeOf(packs)) : decodeBitmap(open.failed, sizeOf(packs));
  setBit(failed, pack - packs.from);
  open.failed = encodeBitmap(failed);
  state.packsFailed += 1;
  state.chunksFailed += sizeOf(chunksOfPack(layout, pack));
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
  draft.ending ??= {
    phase: "failed",
    error: {
      code: "pack-failed",
      message: `${state.chunksFailed} of ${state.layout.chunks} chunks failed${tolerated}; ${where}${first?.message ?? ""}`,
    },
  };
}

const rangeText = ({ from, to }: { from: number; to: number }): string =>
  to - from === 1 ? `${from}` : `${from}–${to - 1}`;

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
