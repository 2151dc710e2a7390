import pMap from "p-map";
import * as z from "zod";
import { CorruptDataError } from "../../model/errors.ts";
import { chunksOfPack } from "../../model/packs.ts";
import type { Manifest, Plan } from "../../model/run.ts";
import { runBlobs } from "../../model/runBlobs.ts";
import { documentHash } from "../../model/storedSpec.ts";
import { type Client, clientLimits } from "../client.ts";
import { type ReadHashed, readBlob, readState, requireSpec } from "../runDocuments.ts";

const documentOutcome = z.enum(["equal", "different", "none"]);
export type DocumentOutcome = z.infer<typeof documentOutcome>;
export const documentsSchema = z
  .object({ spec: documentOutcome, plan: documentOutcome, inputs: documentOutcome })
  .describe(
    "`inputs`: the lists of inputs that the plan names, not the bytes of files: a pack that is computed again reads its files under the ETags in those lists, and fails with `file-changed` where one was written since. `none`: the plan is a count and has no inputs.",
  );

/**
 * Compares what a result was computed from, read anew, with the hashes that leader and workers kept of it: spec and plan
 * with those in state and manifest, and the lists of inputs of the drawn packs with those in the plan.
 *
 * Not promised: that input files are read. The workers that compute the packs again read them, under the ETags in those lists.
 * Nor that a plan is found which replaced the worker's before the leader first read it.
 */
export async function checkDocuments(
  client: Client,
  manifest: Manifest,
  plan: ReadHashed<Plan>,
  drawn: readonly number[],
): Promise<z.infer<typeof documentsSchema>> {
  const { run, uid } = manifest;
  const [spec, state, inputs] = await Promise.all([
    requireSpec(client, run),
    readState(client, run, uid),
    checkInputs(client, plan.value, drawn),
  ]);
  const asked = spec.value.requestHash === manifest.requestHash;
  return {
    spec: asked ? compared(spec.sha256, manifest.spec, state?.value.spec) : "different",
    plan: compared(plan.sha256, manifest.plan, state?.value.plan),
    inputs,
  };
}

function compared(found: string, manifest: string, state?: string): DocumentOutcome {
  return found === manifest && found === (state ?? manifest) ? "equal" : "different";
}

async function checkInputs(client: Client, plan: Plan, drawn: readonly number[]): Promise<DocumentOutcome> {
  if (plan.segments === undefined) return "none";
  const { attempt, starts, sha256 } = plan.segments;
  const numbers = new Set<number>();
  for (const pack of drawn) {
    const { from, to } = chunksOfPack(plan, pack);
    for (let number = starts.findLastIndex((start) => start <= from); number < starts.length; number += 1) {
      if ((starts[number] ?? to) >= to) break;
      numbers.add(number);
    }
  }
  const { segment } = runBlobs(plan.run, plan.uid);
  const equal = async (number: number): Promise<boolean> => {
    const name = segment(attempt, number);
    const found = await readBlob(client, client.names.runs, name);
    if (found.kind === "missing") throw new CorruptDataError("plan-missing", `${name} is gone`);
    return documentHash(found.body) === sha256[number];
  };
  const all = await pMap(numbers, equal, { concurrency: clientLimits.readsAtOnce });
  return all.every(Boolean) ? "equal" : "different";
}
