import { addCalls, type CallCounts, calls, noCalls, scaleCalls } from "../../model/calls.ts";
import { limits } from "../../model/limits.ts";
import { type Layout, packsOf, packsOfShard, sizeOf } from "../../model/packs.ts";
import { foldsPacksDirectly, nodeCounts } from "../../model/tree.ts";
import { packOwnMs } from "./expectedTime.ts";
import { type LeadingPace, leadingCalls } from "./leadingCalls.ts";

/**
 * The storage calls of a run by billing class, before it runs.
 *
 * Exact, for a run in which nothing fails, is sent twice or is late: what packs, nodes and finish cost. An
 * estimate: how often workers look at the marker and read plan segments, which depends on how packs fall together,
 * and what leading costs, which is so much a minute and a little at its beginning and end. Partials count as small
 * enough to ride in metadata; a larger one costs one read more.
 *
 * Not counted: the polls of empty queues by the Functions host, which it makes whether a run works or not.
 */
export interface RunShape {
  readonly layout: Layout;
  readonly packMs: number;
  /** Planning itself, samples included. */
  readonly planMs: number;
  /** Segments that hold the inputs of a listed plan; 0 where the plan is a count. */
  readonly segments: number;
  /** Packs computed at the same moment, over all instances. */
  readonly workers: number;
  /** Worker threads of one instance, which share what it has read. */
  readonly threads: number;
  /** From submit to result. */
  readonly durationMs: number;
}

export interface RunCost {
  readonly submit: CallCounts;
  readonly plan: CallCounts;
  /** Messages, partials and the clean-up of both: `perPack` for each. */
  readonly packs: CallCounts;
  /** Looks at the marker, and documents that each instance reads once. */
  readonly looks: CallCounts;
  readonly nodes: CallCounts;
  readonly finish: CallCounts;
  readonly cleanUp: CallCounts;
  readonly leading: CallCounts;
  readonly total: CallCounts;
}

/** Put, get and delete. */
const message = calls({ queue: 3 });

/** Its message, its partial, and the free delete of the partial at the end. */
export const perPack: CallCounts = addCalls(message, calls({ write: 1, delete: 1 }));

export function costOfRun(shape: RunShape, pace: LeadingPace): RunCost {
  const parts = {
    // Spec and marker, and a wake at once and one a little later.
    submit: addCalls(calls({ write: 2 }), scaleCalls(message, 2)),
    plan: addCalls(message, calls({ write: 1 + shape.segments })),
    packs: scaleCalls(perPack, packsOf(shape.layout)),
    looks: looks(shape),
    nodes: nodes(shape.layout),
    finish: finish(shape.layout),
    cleanUp: cleanUp(shape.layout),
    leading: leadingCalls(shape, pace),
  };
  return { ...parts, total: Object.values(parts).reduce(addCalls, noCalls) };
}

/**
 * An instance trusts what it read of the marker for five seconds and reads it again with the next pack that begins or
 * ends, which on average comes half an interval later. So short packs share a read. While longer ones compute, it reads
 * the marker every `wantedEveryMs` for all of them together.
 */
function looks({ layout, packMs, segments, workers, threads, durationMs }: RunShape): CallCounts {
  const packs = packsOf(layout);
  const instances = Math.min(Math.ceil(workers / threads), Math.max(packs, 1));
  const betweenMs = (packMs + packOwnMs) / threads;
  const shared = (packs * betweenMs) / (limits.markerTrustMs + betweenMs / 2);
  const polled = (packs * betweenMs) / limits.wantedEveryMs;
  const most = (instances * durationMs) / limits.markerTrustMs;
  const heads = packMs > limits.wantedEveryMs ? polled : Math.min(shared, most);
  // Spec and plan; and each segment that an instance meets, which is every one where packs are many.
  const read = 2 * instances + Math.min(segments * instances, packs);
  return calls({ other: Math.round(heads), read: Math.round(read) });
}

/** A combine reads its children by lists, writes its node and, above packs, their hashes; the leader looks for the node. */
function nodes(layout: Layout): CallCounts {
  const [shards = 0, ...above] = nodeCounts(layout);
  const higher = above.reduce((sum, count) => sum + count, 0);
  const each = addCalls(message, calls({ write: 1, other: 1 }));
  return [
    scaleCalls(each, shards + higher),
    calls({ write: shards, list: shards * pagesOf(layout.shardSize) + higher * pagesOf(layout.fanIn) }),
  ].reduce(addCalls, noCalls);
}

/** The list of what it folds, the hashes where that is the packs themselves, the result and its manifest. */
function finish(layout: Layout): CallCounts {
  const packs = packsOf(layout);
  const folded = foldsPacksDirectly(layout) ? packs : (nodeCounts(layout).at(-1) ?? 0);
  const hashes = foldsPacksDirectly(layout) && packs > 0 ? 1 : 0;
  return addCalls(message, calls({ write: 2 + hashes, list: packs === 0 ? 0 : pagesOf(folded) }));
}

/** One message for each shard and one for all nodes; deletes are free, the requests that carry them are not. */
function cleanUp(layout: Layout): CallCounts {
  const shards = Math.ceil(packsOf(layout) / layout.shardSize);
  const each = addCalls(message, calls({ read: 1 }));
  const removal = (blobs: number): CallCounts =>
    calls({ list: pagesOf(blobs), other: Math.ceil(blobs / limits.blobBatchMax) });
  const ofNodes = nodeCounts(layout).reduce((sum, count) => sum + count, 0);
  let all = noCalls;
  for (let shard = 0; shard < shards; shard += 1) {
    all = addCalls(all, addCalls(each, removal(sizeOf(packsOfShard(layout, shard)))));
  }
  if (ofNodes === 0) return all;
  return [all, each, removal(ofNodes), calls({ delete: ofNodes })].reduce(addCalls, noCalls);
}

const pagesOf = (blobs: number): number => Math.max(1, Math.ceil(blobs / limits.listPageMax));

/**
 * The same work in the naive shape: one message and one blob for each chunk, and a leader that lists and reads them
 * all. Messages are got sixteen at a time, which is the host's default.
 */
export const naiveCalls = (chunks: number): CallCounts =>
  calls({
    queue: chunks * (2 + 1 / 16),
    write: chunks,
    list: pagesOf(chunks),
    read: chunks,
  });
