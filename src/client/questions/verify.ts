import { CorruptDataError } from "../../model/errors.ts";
import type { Verified } from "../../model/output.ts";
import { chunksOfPack, packsOf, type Range, shardOf, sizeOf } from "../../model/packs.ts";
import type { Manifest, Plan } from "../../model/run.ts";
import { boundedMap } from "../boundedMap.ts";
import type { Client } from "../client.ts";
import { clientLimits } from "../clientLimits.ts";
import { findManifest, openResult } from "../result.ts";
import { readPlan } from "../runDocuments.ts";
import { computeAgain, type PackHashes, readPackHashes } from "./computeAgain.ts";
import { drawPacks, foldedPacks, type Sample, sampleDefault, sampleSize } from "./sample.ts";

/**
 * What became of one pack that was drawn. `not-folded`: the result says that it holds the pack, and keeps no hash
 * of it. `failed`: computing it again threw. `unanswered`: no worker answered in time.
 */
export type PackOutcome = "equal" | "different" | "not-folded" | "failed" | "unanswered";

export interface Verification {
  readonly run: string;
  readonly uid: string;
  readonly generation: number;
  /** The result's own bytes against the SHA-256 in its manifest. */
  readonly result: { readonly sha256: string; readonly equal: boolean };
  readonly packs: {
    readonly total: number;
    /** Gaps of the result, which nothing can be compared with; none of them is drawn. */
    readonly missing: number;
    readonly drawn: number;
  } & Readonly<Record<PackOutcome, number>>;
  /** Packs that are not equal, ascending. */
  readonly others: readonly {
    readonly pack: number;
    readonly chunks: Range;
    readonly outcome: PackOutcome;
    readonly error?: { readonly code: string; readonly message: string };
  }[];
  /** The result's bytes and every pack drawn. */
  readonly allEqual: boolean;
}

export interface VerifyOptions {
  /** Default 1 %, at least one pack. */
  readonly sample?: Sample | undefined;
  /** Gives up after so long without any answer. */
  readonly waitMs?: number | undefined;
  /** Ends the wait: what has no answer then is `unanswered`. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (answered: number, drawn: number) => void;
}

/**
 * Has workers compute a random sample of packs again and compares with the hashes that the result keeps; and reads
 * the result once to compare it with its manifest. Throws as `findManifest` where there is no result.
 *
 * Not promised: that what differs is wrong. A calculation that gives other bytes each time, or whose code was
 * changed since, differs too; the manifest says which code computed the result.
 */
export async function verify(client: Client, id: string, options: VerifyOptions = {}): Promise<Verification> {
  const manifest = await findManifest(client, id);
  const plan = await readPlan(client, manifest);
  const sound = await resultSound(client, manifest);
  const folded = foldedPacks(plan, manifest);
  const there = folded.reduce((sum, range) => sum + sizeOf(range), 0);
  const count = sampleSize(options.sample ?? sampleDefault, there);
  const drawn = drawPacks(folded, count, () => client.random.number());
  const kept = await keptHashes(client, manifest, plan, drawn);
  const waitMs = options.waitMs ?? clientLimits.verifyWaitMs + 3 * plan.packMs;
  const again = await computeAgain(
    client,
    manifest,
    drawn.filter((pack) => kept.has(pack)),
    { ...options, waitMs },
  );

  const judged = drawn.map((pack) => {
    const answer = again.get(pack);
    const error = answer !== undefined && "error" in answer ? { error: answer.error } : {};
    return { pack, chunks: chunksOfPack(plan, pack), outcome: outcomeOf(kept.get(pack), answer), ...error };
  });
  const counted = (outcome: PackOutcome) => judged.filter((one) => one.outcome === outcome).length;
  const others = judged.filter((one) => one.outcome !== "equal");
  return {
    run: manifest.run,
    uid: manifest.uid,
    generation: manifest.generation,
    result: { sha256: manifest.sha256, equal: sound },
    packs: {
      total: packsOf(plan),
      missing: packsOf(plan) - there,
      drawn: drawn.length,
      equal: counted("equal"),
      different: counted("different"),
      "not-folded": counted("not-folded"),
      failed: counted("failed"),
      unanswered: counted("unanswered"),
    },
    others,
    allEqual: sound && others.length === 0,
  };
}

function outcomeOf(kept: string | undefined, again: Verified | undefined): PackOutcome {
  if (kept === undefined) return "not-folded";
  if (again === undefined) return "unanswered";
  if ("error" in again) return "failed";
  return again.sha256 === kept ? "equal" : "different";
}

async function resultSound(client: Client, manifest: Manifest): Promise<boolean> {
  try {
    const { body } = await openResult(client, manifest);
    for await (const _ of body);
    return true;
  } catch (error) {
    if (error instanceof CorruptDataError) return false;
    throw error;
  }
}

/** The hash that the result keeps of each of these packs. */
async function keptHashes(
  client: Client,
  manifest: Manifest,
  plan: Plan,
  packs: readonly number[],
): Promise<PackHashes> {
  const shards = [...new Set(packs.map((pack) => shardOf(plan, pack)))];
  const read = await boundedMap(shards, clientLimits.readsAtOnce, async (shard) => {
    const hashes = await readPackHashes(client, manifest, plan, shard);
    return packs
      .filter((pack) => hashes.has(pack))
      .map((pack) => [pack, hashes.get(pack) as string] as const);
  });
  return new Map(read.flat());
}
