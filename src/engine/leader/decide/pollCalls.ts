import { limits } from "../../model/limits.ts";
import { type Layout, packsOf, packsOfShard, shardOf } from "../../model/packs.ts";
import { parseWorkName } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import type { DecideTime, Known } from "../notes.ts";
import type { NodeGroup, NodeName, PollCalls, ShardGroup } from "../seen.ts";
import { isIdle, isInFullSwing } from "./pace.ts";

/** Which calls one poll is worth, given the state. Sealed shards are never listed again. */
export function pollCallsOf(
  { working: state, notes, lists }: Omit<Known, "sendNotes">,
  { localMs }: Pick<DecideTime, "localMs">,
): PollCalls {
  const { layout } = state;
  const computing = state.phase === "computing" && layout !== undefined;
  const slowly = isInFullSwing(state) || isIdle(notes, localMs);
  const failuresEveryMs = slowly ? limits.failuresEverySlowMs : limits.failuresEveryMs;
  const isAtWork = Object.keys(state.tasks).length > 0 || state.inFlight > 0;
  const nodes = computing ? nodesToPoll(state, layout, localMs - lists.nodesMs) : [];
  const listed = nodes.length > headsAtMost;
  return {
    // A plan may be there though nobody asked for it, see `trackPlan`.
    plan: layout === undefined,
    groups: computing ? groupsOf(shardsToList(state, layout), layout.shardSize) : [],
    nodes: listed ? [] : nodes,
    nodeGroups: listed ? nodeGroupsOf(nodes) : [],
    failures: notes.listFailures || (isAtWork && localMs - lists.failuresMs >= failuresEveryMs),
    manifest: state.phase === "finishing",
  };
}

/** A list costs as much as a dozen heads, and a long run has hundreds of nodes on it. */
const headsAtMost = 4;

/** Nobody waits for a node before the last pack; from so many on, or after so long, one list tells of them all. */
const nodesTogether = 12;
const nodesEveryMs = 10_000;

/** A run that may stop waits for each. */
function nodesToPoll({ tasks, cursor, inFlight }: State, layout: Layout, sinceMs: number): NodeName[] {
  const nodes = Object.keys(tasks).flatMap((name) => {
    const work = parseWorkName(name);
    return work?.kind === "node" ? work : [];
  });
  const packsOver = cursor >= packsOf(layout) && inFlight === 0;
  return packsOver || layout.stops === true || nodes.length >= nodesTogether || sinceMs >= nodesEveryMs
    ? nodes
    : [];
}

/** Open shards of which something was sent, and those that the cursor comes to next and that must be recounted. */
function shardsToList({ open, cursor }: State, layout: Layout): number[] {
  const next = shardOf(layout, Math.min(cursor, Math.max(0, packsOf(layout) - 1)));
  const isWanted = (shard: number): boolean =>
    (open[shard]?.recount === true && shard < next + limits.recountAhead) ||
    packsOfShard(layout, shard).from < cursor;
  const shards = Object.keys(open).map(Number);
  return shards.filter(isWanted).sort((a, b) => a - b);
}

/** So few calls that joining more saves less than the names of sealed shards cost to read. */
const groupsWanted = 2;

/**
 * Joins neighbors while there are more than two calls to make, because a list is paid by the page: names are sorted
 * as text, so the shards 00010 to 00019 share the prefix `0001`. But no more than about fit on a page, which also brings
 * the names of sealed shards beside.
 */
export function groupsOf(shards: readonly number[], shardSize: number): ShardGroup[] {
  let groups = shards.map((shard) => ({ shard, digits: 0 }));
  for (let digits = 1; groups.length > groupsWanted && digits <= 4; digits += 1) {
    const width = 10 ** digits;
    if (shardSize * width > limits.namesTogetherMax) break;
    const firsts = new Set(shards.map((shard) => Math.floor(shard / width) * width));
    groups = [...firsts].map((shard) => ({ shard, digits }));
  }
  return groups;
}

/** Neighbors joined into few list calls, for each level. */
function nodeGroupsOf(nodes: readonly NodeName[]): NodeGroup[] {
  const levels = Map.groupBy(nodes, ({ level }) => level);
  return [...levels].flatMap(([level, all]) =>
    groupsOf(
      all.map(({ index }) => index),
      1,
    ).map((group) => ({ ...group, level })),
  );
}
