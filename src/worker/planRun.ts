import { encodeCalls } from "../model/calls.ts";
import { wireVersion } from "../model/decode.ts";
import { CalculationError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { runBlobs } from "../model/names.ts";
import { packSizeFor, shardSizeFor } from "../model/packs.ts";
import type { Plan, Spec } from "../model/run.ts";
import type { Job, WorkerPorts } from "./ports.ts";
import { stillWanted } from "./stillWanted.ts";

/**
 * Plans a run: lists its chunks (inputs go to segments under this attempt's own name), times a few of them and
 * fixes how many make a pack. `plan.json` is create-only and names the one attempt whose segments count, so that a
 * plan which lists a changing folder is never mixed from two.
 */
export async function planRun(ports: WorkerPorts, { message, tag }: Job<"plan">): Promise<string> {
  const { run, uid } = message;
  const spec = await ports.documents.spec(run, uid);
  const at = runBlobs(run, uid);
  const starts: number[] = [];
  const samples = new Map<number, unknown>();
  let from = 0;

  const options = { urgent: true, limitMs: ports.packLimitMs, onStart: () => stillWanted(ports, message) };
  const planned = await ports.userCode.plan(
    { calculation: spec.calculation, params: spec.params },
    async (inputs) => {
      for (const batch of splitByBytes(inputs)) {
        const body = `{"v":${wireVersion},"from":${from},"inputs":[${batch.map((one) => one.json).join(",")}]}`;
        await ports.storage.blobs.create(ports.names.runs, at.segment(tag, starts.length), body, {
          contentType: "application/json",
        });
        starts.push(from);
        keepSamples(
          samples,
          from,
          batch.map((one) => one.input),
        );
        from += batch.length;
      }
    },
    options,
  );

  const chunkMs = await timeChunks(ports, spec, planned, samples);
  const packSize = spec.packSize ?? packSizeFor(planned.chunks, chunkMs);
  const plan: Plan = {
    v: wireVersion,
    run,
    uid,
    chunks: planned.chunks,
    packSize,
    shardSize: shardSizeFor(Math.ceil(planned.chunks / packSize)),
    packMs: chunkMs * packSize,
    ...(planned.list ? { segments: { attempt: tag, starts } } : {}),
    calls: encodeCalls(ports.report.take()),
  };
  await stillWanted(ports, message);
  const created = await ports.storage.blobs.create(ports.names.runs, at.plan, JSON.stringify(plan), {
    contentType: "application/json",
  });
  return created.kind;
}

/** Mean time of the chunks that could be timed, in ms; a chunk that fails says nothing here and fails on its own later. */
async function timeChunks(
  ports: WorkerPorts,
  spec: Spec,
  planned: { readonly chunks: number; readonly list: boolean },
  samples: ReadonlyMap<number, unknown>,
): Promise<number> {
  const indexes = planned.list ? [...samples.keys()] : spread(planned.chunks, limits.planSamples);
  const times: number[] = [];
  let spentMs = 0;
  for (const index of indexes) {
    if (spentMs >= limits.planSampleMsMax) break;
    const { calculation, params } = spec;
    const job = { calculation, params, from: index, to: index + 1, count: planned.chunks };
    try {
      const inputs = planned.list ? { inputs: [samples.get(index)] } : {};
      const options = { urgent: true, limitMs: Math.min(ports.packLimitMs, limits.packMsMax) };
      const { ms } = await ports.userCode.compute({ ...job, ...inputs }, options);
      times.push(ms);
      spentMs += ms;
    } catch (error) {
      if (!(error instanceof CalculationError)) throw error;
      if (error.code === "time-limit") return limits.packMsMax;
    }
  }
  // Chunks of which nothing is known are not all put into one pack.
  if (times.length === 0) return limits.packMsMin;
  // The first sample also pays for loading and compiling the code, so it only counts where it is alone.
  const warm = times.length > 1 ? times.slice(1) : times;
  return warm.reduce((sum, ms) => sum + ms, 0) / warm.length;
}

/** So many indexes spread evenly over `[0, count)`. */
export function spread(count: number, samples: number): number[] {
  const taken = Math.min(count, samples);
  return Array.from({ length: taken }, (_, place) => Math.floor(((place + 0.5) * count) / taken));
}

/** Keeps inputs to time: a spread of the first segment, and the first of every later one up to the limit. */
function keepSamples(samples: Map<number, unknown>, from: number, inputs: readonly unknown[]): void {
  const places = from === 0 ? spread(inputs.length, limits.planSamples - 1) : [0];
  for (const place of places) if (samples.size < limits.planSamples) samples.set(from + place, inputs[place]);
}

function* splitByBytes(inputs: readonly unknown[]) {
  let batch: { input: unknown; json: string }[] = [];
  let bytes = 0;
  for (const input of inputs) {
    const json = JSON.stringify(input);
    if (bytes + json.length > limits.segmentBytesMax || batch.length === limits.segmentInputs) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push({ input, json });
    bytes += json.length;
  }
  if (batch.length > 0) yield batch;
}
