import { decodeJson } from "../model/decode.ts";
import type { Names } from "../model/names.ts";
import { type Plan, planSchema, type Spec, segmentSchema, specSchema } from "../model/run.ts";
import { runBlobs, specBlob } from "../model/runBlobs.ts";
import type { BlobStore } from "../storage/ports.ts";
import { DroppedError, StorageLostError } from "./ports.ts";

/** Specs, plans and plan segments: written once, so what was read once is kept. */
export interface Documents {
  spec(run: string, uid: string): Promise<Spec>;
  plan(run: string, uid: string, origin?: number): Promise<Plan>;
  /** Inputs of the chunks `[from, to)`, or undefined where the plan is a plain count. */
  inputs(plan: Plan, from: number, to: number): Promise<readonly unknown[] | undefined>;
}

/** Specs and plans are small; a segment holds megabytes. */
const documentsKept = 64;
const segmentsKept = 4;

/** The segment that holds the input of a chunk, by bisection: a large plan has thousands. `starts` ascends from 0. */
export function segmentWith(starts: readonly number[], chunk: number): number {
  let low = 0;
  let high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] as number) <= chunk) low = middle;
    else high = middle;
  }
  return low;
}

export function documents(blobs: BlobStore, names: Names): Documents {
  const documents = new Map<string, Promise<unknown>>();
  const segments = new Map<string, Promise<unknown>>();

  function once<T>(
    key: string,
    read: () => Promise<T>,
    kept = documents,
    keptMax = documentsKept,
  ): Promise<T> {
    const known = kept.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const reading = read();
    kept.set(key, reading);
    reading.catch(() => kept.delete(key));
    if (kept.size > keptMax) kept.delete(kept.keys().next().value as string);
    return reading;
  }

  async function segment(plan: Plan, attempt: string, number: number): Promise<readonly unknown[]> {
    const name = runBlobs(plan.run, plan.uid, plan.origin).segment(attempt, number);
    const found = await blobs.read(names.runs, name);
    if (found.kind === "missing")
      throw new StorageLostError("storage-lost", `plan segment ${number} is gone`);
    return decodeJson(segmentSchema, found.body, name).inputs;
  }

  return {
    spec: (run, uid) =>
      once(`spec ${run} ${uid}`, async () => {
        const name = specBlob(run);
        const found = await blobs.read(names.runs, name);
        if (found.kind === "missing") throw new DroppedError("there is no such run");
        const spec = decodeJson(specSchema, found.body, name);
        if (spec.uid !== uid) throw new DroppedError("the id belongs to another run now");
        return spec;
      }),
    plan: (run, uid, origin = 1) =>
      once(`plan ${run} ${uid} ${origin}`, async () => {
        const name = runBlobs(run, uid, origin).plan;
        const found = await blobs.read(names.runs, name);
        if (found.kind === "missing") throw new StorageLostError("storage-lost", `${name} is gone`);
        return decodeJson(planSchema, found.body, name);
      }),
    async inputs(plan, from, to) {
      if (plan.segments === undefined) return undefined;
      const { attempt, starts } = plan.segments;
      const inputs: unknown[] = [];
      for (let number = segmentWith(starts, from); number < starts.length; number += 1) {
        const start = starts[number] as number;
        if (start >= to) break;
        const all = await once(
          `${plan.run} ${plan.uid} ${plan.origin ?? 1} ${number}`,
          () => segment(plan, attempt, number),
          segments,
          segmentsKept,
        );
        inputs.push(...all.slice(Math.max(from - start, 0), to - start));
      }
      if (inputs.length !== to - from)
        throw new StorageLostError("storage-lost", "the plan's segments do not cover the pack");
      return inputs;
    },
  };
}
