import { countBits, decodeBitmap } from "../../model/bitmap.ts";
import { packsOf, packsOfShard, shardsOf, sizeOf } from "../../model/packs.ts";
import { workName } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import { childrenOf, foldsPacksDirectly, nodeCounts } from "../../model/tree.ts";
import { addTask, type Draft, layoutOf } from "./draft.ts";

/**
 * Seals every shard of which each pack has its outcome: its member set is fixed from here, and a failed pack that
 * succeeds later is not folded. With more than one shard it is then combined by a worker.
 */
export function sealShards(draft: Draft, nowMs: number): void {
  const { state } = draft;
  if (state.phase !== "computing") return;
  const layout = layoutOf(state);
  for (const [name, open] of Object.entries(state.open)) {
    const shard = Number(name);
    const packs = packsOfShard(layout, shard);
    const size = sizeOf(packs);
    if (state.cursor < packs.to || open.recount) continue;
    const done = decodeBitmap(open.done, size);
    const members = countBits(done);
    const failed = open.failed === undefined ? 0 : countBits(decodeBitmap(open.failed, size));
    if (members + failed < size) continue;
    const gen = state.generation;
    state.sealed[name] = { ...(failed === 0 ? {} : { members: open.done }), gen, node: false };
    delete state.open[name];
    draft.decided = true;
    if (!foldsPacksDirectly(layout)) askForNode(draft, 1, shard, nowMs);
  }
}

/** Has a node above the shards combined once every node that it folds is there. */
export function askForGroups(draft: Draft, nowMs: number): void {
  const { state } = draft;
  if (state.phase !== "computing") return;
  const layout = layoutOf(state);
  for (const [above, count] of nodeCounts(layout).slice(1).entries()) {
    const level = above + 2;
    for (let index = 0; index < count; index += 1) {
      const name = workName({ kind: "node", level, index });
      const { from, to } = childrenOf(layout, level, index);
      if (name in state.groups || !nodesThere(state, level - 1, from, to)) continue;
      state.groups[name] = { gen: state.generation, node: false };
      draft.decided = true;
      askForNode(draft, level, index, nowMs);
    }
  }
}

/** Has the result made once everything it folds is there. From the confirmed record on, a cancel is too late. */
export function askForFinish(draft: Draft, nowMs: number): void {
  const { state } = draft;
  if (state.phase !== "computing" || state.paused || draft.ending !== undefined) return;
  const layout = layoutOf(state);
  if (state.cursor < packsOf(layout) || Object.keys(state.sealed).length < shardsOf(layout)) return;
  const counts = nodeCounts(layout);
  if (!nodesThere(state, counts.length, 0, counts.at(-1) ?? 0)) return;
  state.phase = "finishing";
  addTask(draft, "finish", nowMs);
}

function nodesThere(state: State, level: number, from: number, to: number): boolean {
  for (let index = from; index < to; index += 1) {
    const node = level === 1 ? state.sealed[index] : state.groups[workName({ kind: "node", level, index })];
    if (node?.node !== true) return false;
  }
  return true;
}

const askForNode = (draft: Draft, level: number, index: number, nowMs: number): void =>
  addTask(draft, workName({ kind: "node", level, index }), nowMs);
