import { planLost } from "../model/errors.ts";
import type { Names } from "../model/names.ts";
import { type Plan, planSchema, segmentSchema, specSchema } from "../model/run.ts";
import { runBlobs, specBlob } from "../model/runBlobs.ts";
import { checkNamed, checkRequestHash } from "../model/storedSpec.ts";
import { readDocument } from "../storage/callSteps.ts";
import type { BlobStore } from "../storage/ports.ts";
import { listKeys } from "./findReused.ts";
import { type Documents, DroppedError, StorageLostError } from "./ports.ts";
import { setLatest } from "./setLatest.ts";

/** Specs and plans are small; a segment holds megabytes. */
const documentsKept = 64;
const segmentsKept = 4;
/** Of runs that reuse others; see `reusedListedMax`. */
const keysKept = 2;

export function documents(blobs: BlobStore, { runs }: Names): Documents {
  const small = keepLatest(documentsKept);
  const segments = keepLatest(segmentsKept);
  const keys = keepLatest(keysKept);

  async function segment(plan: Plan, attempt: string, number: number): Promise<readonly unknown[]> {
    const name = runBlobs(plan.run, plan.uid).segment(attempt, number);
    const found = await readDocument(blobs, [runs, name], segmentSchema);
    if (found === undefined) throw new StorageLostError(planLost, `plan segment ${number} is gone`);
    checkNamed("segment", plan.run, found.sha256, plan.segments?.sha256?.[number]);
    return found.value.inputs;
  }

  return {
    spec: ({ run, uid, spec: named }) =>
      small(`spec ${run} ${uid} ${named}`, async () => {
        const spec = await readDocument(blobs, [runs, specBlob(run)], specSchema);
        if (spec === undefined) throw new DroppedError("there is no such run");
        if (spec.value.uid !== uid) throw new DroppedError("the id belongs to another run now");
        checkRequestHash(spec.value);
        checkNamed("spec", run, spec.sha256, named);
        return { ...spec.value, sha256: spec.sha256 };
      }),
    plan({ run, uid, plan: named }) {
      const name = runBlobs(run, uid).plan;
      return small(`${name} ${named}`, async () => {
        const plan = await readDocument(blobs, [runs, name], planSchema);
        if (plan === undefined) throw new StorageLostError(planLost, `${name} is gone`);
        checkNamed("plan", run, plan.sha256, named);
        return { ...plan.value, sha256: plan.sha256 };
      });
    },
    keysOf: ({ run, uid, reuse }) =>
      keys(`${run} ${uid}`, async () => (reuse === undefined ? new Map() : listKeys(blobs, runs, reuse))),
    async inputs(plan, from, to) {
      if (plan.segments === undefined) return undefined;
      const { attempt, starts, sha256 } = plan.segments;
      const inputs: unknown[] = [];
      const first = starts.findLastIndex((start) => start <= from);
      for (let number = first; number < starts.length; number += 1) {
        const start = starts[number] as number;
        if (start >= to) break;
        const key = `${plan.run} ${plan.uid} ${number} ${sha256?.[number] ?? attempt}`;
        const all = await segments(key, () => segment(plan, attempt, number));
        inputs.push(...all.slice(Math.max(from - start, 0), to - start));
      }
      if (inputs.length !== to - from)
        throw new StorageLostError("storage-lost", "the plan's segments do not cover the pack");
      return inputs;
    },
  };
}

/** Reads each key once, while it is one of the latest `max`. A read that failed is not kept. */
function keepLatest(max: number): <T>(key: string, read: () => Promise<T>) => Promise<T> {
  const kept = new Map<string, Promise<unknown>>();
  return <T>(key: string, read: () => Promise<T>) => {
    const known = kept.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const reading = read();
    setLatest<Promise<unknown>>(kept, key, reading, max);
    reading.catch(() => kept.delete(key));
    return reading;
  };
}
