import * as z from "zod";
import type { Calculations } from "../../calculation/contract.ts";
import {
  type ChunkRange,
  keepSamples,
  type PlannedChunks,
  roundsFor,
  type Samples,
  type SampleTime,
  sampleLimitMs,
  timeChunks,
} from "../../calculation/timeChunks.ts";
import { addCalls, billedCalls, roundCalls } from "../../model/calls.ts";
import { costOf, costSchema } from "../../model/cost.ts";
import { dollarAmount } from "../../model/decode.ts";
import { CalculationError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import {
  dependsOnWorkers,
  packSizeAtOnce,
  packSizeFor,
  packsOf,
  shardSizeFor,
  shardsOf,
} from "../../model/packs.ts";
import { prefixesOf, stoppingLayout, stoppingPackSize } from "../../model/prefixes.ts";
import { estimateCalls, estimateUse, expectedMs, leadingPerMinute, perPack } from "../../model/runCost.ts";
import type { Settings } from "../../model/settings.ts";
import type { Clock } from "../../storage/ports.ts";
import { clientLimits, defined } from "../client.ts";
import { checkRequest, type RunRequest } from "../runRequest.ts";
import { calls, count, list, seconds, text } from "../viewSchemas.ts";
import { callsOf, type FileUse, fileUseSchema, useOf } from "./fileUse.ts";
import { askedWorkers, type PlanWorkers } from "./planWorkers.ts";

interface Task {
  readonly calculation: string;
  readonly params: unknown;
}

interface TaskOptions {
  readonly urgent: boolean;
  readonly limitMs: number;
}

/** Runs a calculation's own code, as a worker's thread pool does. */
export interface PlanningCode {
  plan(
    task: Task,
    sink: (inputs: readonly unknown[]) => Promise<void>,
    options: TaskOptions,
  ): Promise<PlannedChunks>;
  compute(task: Task & ChunkRange, options: TaskOptions): Promise<SampleTime>;
}

const estimateShape = {
  calculation: text,
  params: z.unknown(),
  ...{ chunks: count, packs: count, packSize: z.int().positive(), shards: count },
  prefixes: list(count)
    .describe(
      "Chunks of the prefixes after which the calculation may end the run; all other figures are of all chunks.",
    )
    .exactOptional(),
  failed: text
    .describe("Error of the first timed chunk that failed: a run with these parameters would fail too.")
    .exactOptional(),
  workers: count.describe("Packs computed at once, which the expected time depends on."),
  workersFrom: text.describe("`--workers`, a setting, or whose threads these are, for people."),
  files: z
    .object({ planning: fileUseSchema, computing: fileUseSchema })
    .describe("What the calculation reads of its own files; included in the calls and dollars."),
  calls: z.object({
    total: calls,
    billed: count.describe("Calls that cost anything: all but deletes."),
    perPack: calls.describe("Of a pack and its message; exact if nothing fails or is resent."),
    perMinute: calls.describe("Of leading at the default settings, an estimate."),
    perChunk: z.number(),
  }),
  ...costSchema.shape,
  maxCost: dollarAmount.describe("What the run may cost, by the request or else the app.").exactOptional(),
  memoryMb: count.describe("Memory of an instance, by which its cost is estimated."),
};

export const estimateSchema = z
  .union([
    z.object({
      ...estimateShape,
      chunkMs: z
        .number()
        .describe(
          "On one thread, as measured here; a sample that was stopped at its limit may take any longer.",
        ),
      packMs: z.number(),
      waits: z
        .number()
        .describe(
          "Share of its time in which a chunk waited for others, and did not compute; absent where chunks run at the same time.",
        )
        .exactOptional(),
      computeS: seconds,
      expectedS: seconds.describe("From submit to result, with so many `workers`."),
      unmeasured: z.undefined().optional(),
    }),
    z.object({
      ...estimateShape,
      unmeasured: text.describe("Why no time is known: then calls and dollars are not those of the run."),
    }),
  ])
  .describe("Size, duration and cost estimate of a run.")
  .meta({ id: "Estimate" });
export type RunEstimate = z.infer<typeof estimateSchema>;

export interface EstimatePorts {
  readonly calculations: Calculations;
  readonly code: PlanningCode;
  /** What the code asked of files since the last call. */
  readonly fileUse: () => FileUse;
  readonly clock: Clock;
  readonly settings: Settings;
  /** Asked where the request does not say how many packs are computed at once. Never rejects. */
  readonly planWorkers: () => Promise<PlanWorkers>;
}

/**
 * Plans a run as a planning worker would, with the same checks, samples and sizes, and estimates its calls and cost.
 * Stores nothing. Throws `InputError` for bad input and `CalculationError` if the plan fails or exceeds its time limit.
 *
 * Not promised: that workers are as fast as this machine, or that all chunks are like the samples.
 */
export async function estimateRun(request: RunRequest, ports: EstimatePorts): Promise<RunEstimate> {
  const checked = checkRequest(request, ports.calculations);
  const fleet = checked.workers === undefined ? ports.planWorkers() : askedWorkers(checked.workers);
  const task = { calculation: checked.calculation.name, params: checked.params };
  const packLimitMs = ports.settings.LEASEFOLD_PACK_LIMIT_S * 1_000;
  const { chunks, stops, atOnce, segments, chunkMs, waits, planMs, files, failed, unmeasured } =
    await measure(ports, task, packLimitMs, checked.packSize);

  const { workers, workersFrom, seen } = await fleet;
  const sizesFor = checked.workers ?? (dependsOnWorkers(chunks * chunkMs) ? seen : undefined);
  const wanted =
    checked.packSize ?? packSizeAtOnce(chunks, packSizeFor(chunks, chunkMs, packLimitMs, sizesFor), atOnce);
  const packSize = stops === true ? stoppingPackSize(chunks, wanted) : wanted;
  const shardSize = shardSizeFor(Math.ceil(chunks / packSize));
  const layout = stoppingLayout({ chunks, packSize, shardSize, fanIn: limits.fanIn, stops });
  const packMs = chunkMs * Math.min(packSize, chunks);
  const { LEASEFOLD_THREADS, LEASEFOLD_INSTANCE_MEMORY_MB: memoryMb } = ports.settings;
  const threads = LEASEFOLD_THREADS ?? clientLimits.planThreads;
  const durationMs = expectedMs({ layout, packMs, planMs, workers });
  const shape = { layout, packMs, planMs, segments, workers, threads, durationMs };
  const ofFiles = addCalls(callsOf(files.planning), callsOf(files.computing));
  const total = roundCalls(addCalls(estimateCalls(shape).total, ofFiles));
  const computeS = (chunks * chunkMs) / 1_000;
  const times =
    unmeasured === undefined
      ? { chunkMs, packMs, ...defined({ waits }), computeS, expectedS: durationMs / 1_000 }
      : { unmeasured };
  return {
    ...task,
    chunks,
    packs: packsOf(layout),
    packSize,
    shards: shardsOf(layout),
    ...defined({ prefixes: stops && prefixesOf(chunks) }),
    ...times,
    ...defined({ failed }),
    workers,
    workersFrom,
    files,
    calls: {
      total,
      billed: billedCalls(total),
      perPack,
      perMinute: roundCalls(leadingPerMinute),
      perChunk: chunks === 0 ? 0 : billedCalls(total) / chunks,
    },
    ...costOf(total, estimateUse(shape, memoryMb)),
    ...defined({ maxCost: checked.maxCost ?? ports.settings.LEASEFOLD_MAX_COST }),
    memoryMb,
  };
}

/** Plans the task and times some of its chunks. */
async function measure(
  { code, fileUse, clock }: EstimatePorts,
  task: Task,
  packLimitMs: number,
  packSize: number | undefined,
) {
  const startedMs = clock.monotonicMs();
  const samples: Samples = new Map();
  let from = 0;
  let segments = 0;
  const sink = async (inputs: readonly unknown[]): Promise<void> => {
    keepSamples(samples, from, inputs);
    from += inputs.length;
    segments += 1;
  };
  const planned = await code.plan(task, sink, { urgent: true, limitMs: packLimitMs });
  const listing = fileUse();
  const limitMs = Math.min(packLimitMs, sampleLimitMs);
  const options = { urgent: true, limitMs, run: `plan ${startedMs}` };
  let [timed, tookMs, busyMs] = [0, 0, 0];
  let failed: string | undefined;
  let measured = false;
  const compute = async (chunk: ChunkRange): Promise<SampleTime> => {
    timed += chunk.to - chunk.from;
    try {
      const time = await code.compute({ ...task, ...chunk }, options);
      measured = true;
      tookMs += time.ms;
      busyMs += time.busyMs ?? time.ms;
      return time;
    } catch (error) {
      // A chunk that exceeded the time limit may only be long.
      if (error instanceof CalculationError && error.code === "time-limit") measured = true;
      else if (error instanceof CalculationError) failed ??= error.message;
      throw error;
    }
  };
  const chunkMs = await timeChunks(planned, samples, compute, roundsFor(packSize));
  const sampled = fileUse();
  const times = timed === 0 ? 0 : planned.chunks / timed;
  // A planning worker times as many chunks.
  const planning = useOf((name) => listing[name] + sampled[name]);
  const computing = useOf((name) => Math.round(sampled[name] * times));
  const planMs = clock.monotonicMs() - startedMs;
  const nothing = planned.chunks === 0 ? "the run has no chunks" : "each chunk that was tried failed";
  return {
    chunks: planned.chunks,
    stops: planned.stops,
    atOnce: planned.atOnce,
    segments,
    chunkMs,
    waits: (planned.atOnce ?? 1) === 1 && tookMs > 0 ? 1 - Math.min(busyMs / tookMs, 1) : undefined,
    planMs,
    files: { planning, computing },
    failed,
    unmeasured: measured ? undefined : nothing,
  };
}
