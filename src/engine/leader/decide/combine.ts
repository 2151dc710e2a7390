import { countBits } from "../../model/bitmap.ts";
import { indexesOf, type Layout, packsOf, type Range, shardsOf } from "../../model/packs.ts";
import { askedLevel, nextPrefix, prefixName } from "../../model/prefixes.ts";
import { workName } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import { childrenOf, foldsPacksDirectly, nodeCounts } from "../../model/tree.ts";
import { addTask, type Draft, layoutOf, nodeIn } from "./draft.ts";
import { shardsThatCount } from "./earlyStop.ts";
import { bitsOf } from "./track.ts";

/**
 * Seals every shard of which each pack has its outcome: its member set is fixed from here, and a failed pack that
 * succeeds later is not folded (rule *sealed shards*). With more than one shard it is then combined by a worker.
 */
export function sealShards(draft: Draft): void {
  const { state } = draft;
  if (state.phase !== "computing") return;
  const layout = layoutOf(state);
  const counting = shardsThatCount(state);
  for (const [name, open] of Object.entries(state.open)) {
    const shard = Number(name);
    const { packs, size, done, ...bits } = bitsOf(layout, shard, open);
    if (state.cursor < packs.to || open.recount) continue;
    const failed = countBits(bits.failed);
    if (countBits(done) + failed < size) continue;
    const lost = { ...(failed > 0 && { members: open.done }), ...(open.gaps && { gaps: open.gaps }) };
    state.sealed[name] = { ...lost, gen: state.generation, node: false };
    delete state.open[name];
    draft.decided = true;
    if (!foldsPacksDirectly(layout) && shard < counting) askForNode(draft, 1, shard);
  }
}

/** Has a node above the shards combined once every node that it folds is there. */
export function askForGroups(draft: Draft): void {
  const { state } = draft;
  if (state.phase !== "computing") return;
  for (const { level, index, name, children } of nodesAboveShards(layoutOf(state))) {
    if (name in state.groups || !nodesThere(state, level - 1, children)) continue;
    state.groups[name] = { gen: state.generation, node: false };
    draft.decided = true;
    askForNode(draft, level, index);
  }
}

/**
 * Has the calculation asked about the next prefix, once the answer about the one before is no and its shards have their nodes.
 * Shards beyond it are sealed, and combined when it is their turn: a `merge` that throws there fails no run that stops before.
 */
export function askForStop(draft: Draft): void {
  const { state } = draft;
  const { layout } = state;
  if (state.phase !== "computing" || layout?.stops !== true) return;
  const counting = shardsThatCount(state);
  for (const [name, { node }] of Object.entries(state.sealed)) {
    const isAsked = workName({ kind: "node", level: 1, index: Number(name) }) in state.tasks;
    if (!node && !isAsked && Number(name) < counting) askForNode(draft, 1, Number(name));
  }
  const next = nextPrefix(state);
  if (next === undefined || state.paused || state.keep === true) return;
  const name = prefixName(next.index);
  if (name in state.groups || !nodesThere(state, 1, { from: 0, to: counting })) return;
  state.groups[name] = { gen: state.generation, node: false };
  askForNode(draft, askedLevel, next.index);
}

/** The nodes that fold other nodes, level by level. */
export const nodesAboveShards = (layout: Layout) =>
  nodeCounts(layout).flatMap((count, below) =>
    Array.from({ length: below === 0 ? 0 : count }, (_, index) => {
      const level = below + 1;
      const name = workName({ kind: "node", level, index });
      return { level, index, name, children: childrenOf(layout, level, index) };
    }),
  );

/** Has the result made once everything it folds is there. From the confirmed record on, a cancel is too late. */
export function askForFinish(draft: Draft): void {
  const { state } = draft;
  if (state.phase !== "computing" || state.paused || draft.ending !== undefined) return;
  const layout = layoutOf(state);
  if (state.cursor < packsOf(layout) || Object.keys(state.sealed).length < shardsOf(layout)) return;
  // An answer that is under way counts even where the run is to end with what is done.
  const next = nextPrefix(state);
  if (next !== undefined && (state.keep !== true || prefixName(next.index) in state.groups)) return;
  const counts = nodeCounts(layout);
  if (!nodesThere(state, counts.length, { from: 0, to: counts.at(-1) ?? 0 })) return;
  state.phase = "finishing";
  addTask(draft, "finish");
}

const nodesThere = (state: State, level: number, nodes: Range): boolean =>
  indexesOf(nodes).every((index) => nodeIn(state, level, index)?.node === true);

const askForNode = (draft: Draft, level: number, index: number): void =>
  addTask(draft, workName({ kind: "node", level, index }));
