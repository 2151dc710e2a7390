import { decodeJson } from "../../model/decode.ts";
import type { Marker } from "../../model/marker.ts";
import type { Names } from "../../model/names.ts";
import { shardsOf } from "../../model/packs.ts";
import { manifestSchema, planSchema, type Spec } from "../../model/run.ts";
import { lastNumberOf, resultBlobs, runBlobs } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import type { BlobStore, ListedBlob, Storage } from "../../storage/ports.ts";
import type { QueueStore } from "../../storage/queuePort.ts";
import type { DecideTime } from "../decide/decide.ts";
import type { Memory } from "../decide/draft.ts";
import { listFailures, toldBy } from "./listFailures.ts";
import { type List, type PageBudget, takePages } from "./pageBudget.ts";
import { groupsOf, type Seen, type SeenNode, type SeenOutput, type ShardGroup, wantedOf } from "./seen.ts";

interface Subject {
  readonly spec: Spec;
  readonly state: State;
  readonly marker: Marker;
  readonly time: DecideTime;
  /** List pages for this run's partials at most. */
  readonly pagesMax: number;
}

/**
 * One look at a run: the calls that `wantedOf` finds worth making. The leader reads plans, manifests and lists,
 * never a partial's bytes, so its cost does not grow with what workers compute.
 */
export async function look(
  { blobs, queues }: Pick<Storage, "blobs" | "queues">,
  names: Names,
  { spec, state, marker, time, pagesMax }: Subject,
  memory: Memory,
  budget: PageBudget,
  signal: AbortSignal,
): Promise<Seen> {
  const { nowMs, localMs } = time;
  const wanted = wantedOf(state, memory, time);
  // Failures and nodes first: open shards want every page there is, and wait for both.
  const failuresNow = wanted.failures && takePages(budget, 1) === 1;
  const nodesNow = nodePages(wanted.nodes, budget);
  if (nodesNow && wanted.nodes.length > 0) memory.nodesMs = localMs;
  const groups = turnOf(wanted.groups, memory, budget, pagesMax);
  const at = runBlobs(state.run, state.uid, state.origin);
  const list: List = async (prefix, options) => {
    const all: ListedBlob[] = [];
    let cursor: string | undefined;
    do {
      // The first page was taken out of the budget by whoever asked. Names of a shard fill more only in odd cases.
      if (cursor !== undefined) budget.left -= 1;
      const { metadata } = options;
      const page = await blobs.list(names.runs, prefix, { metadata, cursor, signal });
      all.push(...page.blobs);
      cursor = page.cursor;
    } while (cursor !== undefined && options.firstPage !== true);
    return { blobs: all, more: cursor !== undefined };
  };

  const [plan, manifest, parts, nodes, failures, queued] = await Promise.all([
    wanted.plan ? blobs.read(names.runs, at.plan, { signal }) : undefined,
    wanted.manifest ? readManifest(blobs, names, state, signal) : undefined,
    Promise.all(groups.map(({ shard, digits }) => list(at.partsNear(shard, digits), { metadata: false }))),
    nodesNow ? lookForNodes(blobs, names, state, wanted.nodes, list, signal) : [],
    failuresNow ? listFailures(at, groups, memory, list, budget) : [],
    wanted.queued ? countMessages(queues, names, signal) : undefined,
  ]);
  if (failuresNow) {
    memory.failuresMs = localMs;
    memory.failuresAtMs = nowMs;
  }
  if (wanted.queued) memory.countedMs = localMs;

  const { otherCode, ...told } = toldBy(failures);
  return {
    nowMs,
    spec,
    marker,
    parts: parts.flatMap((one) => one.blobs).flatMap(seenOutput),
    shards: new Set(groups.flatMap((group) => shardsIn(group, state))),
    nodes,
    ...told,
    ...(failuresNow ? { otherCode } : {}),
    unlisted: wanted.groups.length > 0 && groups.length === 0,
    ...(queued === undefined ? {} : { queued }),
    ...(plan?.kind === "found" ? { plan: decodeJson(planSchema, plan.body, at.plan) } : {}),
    ...(manifest === undefined ? {} : { manifest }),
  };
}

/** Where there are more groups than pages, they take turns from one look to the next. */
function turnOf(
  groups: readonly ShardGroup[],
  memory: Memory,
  budget: PageBudget,
  pagesMax: number,
): readonly ShardGroup[] {
  const pages = takePages(budget, Math.min(groups.length, pagesMax));
  const from = groups.length === 0 ? 0 : memory.lookFrom % groups.length;
  memory.lookFrom = from + pages;
  return [...groups.slice(from), ...groups.slice(0, from)].slice(0, pages);
}

/** The manifest of the state's generation, if it is there. */
export async function readManifest(blobs: BlobStore, names: Names, state: State, signal: AbortSignal) {
  const name = resultBlobs(state.run, state.uid).manifest(state.generation);
  const found = await blobs.read(names.results, name, { signal });
  return found.kind === "found" ? decodeJson(manifestSchema, found.body, name) : undefined;
}

/** A list costs as much as a dozen looks at single blobs, and a long run has hundreds of nodes on it. */
const headsAtMost = 4;

type Nodes = readonly { readonly level: number; readonly index: number }[];

const levelsOf = (asked: Nodes): number[] => [...new Set(asked.map(({ level }) => level))];

/** Neighbours joined into few list calls, for each level. */
function nodeGroups(asked: Nodes): readonly (ShardGroup & { readonly level: number })[] {
  return levelsOf(asked).flatMap((level) => {
    const indexes = asked.filter((node) => node.level === level).map(({ index }) => index);
    return groupsOf(indexes, 1).map((group) => ({ ...group, level }));
  });
}

/** Takes the pages that the nodes need; false where there are too few of them in this loop. */
function nodePages(asked: Nodes, budget: PageBudget): boolean {
  if (asked.length <= headsAtMost) return true;
  const pages = nodeGroups(asked).length;
  return budget.left >= pages && takePages(budget, pages) === pages;
}

async function lookForNodes(
  blobs: BlobStore,
  names: Names,
  { run, uid, generation, origin }: State,
  asked: Nodes,
  list: List,
  signal: AbortSignal,
): Promise<SeenNode[]> {
  const at = runBlobs(run, uid, origin);
  if (asked.length <= headsAtMost) {
    const found = await Promise.all(
      asked.map(async ({ level, index }) => {
        const node = await blobs.head(names.runs, at.node(generation, level, index), { signal });
        if (node.kind === "missing") return [];
        return [{ level, index, contentType: node.properties.contentType }];
      }),
    );
    return found.flat();
  }
  const listed = await Promise.all(
    nodeGroups(asked).map(async ({ level, shard, digits }) => {
      const { blobs: nodes } = await list(at.nodesNear(generation, level, shard, digits), {
        metadata: false,
      });
      return nodes.flatMap(seenOutput).map((node) => ({ level, ...node }));
    }),
  );
  return listed.flat();
}

function shardsIn({ shard, digits }: ShardGroup, { layout }: State): number[] {
  const to = layout === undefined ? 0 : Math.min(shard + 10 ** digits, shardsOf(layout));
  return Array.from({ length: Math.max(0, to - shard) }, (_, offset) => shard + offset);
}

function seenOutput(blob: ListedBlob): SeenOutput[] {
  const index = lastNumberOf(blob.name);
  return Number.isSafeInteger(index) ? [{ index, contentType: blob.contentType }] : [];
}

/** All messages that may be this run's, hidden ones included. */
async function countMessages(queues: QueueStore, names: Names, signal: AbortSignal): Promise<number> {
  const counts = await Promise.all(
    [names.packs, names.urgent].map((queue) => queues.stats(queue, { signal })),
  );
  return counts.reduce((sum, one) => sum + (one.kind === "found" ? one.approximateCount : 0), 0);
}
