import { decodeJson } from "../model/decode.ts";
import { runBlobs } from "../model/names.ts";
import { chunksOfPack } from "../model/packs.ts";
import { type Plan, segmentSchema } from "../model/run.ts";
import type { Client } from "./client.ts";
import { clientLimits } from "./clientLimits.ts";
import { unlessUnreadable } from "./unlessUnreadable.ts";

/**
 * The inputs of the chunks of some packs, by pack, where a list was planned and it is cheap to tell: for small packs,
 * from a few segments. A pack whose inputs are not told is left out.
 */
export async function chunkInputs(
  client: Client,
  plan: Plan,
  packs: Iterable<number>,
): Promise<ReadonlyMap<number, readonly unknown[]>> {
  const told = new Map<number, readonly unknown[]>();
  if (plan.segments === undefined || plan.packSize > clientLimits.inputsShownMax) return told;
  const { starts } = plan.segments;
  const segments = segmentReader(client, plan, plan.segments.attempt);
  for (const pack of [...new Set(packs)].sort((a, b) => a - b)) {
    const { from, to } = chunksOfPack(plan, pack);
    const inputs: unknown[] = [];
    let number = starts.findLastIndex((start) => start <= from);
    for (let start = starts[number]; start !== undefined && start < to; start = starts[number]) {
      const segment = await segments(number);
      if (segment === "enough") return told;
      inputs.push(...segment.slice(Math.max(from - start, 0), to - start));
      number += 1;
    }
    if (inputs.length > 0 && inputs.length === to - from) told.set(pack, inputs);
  }
  return told;
}

/** Reads segments in ascending order and keeps one of them, since each may hold megabytes. */
function segmentReader(client: Client, { run, uid, origin }: Plan, attempt: string) {
  let reads = 0;
  let held: { readonly number: number; readonly inputs: readonly unknown[] } | undefined;
  return async (number: number): Promise<readonly unknown[] | "enough"> => {
    if (held?.number === number) return held.inputs;
    if (reads === clientLimits.inputSegmentsRead) return "enough";
    reads += 1;
    const name = runBlobs(run, uid, origin).segment(attempt, number);
    const found = await client.storage.blobs.read(client.names.runs, name);
    const segment =
      found.kind === "missing"
        ? undefined
        : await unlessUnreadable(() => decodeJson(segmentSchema, found.body, name), { newer: true });
    held = { number, inputs: segment?.inputs ?? [] };
    return held.inputs;
  };
}
