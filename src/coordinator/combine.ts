import { countBits, decodeBitmap } from "../model/bitmap.ts";
import { workName } from "../model/names.ts";
import { foldsPacksDirectly, packsOf, packsOfShard, shardsOf, sizeOf } from "../model/packs.ts";
import type { Draft } from "./draft.ts";
import { layoutOf } from "./draft.ts";

/**
 * Seals every shard of which each pack has its outcome: its member set is fixed from here, and a failed pack that
 * succeeds later is not folded. Above 256 packs the sealed shard is then combined by a worker.
 */
export function sealShards(draft: Draft, nowMs: number): void {
  const { state } = draft;
  if (state.phase !== "computing") return;
  const layout = layoutOf(state);
  for (const [name, open] of Object.entries(state.open)) {
    const shard = Number(name);
    const packs = packsOfShard(layout, shard);
    const size = sizeOf(packs);
    if (state.cursor < packs.to) continue;
    const done = decodeBitmap(open.done, size);
    const members = countBits(done);
    const failed = open.failed === undefined ? 0 : countBits(decodeBitmap(open.failed, size));
    if (members + failed < size) continue;
    state.sealed[name] = { ...(failed === 0 ? {} : { members: open.done }), node: false };
    delete state.open[name];
    draft.decided = true;
    if (foldsPacksDirectly(layout)) continue;
    state.tasks[workName({ kind: "node", level: 1, index: shard })] = {
      sends: 1,
      atMs: nowMs,
      late: 0,
      since: 1,
    };
    draft.tasks.push({ kind: "combine", level: 1, index: shard, send: 1 });
  }
}

/** Has the result made once everything it folds is there. From the confirmed record on, a cancel is too late. */
export function askForFinish(draft: Draft, nowMs: number): void {
  const { state } = draft;
  if (state.phase !== "computing" || state.paused || draft.ending !== undefined) return;
  const layout = layoutOf(state);
  if (state.cursor < packsOf(layout)) return;
  const sealed = Object.values(state.sealed);
  const ready =
    sealed.length === shardsOf(layout) && (foldsPacksDirectly(layout) || sealed.every((one) => one.node));
  if (!ready) return;
  state.phase = "finishing";
  state.tasks["finish"] = { sends: 1, atMs: nowMs, late: 0, since: 1 };
  draft.tasks.push({ kind: "finish", send: 1 });
  draft.decided = true;
}
