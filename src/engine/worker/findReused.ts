import { hash } from "node:crypto";
import { canonicalJson } from "../model/decode.ts";
import { limits } from "../model/limits.ts";
import { parseOutputFacts } from "../model/output.ts";
import { chunksOfPack, powerFrom } from "../model/packs.ts";
import type { Plan, Spec } from "../model/run.ts";
import { runBlobs } from "../model/runBlobs.ts";
import { pagesOf } from "../storage/callSteps.ts";
import type { BlobStore } from "../storage/ports.ts";
import type { Attempt, WorkerPorts } from "./ports.ts";

/**
 * Partials of the run that a run reuses, which a worker copies instead of computing a pack (rule *reuse*).
 *
 * Not promised: that one is found. What is gone, was changed, or cannot be listed is computed.
 */

/**
 * What the bytes of a pack's partial depend on beside the code. `compute` may ask for a chunk's index and their count, unless the
 * plan says `byInput`. A pack of a power of two of chunks is one span at any place; any other may be several, by its
 * index (rule *merge tree*).
 */
export function keyOf(
  { calculation, params }: Pick<Spec, "calculation" | "params">,
  plan: Plan,
  pack: number,
  inputs: readonly unknown[] | undefined,
): string {
  const { from, to } = chunksOfPack(plan, pack);
  const anywhere = plan.byInput === true && powerFrom(plan.packSize) === plan.packSize;
  const place = anywhere ? [] : [from, to, plan.chunks];
  return hash("sha256", canonicalJson([calculation, params, place, inputs ?? null]), "base64url").slice(
    0,
    22,
  );
}

/** By code and key the names of the partials of a run. One that names saved files is left out: they go with their run. */
export async function listKeys(
  blobs: BlobStore,
  container: string,
  { run, uid }: NonNullable<Spec["reuse"]>,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for await (const page of pagesOf(blobs, container, runBlobs(run, uid).parts)) {
    for (const { name, contentType } of page.blobs) {
      const { code = "", key, saves, gaps } = parseOutputFacts(contentType);
      // What a partial saved is deleted with its run; one with gaps lacks what this run may compute.
      const isWhole = saves !== true && gaps === undefined;
      if (key !== undefined && isWhole) found.set(`${code} ${key}`, name);
    }
    if (found.size >= limits.reusedListedMax) break;
  }
  return found;
}

/** The partial of the reused run with this key, and the code that made it, rather the run's own. */
export async function findReused(
  { storage, names, documents }: WorkerPorts,
  spec: Spec,
  { code, mix = [] }: Attempt["accepted"],
  key: string,
): Promise<{ readonly bytes: Uint8Array; readonly code: string } | undefined> {
  if (spec.reuse === undefined) return undefined;
  const keys = await documents.keysOf(spec);
  for (const by of [code, ...mix]) {
    const name = by === undefined ? undefined : keys.get(`${by} ${key}`);
    if (by === undefined || name === undefined) continue;
    const found = await storage.blobs.read(names.runs, name);
    if (found.kind === "missing") continue;
    const { contentType, metadata } = found.properties;
    const facts = parseOutputFacts(contentType);
    // It may have been replaced since it was listed.
    if (facts.key !== key || facts.code !== by) continue;
    if (metadata["sha256"] === hash("sha256", found.body)) return { bytes: found.body, code: by };
  }
  return undefined;
}
