import type { ToldFailure } from "../../model/failureRecord.ts";
import { limits } from "../../model/limits.ts";
import type { Marker } from "../../model/marker.ts";
import { type Layout, packsOf, packsOfShard, shardOf } from "../../model/packs.ts";
import type { Manifest, Plan, Spec } from "../../model/run.ts";
import type { runBlobs, Work } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { type DecideTime, nodeOf, type RunNotes } from "../decide/draft.ts";
import { isInFullSwing } from "../decide/pace.ts";
import type { PageBudget, Term } from "../term.ts";

/** What one poll found of one run. The decisions see storage only through this. */
export interface Seen {
  readonly spec: Spec;
  readonly marker: Marker;
  readonly plan?: Plan | undefined;
  /** SHA-256 of the plan's bytes, and when they were written, storage's time. */
  readonly planHash?: string | undefined;
  readonly planMs?: number | undefined;
  /** Partials listed, of the shards that were listed. */
  readonly parts: readonly SeenOutput[];
  /** Shards of which every partial there was is in `parts`. */
  readonly shards: ReadonlySet<number>;
  /** Nodes of this generation that are there. */
  readonly nodes: readonly SeenNode[];
  readonly failures: readonly SeenFailure[];
  /** The latest attempts that threw while others of their send are to come. */
  readonly tried: readonly SeenFailure[];
  /** Instances with other code that enqueued work again, when they last said so by storage's time; absent where unlisted. */
  readonly otherCode?: readonly SeenOtherCode[] | undefined;
  /** No list page was left for its open shards. */
  readonly unlisted: boolean;
  readonly manifest?: Manifest | undefined;
}

export interface SeenOtherCode {
  readonly generation: number;
  readonly wanted: string;
  readonly theirs: string | undefined;
  readonly atMs: number;
}

export interface SeenOutput {
  readonly index: number;
  /** Tells how it came about, see `parseOutputFacts`. */
  readonly contentType: string;
}

export interface SeenNode extends SeenOutput {
  readonly level: number;
}

export interface SeenFailure extends ToldFailure {
  readonly work: Work;
  readonly generation: number;
  readonly send: number;
}

/** Neighboring shards that one list call brings: `10 ** digits` of them from `shard` on. */
export interface ShardGroup {
  readonly shard: number;
  readonly digits: number;
}

/** Which calls one poll is worth, given the state. Sealed shards are never listed again. */
export function wantedOf(state: State, notes: RunNotes, { localMs }: DecideTime) {
  const { layout } = state;
  const computing = state.phase === "computing" && layout !== undefined;
  const failuresEveryMs = isInFullSwing(state) ? limits.failuresEverySlowMs : limits.failuresEveryMs;
  return {
    // A layout without a rule may be that of an earlier version. A plan may be there though nobody asked for it, see `trackPlan`.
    plan: layout?.fold === undefined,
    groups: computing ? groupsOf(shardsToList(state, layout), layout.shardSize) : [],
    nodes: computing ? nodesToPoll(state, layout, localMs - notes.nodesMs) : [],
    failures:
      (localMs - notes.failuresMs >= failuresEveryMs || notes.wantsFailures) &&
      (Object.keys(state.tasks).length > 0 || state.inFlight > 0),
    manifest: state.phase === "finishing",
  };
}

/** Nobody waits for a node before the last pack; from so many on, or after so long, one list tells of them all. */
const nodesTogether = 12;
const nodesEveryMs = 10_000;

function nodesToPoll({ tasks, cursor, inFlight }: State, layout: Layout, sinceMs: number) {
  const nodes = Object.keys(tasks).flatMap((name) => nodeOf(name) ?? []);
  const packsOver = cursor >= packsOf(layout) && inFlight === 0;
  return packsOver || nodes.length >= nodesTogether || sinceMs >= nodesEveryMs ? nodes : [];
}

/** Shards that are recounted ahead of the cursor at a time. */
export const recountAhead = 10;

/** Open shards of which something was sent, and those that the cursor comes to next and that must be recounted. */
function shardsToList({ open, cursor }: State, layout: Layout): number[] {
  const next = shardOf(layout, Math.min(cursor, Math.max(0, packsOf(layout) - 1)));
  const isWanted = (shard: number): boolean =>
    (open[shard]?.recount === true && shard < next + recountAhead) ||
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

/** What the steps of one poll share. */
export interface Poll {
  readonly term: Pick<Term, "storage" | "names" | "leader">;
  readonly state: State;
  readonly notes: RunNotes;
  readonly at: ReturnType<typeof runBlobs>;
  readonly pages: PageBudget;
  /** Lists within the budget: whoever calls has taken the first page out of it. */
  list(
    prefix: string,
    options: { readonly metadata: boolean; readonly firstPage?: boolean },
  ): Promise<{ readonly blobs: readonly ListedBlob[]; readonly more: boolean }>;
}
