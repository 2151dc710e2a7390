import { decodeJson, unlessUnreadable } from "../model/decode.ts";
import { type Range, sizeOf } from "../model/packs.ts";
import { type Plan, segmentSchema } from "../model/run.ts";
import { runBlobs } from "../model/runBlobs.ts";
import { type Client, clientLimits } from "./client.ts";

/** The input of one chunk, as the plan stored it; undefined where the plan is a count. */
export async function chunkInput(client: Client, plan: Plan, chunk: number): Promise<unknown> {
  if (plan.segments === undefined) return undefined;
  const { starts, attempt } = plan.segments;
  const number = starts.findLastIndex((start) => start <= chunk);
  const inputs = await readSegment(client, runBlobs(plan.run, plan.uid).segment(attempt, number));
  return inputs[chunk - (starts[number] ?? 0)];
}

/**
 * The inputs of each of these ranges of chunks, or undefined: for listed plans and short ranges, from at most a few segments.
 */
export async function rangeInputs(
  client: Client,
  plan: Plan,
  ranges: readonly Range[],
): Promise<ReadonlyMap<Range, readonly unknown[]>> {
  const known = new Map<Range, readonly unknown[]>();
  if (plan.segments === undefined) return known;
  const { starts, attempt } = plan.segments;
  const blobs = runBlobs(plan.run, plan.uid);
  const short = ranges.filter((range) => sizeOf(range) <= clientLimits.inputsShownMax);
  let reads = 0;
  // They ascend, so one segment is kept: each may hold megabytes.
  let held: { readonly number: number; readonly inputs: readonly unknown[] } | undefined;
  for (const range of short.sort((a, b) => a.from - b.from)) {
    const { from, to } = range;
    const inputs: unknown[] = [];
    let number = starts.findLastIndex((start) => start <= from);
    for (let start = starts[number]; start !== undefined && start < to; start = starts[number]) {
      if (held?.number !== number) {
        if (reads === clientLimits.inputSegmentsRead) return known;
        reads += 1;
        held = { number, inputs: await readSegment(client, blobs.segment(attempt, number)) };
      }
      inputs.push(...held.inputs.slice(Math.max(from - start, 0), to - start));
      number += 1;
    }
    if (inputs.length > 0 && inputs.length === to - from) known.set(range, inputs);
  }
  return known;
}

async function readSegment(client: Client, name: string): Promise<readonly unknown[]> {
  const found = await client.storage.blobs.read(client.names.runs, name);
  const decode = () => (found.kind === "missing" ? undefined : decodeJson(segmentSchema, found.body, name));
  return (await unlessUnreadable(decode))?.inputs ?? [];
}
