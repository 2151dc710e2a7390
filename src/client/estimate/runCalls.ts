import { addCalls, type CallCounts, calls, noCalls, scaleCalls } from "../../model/calls.ts";
import { limits } from "../../model/limits.ts";
import { type Layout, packsOf, packsOfShard, packsPerMessage, sizeOf } from "../../model/packs.ts";
import { foldsPacksDirectly, nodeCounts } from "../../model/tree.ts";
import { type LeadingPace, leadingCalls, packOwnMs, type RunShape } from "./leadingCalls.ts";

/** Enqueue, dequeue and delete. */
const message = calls({ queue: 3 });

/** The partial of a pack, and its free delete at the end. */
const partial = calls({ write: 1, delete: 1 });
/** A pack in a message of its own. */
export const perPack: CallCounts = addCalls(message, partial);

/**
 * Estimates the storage calls of a run by billing class.
 *
 * Exact for a run without failures, resends and stragglers: plan, packs, nodes, finish and clean-up. Estimates: `reads`,
 * which depend on how packs coincide, `leading`, and messages that short packs share. Partials count as small enough for
 * metadata; a larger one costs one more read. Not included: the polls of empty queues by the Functions host, which it makes
 * without a run too.
 */
export function estimateCalls(shape: RunShape, pace: LeadingPace) {
  const parts = {
    // Spec and marker, and two wakes.
    submit: addCalls(calls({ write: 2 }), scaleCalls(message, 2)),
    plan: addCalls(message, calls({ write: 1 + shape.segments })),
    packs: packs(shape),
    reads: workerReads(shape),
    nodes: nodes(shape.layout),
    finish: finish(shape.layout),
    cleanUp: cleanUp(shape.layout),
    // The run's summary for lists.
    close: calls({ write: 1 }),
    leading: leadingCalls(shape, pace),
  };
  return { ...parts, total: Object.values(parts).reduce(addCalls, noCalls) };
}

/** Packs that are sent after the first window, when it is known how long they take, share messages if they are short. */
function packs({ layout, packMs }: RunShape): CallCounts {
  const all = packsOf(layout);
  const known = Math.max(all - limits.windowFirst, 0);
  const messages = all - known + Math.ceil(known / packsPerMessage(packMs, known));
  return addCalls(scaleCalls(message, messages), scaleCalls(partial, all));
}

/**
 * Reads of the marker, and of the documents that each instance reads once. An instance reads the marker again with the
 * first pack that begins or ends `markerTrustMs` after the last read, on average half an interval later; so short packs
 * share a read. While longer ones compute, it reads the marker every `wantedEveryMs` for all of them.
 */
function workerReads({ layout, packMs, segments, workers, threads, durationMs }: RunShape): CallCounts {
  const packs = packsOf(layout);
  const instances = Math.min(Math.ceil(workers / threads), Math.max(packs, 1));
  const betweenMs = (packMs + packOwnMs) / threads;
  const shared = (packs * betweenMs) / (limits.markerTrustMs + betweenMs / 2);
  const polled = (packs * betweenMs) / limits.wantedEveryMs;
  const most = (instances * durationMs) / limits.markerTrustMs;
  const heads = packMs > limits.wantedEveryMs ? polled : Math.min(shared, most);
  // Spec and plan, and the segments: all of them if packs are many.
  const read = 2 * instances + Math.min(segments * instances, packs);
  return calls({ other: Math.round(heads), read: Math.round(read) });
}

/** A combine lists its children and writes its node, for shards also the hashes; the leader checks for the node. */
function nodes(layout: Layout): CallCounts {
  const [shards = 0, ...above] = nodeCounts(layout);
  const higher = above.reduce((sum, count) => sum + count, 0);
  const each = addCalls(message, calls({ write: 1, other: 1 }));
  const list = shards * pagesOf(layout.shardSize) + higher * pagesOf(layout.fanIn);
  return addCalls(scaleCalls(each, shards + higher), calls({ write: shards, list }));
}

/** A finish lists what it folds and writes the result and its manifest; hashes too if it folds the packs themselves. */
function finish(layout: Layout): CallCounts {
  const packs = packsOf(layout);
  const direct = foldsPacksDirectly(layout);
  const folded = direct ? packs : (nodeCounts(layout).at(-1) ?? 0);
  const hashes = direct && packs > 0 ? 1 : 0;
  return addCalls(message, calls({ write: 2 + hashes, list: packs === 0 ? 0 : pagesOf(folded) }));
}

/** One message for each shard and one for all nodes. Deletes are free, the requests that carry them are not. */
function cleanUp(layout: Layout): CallCounts {
  const each = addCalls(message, calls({ read: 1 }));
  const removal = (blobs: number): CallCounts =>
    addCalls(each, calls({ list: pagesOf(blobs), other: Math.ceil(blobs / limits.blobBatchMax) }));
  const ofNodes = nodeCounts(layout).reduce((sum, count) => sum + count, 0);
  const shards = Math.ceil(packsOf(layout) / layout.shardSize);
  let all = ofNodes === 0 ? noCalls : addCalls(removal(ofNodes), calls({ delete: ofNodes }));
  for (let shard = 0; shard < shards; shard += 1)
    all = addCalls(all, removal(sizeOf(packsOfShard(layout, shard))));
  return all;
}

const pagesOf = (blobs: number): number => Math.max(1, Math.ceil(blobs / limits.listPageMax));

/**
 * Calls of the naive shape: one message and one blob for each chunk, and a leader that lists and reads them all. A call
 * gets sixteen messages, which is the host's default.
 */
export const naiveCalls = (chunks: number): CallCounts =>
  calls({ queue: chunks * (2 + 1 / 16), write: chunks, list: pagesOf(chunks), read: chunks });
