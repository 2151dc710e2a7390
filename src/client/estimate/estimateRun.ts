import type { Calculations } from "../../calculations/registry.ts";
import {
  keepSamples,
  type PlannedChunks,
  type SampleChunk,
  type Samples,
  sampleLimitMs,
  timeChunks,
} from "../../calculations/timeChunks.ts";
import { addCalls, billedCalls, type CallCounts, dollarsOf, roundCalls } from "../../model/calls.ts";
import { CalculationError, InputError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { type Layout, packSizeFor, packsOf, shardSizeFor, shardsOf } from "../../model/packs.ts";
import type { Settings } from "../../model/settings.ts";
import type { Clock } from "../../storage/ports.ts";
import { clientLimits } from "../client.ts";
import { checkRequest, type RunRequest } from "../runRequest.ts";
import { costOfRun, naiveCalls, perPack } from "./cost.ts";
import { expectedMs } from "./expectedTime.ts";
import { addUse, callsOf, type FileUse, scaleUse } from "./fileUse.ts";
import { leadingPace, leadingPerMinute } from "./leadingCalls.ts";

/** Runs a calculation's own code somewhere; a worker's thread pool does it as well here as there. */
export interface PlanningCode {
  plan(
    job: { readonly calculation: string; readonly params: unknown },
    sink: (inputs: readonly unknown[]) => Promise<void>,
    task: PlanningTask,
  ): Promise<PlannedChunks>;
  compute(
    job: { readonly calculation: string; readonly params: unknown } & SampleChunk,
    task: PlanningTask,
  ): Promise<{ readonly ms: number }>;
}
interface PlanningTask {
  readonly urgent: boolean;
  readonly limitMs: number;
}

/** What a run would be, take and cost. */
export interface RunEstimate {
  readonly calculation: string;
  readonly params: unknown;
  readonly chunks: number;
  readonly packs: number;
  readonly packSize: number;
  readonly shards: number;
  /** As measured here, on one thread; of no meaning where `failed` is there. */
  readonly chunkMs: number;
  readonly packMs: number;
  readonly computeS: number;
  /** Why the first of the timed chunks failed, where one did: a run of these parameters would, too. */
  readonly failed?: string;
  /** Packs computed at once, which the expected time stands on. */
  readonly workers: number;
  readonly expectedS: number;
  /** What the calculation reads of its own files; part of the calls and dollars below. */
  readonly files: {
    /** As counted here, with the chunks that were timed: a planning worker times as many. */
    readonly planning: FileUse;
    /** Of all chunks, an estimate: as those that were timed. */
    readonly computing: FileUse;
  };
  readonly calls: {
    readonly total: CallCounts;
    /** Calls that cost anything, which are all but deletes. */
    readonly billed: number;
    /** Exact where nothing fails or is sent again. */
    readonly perPack: CallCounts;
    /** Of leading, an estimate. */
    readonly perMinute: CallCounts;
    readonly perChunk: number;
  };
  /** Storage at list price; compute is not in it. */
  readonly dollars: number;
  /** One message and one blob for each chunk, and a leader that reads them all; the calculation's files as above. */
  readonly naive: { readonly calls: CallCounts; readonly billed: number; readonly dollars: number };
}

/**
 * Plans a run as a planning worker would, with the same checks, samples and sizes, and tells its cost. Nothing is
 * stored. Throws `InputError` for bad input and `CalculationError` where the plan fails or passes its time limit.
 *
 * Not promised: that workers are as fast as this machine, or that chunks are as alike as the samples.
 */
export async function estimateRun(
  request: RunRequest & { readonly workers?: number | undefined },
  ports: {
    readonly calculations: Calculations;
    readonly code: PlanningCode;
    /** Gives what the code asked of files since it was last called. */
    readonly fileUse: () => FileUse;
    readonly clock: Clock;
    readonly settings: Settings;
  },
): Promise<RunEstimate> {
  const checked = checkRequest(request, ports.calculations);
  const workers = checkWorkers(request.workers ?? clientLimits.planWorkers);
  const job = { calculation: checked.calculation.name, params: checked.params };
  const startedMs = ports.clock.monotonicMs();
  const { chunks, segments, chunkMs, files, failed } = await measure(ports, job);
  const planMs = ports.clock.monotonicMs() - startedMs;

  const packSize = checked.packSize ?? packSizeFor(chunks, chunkMs);
  const shardSize = shardSizeFor(Math.ceil(chunks / packSize));
  const layout: Layout = { chunks, packSize, shardSize, fanIn: limits.fanIn };
  const packMs = chunkMs * Math.min(packSize, chunks);
  const threads = ports.settings.LEASEFOLD_THREADS ?? clientLimits.planThreads;
  const shape = { layout, packMs, planMs, segments, workers, threads };
  const durationMs = expectedMs(shape);
  const pace = leadingPace(ports.settings);
  const ofFiles = addCalls(callsOf(files.planning), callsOf(files.computing));
  const total = roundCalls(addCalls(costOfRun({ ...shape, durationMs }, pace).total, ofFiles));
  const naive = roundCalls(addCalls(naiveCalls(chunks), ofFiles));
  return {
    ...job,
    chunks,
    packs: packsOf(layout),
    packSize,
    shards: shardsOf(layout),
    chunkMs,
    packMs,
    computeS: (chunks * chunkMs) / 1_000,
    ...(failed === undefined ? {} : { failed }),
    workers,
    expectedS: durationMs / 1_000,
    files,
    calls: {
      total,
      billed: billedCalls(total),
      perPack,
      perMinute: roundCalls(leadingPerMinute(pace, { ...shape, durationMs })),
      perChunk: chunks === 0 ? 0 : billedCalls(total) / chunks,
    },
    dollars: dollarsOf(total),
    naive: { calls: naive, billed: billedCalls(naive), dollars: dollarsOf(naive) },
  };
}

async function measure(
  {
    code,
    fileUse,
    settings,
  }: { readonly code: PlanningCode; readonly fileUse: () => FileUse; readonly settings: Settings },
  job: { readonly calculation: string; readonly params: unknown },
): Promise<
  Pick<RunEstimate, "chunks" | "chunkMs" | "files"> & {
    readonly segments: number;
    readonly failed: string | undefined;
  }
> {
  const packLimitMs = settings.LEASEFOLD_PACK_LIMIT_S * 1_000;
  const samples: Samples = new Map();
  let from = 0;
  let segments = 0;
  const planned = await code.plan(
    job,
    async (inputs) => {
      keepSamples(samples, from, inputs);
      from += inputs.length;
      segments += 1;
    },
    { urgent: true, limitMs: packLimitMs },
  );
  const task = { urgent: true, limitMs: Math.min(packLimitMs, sampleLimitMs) };
  const listing = fileUse();
  let timed = 0;
  let failed: string | undefined;
  const chunkMs = await timeChunks(planned, samples, (chunk) => {
    timed += 1;
    return code.compute({ ...job, ...chunk }, task).catch((error: unknown) => {
      // One that was ended for its time may only be long.
      if (error instanceof CalculationError && error.code !== "time-limit") failed ??= error.message;
      throw error;
    });
  });
  const sampled = fileUse();
  const files = {
    planning: addUse(listing, sampled),
    computing: scaleUse(sampled, timed === 0 ? 0 : planned.chunks / timed),
  };
  return { chunks: planned.chunks, segments, chunkMs, files, failed };
}

function checkWorkers(workers: number): number {
  if (Number.isInteger(workers) && workers >= 1 && workers <= clientLimits.planWorkersMax) return workers;
  throw new InputError(
    "invalid",
    "bad-workers",
    `workers: ${workers} is not a whole number from 1 to ${clientLimits.planWorkersMax}`,
    { field: "workers" },
  );
}
