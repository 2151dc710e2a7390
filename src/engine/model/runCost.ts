import { addCalls, type CallCounts, calls, noCalls, scaleCalls } from "./calls.ts";
import type { InstanceUse } from "./cost.ts";
import { limits } from "./limits.ts";
import { type Layout, packsOf, packsOfShard, sizeOf } from "./packs.ts";
import { prefixesOf } from "./prefixes.ts";
import { flexBilling } from "./prices.ts";
import type { State } from "./state.ts";
import { foldsPacksDirectly, nodeCounts } from "./tree.ts";

/**
 * What a run costs, by one formula for plan and bill: from its packs and loops, and from durations, expected ones for a plan and
 * measured ones for a bill. `test/sim/engine/bill.test.ts` compares it with what was called and what Flex Consumption would count.
 *
 * Not included: what a calculation reads of its own files, which `plan` adds by its samples.
 */

/** The properties of a run that its duration and its cost depend on. */
export interface RunShape {
  readonly layout: Layout;
  /** Packs that were computed until now, and whether the run is complete, without gaps; by default all of them. */
  readonly done?: { readonly packs: number; readonly complete: boolean; readonly whole: boolean };
  /** Attempts at packs that ended without an output, and their time together. */
  readonly wasted?: State["wasted"];
  /** Packs that were sent and have no outcome yet, or never get one. */
  readonly inFlight?: number;
  readonly packMs: number;
  /** Time of planning, samples included. */
  readonly planMs: number;
  /** Segments that hold the inputs of a listed plan; 0 if the plan is a count. */
  readonly segments: number;
  /** Packs computed at once, over all instances; a mean. */
  readonly workers: number;
  /** Worker threads of one instance, which share what it has read. */
  readonly threads: number;
  /** From submit to result, or for how long the run was led. */
  readonly durationMs: number;
  /** Polls of its leaders, where they were counted. */
  readonly polls?: number;
}

/** One storage call as seen from the same region. An assumption: the service promises none (10 to 60 ms are usual). */
const callMs = 30;

/** Time that a pack occupies its thread besides computing: its message is got and deleted, its partial is written. */
export const packOwnMs = 3 * callMs;

/** A leader is elected and sends the plan; the last partials are listed, combined and finished. */
const beginMs = 1_500;
const endMs = 2_000;

/**
 * Estimates the duration of a run, from submit to result, on warm workers and for packs that are all alike. Not included:
 * start-up of instances, packs of unequal weight, other work of the workers.
 */
export function expectedMs({
  layout,
  packMs,
  planMs,
  workers,
}: Omit<RunShape, "durationMs" | "segments" | "threads">): number {
  const packs = packsOf(layout);
  const rounds = Math.ceil(packs / workers);
  const computingMs = Math.max(rounds * (packMs + packOwnMs), (packs * callMs) / limits.sendsAtOnce);
  return beginMs + planMs + (packs === 0 ? 0 : computingMs) + endMs;
}

/**
 * Calls of leading, whatever the size of the run: each minute, and once for the term, the fast polls of a young run, its last
 * packs and its end. Measured in simulated runs at the default settings; `cost.test.ts` compares them.
 */
const timedPerMinute: CallCounts = calls({ write: 29, other: 74, queue: 45 });
const leadingOnce: CallCounts = calls({ write: 3, read: 15, other: 5, queue: 12, delete: 1 });
/** Lists of markers, partials, records and heartbeats in each poll, and how often a leader polls: where work is waited for, more often. */
const perPoll: CallCounts = calls({ list: 2.6 });
const [pollsPerMinute, pollsOnce] = [32, 7];
export const leadingPerMinute: CallCounts = addCalls(timedPerMinute, scaleCalls(perPoll, pollsPerMinute));

/**
 * Packs that last longer are in the heartbeat of their instance, measured in the same way: what the leader reads of heartbeats each minute,
 * and the writes of an instance each minute and for each pack.
 */
const heartbeatFromMs = limits.heartbeatAfterMsMax;
const readingHeartbeats: CallCounts = calls({ queue: 17 });
const pollsForHeartbeats = 5;
const heartbeatPerMinute: CallCounts = calls({ other: 7.5 });
const heartbeatPerPack: CallCounts = calls({ write: 0.45, other: 0.5, delete: 0.45 });

/** Enqueue, dequeue and delete. */
const message = calls({ queue: 3 });

/** The partial of a pack, and its free delete at the end. */
const partial = calls({ write: 1, delete: 1 });
export const perPack: CallCounts = addCalls(message, partial);

const allOf = ({ layout }: Pick<RunShape, "layout">) => ({
  packs: packsOf(layout),
  complete: true,
  whole: true,
});

/** A message, and its record or the note that it is tried again; work that is sent again is looked for first. */
const wastedAttempt = addCalls(message, calls({ write: 1, other: 1 }));

/**
 * Estimates the storage calls of a run by billing class.
 *
 * Exact for a run without failures and resends: plan, packs, nodes, finish and clean-up. Estimates: `reads`,
 * which depend on how packs coincide, `leading` and `heartbeats`. Partials count as small enough for
 * metadata; a larger one costs one more read. Not included: the polls of empty queues by the Functions host, which it makes
 * without a run too.
 */
export function estimateCalls(shape: RunShape) {
  const { layout, segments, wasted, done = allOf(shape) } = shape;
  const parts = {
    // Spec and marker, and two wakes.
    submit: addCalls(calls({ write: 2 }), scaleCalls(message, 2)),
    plan: addCalls(message, calls({ write: 1 + segments })),
    packs: packs(shape),
    wasted: scaleCalls(wastedAttempt, wasted?.attempts ?? 0),
    reads: workerReads(shape),
    nodes: done.complete ? nodes(layout) : noCalls,
    finish: done.complete ? finish(layout) : noCalls,
    cleanUp: done.whole ? cleanUp(layout) : noCalls,
    // The run's summary for lists.
    close: calls({ write: 1 }),
    leading: leading(shape),
    heartbeats: heartbeats(shape),
  };
  return { ...parts, total: Object.values(parts).reduce(addCalls, noCalls) };
}

/**
 * Estimates what the run uses of instances of so much memory, as Flex Consumption counts it: those that compute while all their
 * threads are busy, one that plans and folds, and the one that leads. Not included: the clean-up.
 */
export function estimateUse(shape: RunShape, memoryMb: number): InstanceUse {
  const { layout, packMs, planMs, workers, threads, durationMs, wasted, done = allOf(shape) } = shape;
  const { leastMs, stepMs } = flexBilling;
  const attempts = done.packs + (wasted?.attempts ?? 0);
  const instances = instancesOf(attempts, { workers, threads });
  const busy = Math.max(1, Math.min(threads, workers, attempts));
  const threadMs = done.packs * packMs + (wasted?.ms ?? 0) + attempts * packOwnMs;
  const computingMs = Math.max(threadMs / busy, attempts === 0 ? 0 : instances * leastMs);
  const folds = done.complete ? nodes(layout).queue / message.queue : 0;
  const tasksMs = Math.max(planMs, leastMs) + leastMs + folds * stepMs;
  const executions =
    (packs(shape).queue + (wasted?.attempts ?? 0) * message.queue) / message.queue + folds + 2;
  const mbMs = (computingMs + tasksMs + Math.max(durationMs, leastMs)) * memoryMb;
  return { mbMs: Math.round(mbMs), executions: Math.round(executions) };
}

const packs = ({ layout, inFlight = 0, done = allOf({ layout }) }: RunShape): CallCounts =>
  addCalls(scaleCalls(perPack, done.packs), scaleCalls(message, inFlight));

/**
 * Reads of the marker, and of the documents that each instance reads once. An instance reads the marker again with the
 * first pack that begins or ends `markerTrustMs` after the last read, on average half an interval later; so short packs
 * share a read. While longer ones compute, it reads the marker every `wantedEveryMs` for all of them.
 */
function workerReads(shape: RunShape): CallCounts {
  const { packMs, segments, workers, threads, durationMs, done = allOf(shape) } = shape;
  const { packs } = done;
  const instances = instancesOf(packs, { workers, threads });
  const betweenMs = (packMs + packOwnMs) / threads;
  const shared = (packs * betweenMs) / (limits.markerTrustMs + betweenMs / 2);
  const polled = (packs * betweenMs) / limits.wantedEveryMs;
  const most = (instances * durationMs) / limits.markerTrustMs;
  const heads = packMs > limits.wantedEveryMs ? polled : Math.min(shared, most);
  // Spec and plan, and the segments: all of them if packs are many.
  const read = 2 * instances + Math.min(segments * instances, packs);
  return calls({ other: Math.round(heads), read: Math.round(read) });
}

function leading({ packMs, durationMs, polls }: RunShape): CallCounts {
  const minutes = durationMs / 60_000;
  const hasHeartbeat = packMs > heartbeatFromMs;
  const perMinute = hasHeartbeat ? addCalls(timedPerMinute, readingHeartbeats) : timedPerMinute;
  const pollsExpected = pollsOnce + minutes * (pollsPerMinute + (hasHeartbeat ? pollsForHeartbeats : 0));
  return [leadingOnce, scaleCalls(perMinute, minutes), scaleCalls(perPoll, polls ?? pollsExpected)].reduce(
    addCalls,
  );
}

function heartbeats(shape: RunShape): CallCounts {
  const { packMs, workers, threads, durationMs, done = allOf(shape) } = shape;
  const { packs } = done;
  if (packMs <= heartbeatFromMs) return noCalls;
  const minutes = (instancesOf(packs, { workers, threads }) * durationMs) / 60_000;
  return addCalls(scaleCalls(heartbeatPerMinute, minutes), scaleCalls(heartbeatPerPack, packs));
}

const instancesOf = (packs: number, { workers, threads }: Pick<RunShape, "workers" | "threads">): number =>
  Math.min(Math.ceil(workers / threads), Math.max(packs, 1));

/**
 * A combine lists its children and writes its node, for shards also the hashes; the leader checks for the node. Of a run that
 * may stop each prefix is a node, and all are counted.
 */
function nodes(layout: Layout): CallCounts {
  const [shards = 0, ...above] = nodeCounts(layout);
  const prefixes = layout.stops === true ? prefixesOf(layout.chunks).length : 0;
  const higher = above.reduce((sum, count) => sum + count, prefixes);
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
