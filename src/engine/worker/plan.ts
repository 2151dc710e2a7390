import {
  type ChunkRange,
  keepSamples,
  type PlannedChunks,
  roundsFor,
  type Samples,
  sampleLimitMs,
  timeChunks,
} from "../calculation/timeChunks.ts";
import { isUnreadable } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import type { MessageOf } from "../model/message.ts";
import {
  dependsOnWorkers,
  packSizeAtOnce,
  packSizeFor,
  reusablePackSize,
  shardSizeFor,
} from "../model/packs.ts";
import { stoppingLayout, stoppingPackSize } from "../model/prefixes.ts";
import type { Plan, Spec } from "../model/run.ts";
import { runBlobs } from "../model/runBlobs.ts";
import { documentHash } from "../model/storedSpec.ts";
import { versions } from "../model/versions.ts";
import { liveThreads } from "../storage/liveThreads.ts";
import { checkParams } from "./compute.ts";
import { stillWanted, taskOptions } from "./markerWatch.ts";
import { type Attempt, StorageLostError, type WorkerPorts } from "./ports.ts";
import type { InputSink } from "./threads/userCode.ts";

const json = { contentType: "application/json" };

/**
 * Plans a run: lists its chunks (inputs go to segments under this attempt's own name), times a few of them and fixes how
 * many make a pack. `plan.json` is create-only and names the one attempt whose segments count, so that a plan that lists
 * a changing folder is never mixed from two.
 */
export async function planRun(ports: WorkerPorts, attempt: Attempt<MessageOf<"plan">>): Promise<string> {
  const { message, tag } = attempt;
  const { run, uid } = message;
  const spec = await ports.documents.spec(message);
  checkParams(ports, spec);
  const { blobs } = ports.storage;
  const { runs } = ports.names;
  const at = runBlobs(run, uid);
  const segments = { starts: [] as number[], sha256: [] as string[] };
  const samples: Samples = new Map();
  let from = 0;

  const { calculation } = spec;
  const before = await planBefore(ports, attempt, spec);
  const known = before && before.packMs / before.packSize;
  const { planned, chunkMs } = await planAndTime(ports, attempt, { spec, samples, known }, async (inputs) => {
    // A plan may take long: what it writes after a deletion would stay forever.
    await stillWanted(ports, message, "write");
    const body = JSON.stringify({ v: versions.segment, from, inputs });
    await blobs.create(runs, at.segment(tag, segments.starts.length), body, json);
    segments.starts.push(from);
    segments.sha256.push(documentHash(body));
    keepSamples(samples, from, inputs);
    from += inputs.length;
  });
  const workers = await workersFor(ports, spec, planned.chunks * chunkMs);
  const size = spec.packSize ?? before?.packSize ?? sizeFor(planned, chunkMs, spec, attempt, workers);
  const packSize = planned.stops ? stoppingPackSize(planned.chunks, size) : size;
  const packs = Math.ceil(planned.chunks / packSize);
  const plan: Plan = {
    v: versions.plan,
    run,
    uid,
    code: ports.versionOf(calculation),
    spec: spec.sha256,
    ...stoppingLayout({
      ...{ chunks: planned.chunks, packSize, fanIn: ports.tree.fanIn, stops: planned.stops },
      shardSize: shardSizeFor(packs, ports.tree),
    }),
    packMs: chunkMs * packSize,
    instance: ports.instance,
    ...(workers === undefined ? {} : { workers }),
    ...(planned.atOnce === undefined ? {} : { atOnce: planned.atOnce }),
    ...(planned.list ? { segments: { attempt: tag, ...segments } } : {}),
    ...(planned.byInput ? { byInput: true } : {}),
  };
  await stillWanted(ports, message, "write");
  return (await blobs.create(runs, at.plan, JSON.stringify(plan), json)).kind;
}

function sizeFor(
  { chunks, atOnce }: PlannedChunks,
  chunkMs: number,
  { keepPartials }: Spec,
  { limitMs }: Attempt,
  workers?: number,
): number {
  const size = packSizeAtOnce(chunks, packSizeFor(chunks, chunkMs, limitMs, workers), atOnce);
  return keepPartials === undefined ? size : reusablePackSize(chunks, size);
}

/** Packs at once that the user expects, or else the threads that are seen at work, where so many could make packs smaller. */
async function workersFor(
  { storage, names }: WorkerPorts,
  { workers, packSize }: Spec,
  totalMs: number,
): Promise<number | undefined> {
  if (workers !== undefined || packSize !== undefined) return workers;
  if (!dependsOnWorkers(totalMs)) return undefined;
  // Only a hint: what storage does not tell now is no reason to plan again.
  const { threads } = await liveThreads(storage, names).catch(() => ({ threads: 0 }));
  return threads === 0 ? undefined : threads;
}

/** The plan of the run that is reused, whose packs keep their size; none where packs of that size would be too long here. */
async function planBefore(
  { documents }: WorkerPorts,
  { limitMs }: Attempt,
  { reuse, packSize }: Spec,
): Promise<Plan | undefined> {
  if (reuse === undefined) return undefined;
  try {
    const plan = await documents.plan({ run: reuse.run, uid: reuse.uid });
    return packSize === undefined && plan.packMs > limitMs * limits.packLimitShare ? undefined : plan;
  } catch (error) {
    if (error instanceof StorageLostError || isUnreadable(error)) return undefined;
    throw error;
  }
}

interface Planning {
  readonly spec: Spec;
  readonly samples: Samples;
  /** Time of a chunk in ms by the earlier plan: then none is timed. */
  readonly known: number | undefined;
}

/** Runs `plan` and the samples on a thread that it holds: each of them would otherwise wait behind packs of other runs. */
async function planAndTime(
  ports: WorkerPorts,
  attempt: Attempt,
  { spec: { calculation, params, packSize }, samples, known }: Planning,
  sink: InputSink,
): Promise<{ readonly planned: PlannedChunks; readonly chunkMs: number }> {
  const { userCode } = ports;
  const options = { ...taskOptions(ports, attempt), held: true };
  const limitMs = Math.min(attempt.limitMs, sampleLimitMs);
  // What a sample prints is printed again when its chunk is computed.
  const sampleOptions = { ...options, limitMs, onPrint: undefined };
  const leave = await userCode.hold(options);
  try {
    const planned = await userCode.plan({ calculation, params }, sink, options);
    const compute = (chunk: ChunkRange) => userCode.compute({ calculation, params, ...chunk }, sampleOptions);
    // A chunk that ends its process may be tolerated, so it must not end that of the plan for the third time.
    const chunkMs =
      known ??
      (attempt.isolated
        ? limits.packMsMin
        : await timeChunks(planned, samples, compute, roundsFor(packSize)));
    return { planned, chunkMs };
  } finally {
    leave();
  }
}
