import pMap from "p-map";
import * as z from "zod";
import { CorruptDataError } from "../../model/errors.ts";
import type { Verified } from "../../model/output.ts";
import { chunksOfPack, type Layout, packsOf, type Range, shardOf, sizeOf } from "../../model/packs.ts";
import { cutTo, prefixesOf } from "../../model/prefixes.ts";
import { type Manifest, type Plan, rangeSchema } from "../../model/run.ts";
import { type Client, clientLimits, defined } from "../client.ts";
import { findResult, newestSchema, openResult } from "../result.ts";
import { readPlan } from "../runDocuments.ts";
import { invalid } from "../runRequest.ts";
import { count, errorSchema, generation, list, runKey, text } from "../viewSchemas.ts";
import { checkDocuments, documentsSchema } from "./checkDocuments.ts";
import { computeAgain, readPackHashes } from "./computeAgain.ts";

const packOutcome = z.enum(["equal", "different", "not-folded", "failed", "unanswered"]);
export type PackOutcome = z.infer<typeof packOutcome>;
const packCounts = { equal: count, different: count, "not-folded": count, failed: count, unanswered: count };

export const verificationSchema = z
  .object({
    ...runKey,
    generation,
    newest: newestSchema.exactOptional(),
    result: z
      .object({ sha256: text, equal: z.boolean() })
      .describe("The result's bytes compared with the SHA-256 in its manifest."),
    documents: documentsSchema,
    packs: z
      .object({ total: count, missing: count, drawn: count, ...packCounts })
      .describe(
        "`missing`: packs of which the result lacks a chunk or all; they are never drawn. `not-folded`: the result says that it holds the pack, and keeps no hash of it. `failed`: computing it again failed. `unanswered`: no worker answered in time.",
      ),
    others: list(
      z.object({
        pack: count,
        chunks: rangeSchema,
        outcome: packOutcome,
        error: errorSchema.exactOptional(),
      }),
    ).describe("Packs that are not equal, ascending."),
    stop: z
      .object({
        asked: count,
        after: count.exactOptional(),
        others: list(
          z.object({
            chunks: count,
            outcome: z.enum(["unanswered", "different"]),
            error: errorSchema.exactOptional(),
          }),
        ),
      })
      .describe("Whether the calculation would stop again where it stopped.")
      .exactOptional(),
    allEqual: z.boolean(),
  })
  .meta({ id: "Verification" });
export type Verification = z.infer<typeof verificationSchema>;

export interface VerifyOptions {
  /** Default 1 %, at least one pack. */
  readonly sample?: Sample | undefined;
  /** Longest wait without any answer. */
  readonly waitMs?: number | undefined;
  /** Ends the wait: packs without an answer are then `unanswered`. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (answered: number, drawn: number) => void;
}

/**
 * Has workers compute a random sample of packs again and compares with the hashes that the result keeps; also compares
 * the result with its manifest, and the documents that it was computed from with what was recorded of them. Throws as
 * `findResult` if there is no result.
 *
 * Not promised: that a difference is an error. A calculation that gives other bytes each time differs too, and so does
 * one whose code has changed; the manifest names the code of the result.
 */
export async function verify(client: Client, id: string, options: VerifyOptions = {}): Promise<Verification> {
  const { manifest, newest } = await findResult(client, id);
  const read = await readPlan(client, manifest);
  const plan = manifest.stopped === undefined ? read.value : cutTo(read.value, manifest.chunks);
  const equal = await isResultSound(client, manifest);
  const folded = foldedPacks(plan, manifest);
  const { run, uid, generation, sha256 } = manifest;
  const total = packsOf(plan);
  const available = folded.reduce((sum, range) => sum + sizeOf(range), 0);
  const count = sampleSize(options.sample ?? { percent: 1 }, available);
  const drawn = drawPacks(folded, count, () => client.random.number());
  const kept = await keptHashes(client, manifest, plan, drawn);
  const documents = await checkDocuments(client, manifest, read, drawn);
  const waitMs = options.waitMs ?? clientLimits.verifyWaitMs + 3 * plan.packMs;
  const withHash = drawn.filter((pack) => kept.has(pack));
  const answers = await computeAgain(client, manifest, withHash, { ...options, waitMs });
  const stop = await checkStop(client, manifest, read.value, {
    waitMs,
    ...defined({ signal: options.signal }),
  });

  const outcomes = drawn.map((pack) => {
    const answer = answers.get(pack);
    const error = answer !== undefined && "error" in answer ? { error: answer.error } : {};
    return {
      pack,
      chunks: chunksOfPack(plan, pack),
      outcome: comparisonOf(kept.get(pack), answer),
      ...error,
    };
  });
  const counts = { equal: 0, different: 0, "not-folded": 0, failed: 0, unanswered: 0 };
  for (const { outcome } of outcomes) counts[outcome] += 1;
  const others = outcomes.filter((one) => one.outcome !== "equal");
  return {
    run,
    uid,
    generation,
    ...defined({ newest }),
    result: { sha256, equal },
    documents,
    packs: { total, missing: total - available, drawn: drawn.length, ...counts },
    others,
    ...defined({ stop }),
    allEqual:
      equal &&
      !Object.values(documents).includes("different") &&
      others.length === 0 &&
      // A result of which nothing can be compared is not verified.
      (available > 0 || total === 0) &&
      (stop?.others.length ?? 0) === 0,
  };
}

/**
 * Where the calculation of a run may stop: asks again about each prefix up to the end, by the folds that were kept. `stop` must
 * refuse all but the one that the run stopped after, and the result of that one's fold must be the run's.
 */
async function checkStop(
  client: Client,
  manifest: Manifest,
  plan: Plan,
  options: Parameters<typeof computeAgain>[3],
): Promise<Verification["stop"] | undefined> {
  // A run that somebody ended early was not asked about every prefix.
  if (plan.stops !== true || (manifest.stopped === undefined && !manifest.complete)) return undefined;
  const all = prefixesOf(plan.chunks);
  const last = manifest.stopped === undefined ? Number.NaN : all.indexOf(manifest.chunks);
  if (last === -1) throw new CorruptDataError("bad-manifest", `no prefix has ${manifest.chunks} chunks`);
  const numbers = [...all.keys()].slice(0, Number.isNaN(last) ? all.length : last + 1);
  const answers = await computeAgain(client, manifest, numbers, {
    ...options,
    stops: (number) => number === last,
  });
  const others = numbers.flatMap((number) => {
    const answer = answers.get(number);
    const prefix = { chunks: all[number] ?? 0 };
    if (answer === undefined) return { ...prefix, outcome: "unanswered" as const };
    if ("error" in answer) return { ...prefix, outcome: "different" as const, error: answer.error };
    const differs = number === last && answer.sha256 !== manifest.sha256;
    return differs ? { ...prefix, outcome: "different" as const } : [];
  });
  return { asked: numbers.length, ...defined({ after: all[last] }), others };
}

function comparisonOf(kept: string | undefined, again: Verified | undefined): PackOutcome {
  if (kept === undefined) return "not-folded";
  if (again === undefined) return "unanswered";
  if ("error" in again) return "failed";
  return again.sha256 === kept ? "equal" : "different";
}

async function isResultSound(client: Client, manifest: Manifest): Promise<boolean> {
  try {
    const { body } = await openResult(client, manifest);
    for await (const _ of body);
    return true;
  } catch (error) {
    if (error instanceof CorruptDataError) return false;
    throw error;
  }
}

/** The hashes that the result keeps of these packs. */
async function keptHashes(client: Client, manifest: Manifest, plan: Plan, packs: readonly number[]) {
  const shards = new Set(packs.map((pack) => shardOf(plan, pack)));
  const drawn = new Set(packs);
  const read = async (shard: number) => {
    const hashes = await readPackHashes(client, manifest, plan, shard);
    // A shard may have many more packs than were drawn.
    return [...hashes].filter(([pack]) => drawn.has(pack));
  };
  const hashes = await pMap(shards, read, { concurrency: clientLimits.readsAtOnce });
  return new Map(hashes.flat());
}

/** Packs of a run to verify: a number, or a share of them. */
export type Sample = { readonly packs: number } | { readonly percent: number };

/** Parses `25` packs or `1%` of them. Throws `InputError` naming the rule. */
export function parseSample(text: string): Sample {
  const value = Number(text.replace(/\s*%$/, ""));
  const given = text.trim() !== "" && Number.isFinite(value) && value > 0;
  if (given && text.endsWith("%") && value <= 100) return { percent: value };
  if (given && !text.endsWith("%") && Number.isInteger(value) && value <= clientLimits.verifyPacksMax)
    return { packs: value };
  const range = `from 1 to ${clientLimits.verifyPacksMax} (verifyPacksMax)`;
  throw invalid("sample", `${text} is neither a number of packs ${range} nor a share such as 1%, up to 100%`);
}

/** Number of packs to draw: rounded up, so that a share of a small run is at least one; at most `verifyPacksMax`. */
export function sampleSize(sample: Sample, packs: number): number {
  const wanted = "packs" in sample ? sample.packs : Math.ceil((packs * sample.percent) / 100);
  return Math.min(wanted, packs, clientLimits.verifyPacksMax);
}

/** Ranges of the packs that the result folded whole, ascending. */
export function foldedPacks(layout: Layout, { missing }: Pick<Manifest, "missing">): Range[] {
  const folded: Range[] = [];
  let from = 0;
  for (const gap of missing) {
    folded.push({ from, to: Math.floor(gap.from / layout.packSize) });
    from = Math.ceil(gap.to / layout.packSize);
  }
  folded.push({ from, to: packsOf(layout) });
  return folded.filter((range) => sizeOf(range) > 0);
}

/** Draws different packs from the ranges, each with equal probability (R. Floyd's algorithm); ascending. */
export function drawPacks(ranges: readonly Range[], count: number, random: () => number): number[] {
  const all = ranges.reduce((sum, range) => sum + sizeOf(range), 0);
  const drawn = new Set<number>();
  for (let top = all - Math.min(count, all); top < all; top += 1) {
    const index = Math.floor(random() * (top + 1));
    drawn.add(drawn.has(index) ? top : index);
  }
  const indexes = [...drawn].sort((a, b) => a - b);
  let before = 0;
  return ranges.flatMap((range) => {
    const first = before;
    before += sizeOf(range);
    return indexes
      .filter((index) => index >= first && index < before)
      .map((index) => range.from + index - first);
  });
}
