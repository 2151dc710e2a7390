import { LeasefoldError } from "../model/errors.ts";
import type { MessageOf } from "../model/message.ts";
import { belongsTo, decodeFoldFacts, type FoldFacts, parseOutputFacts } from "../model/output.ts";
import { joined, packsOf, type Range, rangesOfShard, shardsOf, sizeOf } from "../model/packs.ts";
import { askedLevel, cutTo, prefixesOf } from "../model/prefixes.ts";
import { type Manifest, manifestSchema, type Plan } from "../model/run.ts";
import { lastNumberOf, resultBlobs, runBlobs } from "../model/runBlobs.ts";
import { foldsPacksDirectly, nodeCounts, topLevel } from "../model/tree.ts";
import { versions } from "../model/versions.ts";
import { readDocument } from "../storage/callSteps.ts";
import { foldBounded, writeHashes } from "./folding/fold.ts";
import {
  chunksOfGaps,
  type FoundOutput,
  listOutputs,
  nodesToFold,
  type OutputsOf,
  packsToFold,
} from "./folding/outputs.ts";
import { stillWanted, taskOptions } from "./markerWatch.ts";
import { type Attempt, MalformedWorkError, type WorkerPorts } from "./ports.ts";
import { removeResult, uploadResult } from "./uploadResult.ts";

/**
 * Folds what is left, has the calculation finish it, writes the result under this attempt's own name and then the
 * create-only manifest that names it. Of several finishers only the first one's manifest stands; the others
 * remove their results.
 */
export async function finishRun(ports: WorkerPorts, attempt: Attempt<MessageOf<"finish">>): Promise<string> {
  const { message, tag, accepted } = attempt;
  const { run, uid, gen } = message;
  const spec = await ports.documents.spec(message);
  const { calculation, params, requestHash } = spec;
  const whole = await ports.documents.plan(message);
  const { stopped } = message;
  const plan = stopped === undefined ? whole : cutTo(whole, stopped);
  const top =
    stopped === undefined
      ? await topOfTree({ ports, plan, accepted }, message)
      : await foldOfPrefix({ ports, plan: whole, accepted }, message, stopped);
  const fold = {
    task: { calculation, params },
    from: 0,
    options: taskOptions(ports, attempt),
    code: ports.versionOf(calculation),
    keepHashes: stopped === undefined && foldsPacksDirectly(plan),
  };
  const { parts, options, facts, hashes } = await foldBounded(ports, fold, top);
  const { folded, attempts, code } = facts;
  const missing = await missingChunks({ ports, plan, accepted }, message, folded);
  const task = { calculation, params, parts, folded, count: plan.chunks };
  const made = await ports.userCode.finish(task, options);
  const { extension } = made;
  await stillWanted(ports, message, "write");
  if (hashes.length > 0) await writeHashes(ports, message, 0, hashes);

  const { tags } = spec;
  const uploaded = await uploadResult(
    ports,
    attempt,
    resultBlobs(run, uid).result(gen, tag, extension),
    made,
  );
  return writeManifest(ports, {
    v: versions.manifest,
    run,
    uid,
    generation: gen,
    calculation,
    requestHash,
    spec: spec.sha256,
    plan: plan.sha256,
    attempt: tag,
    ...uploaded,
    chunks: plan.chunks,
    folded,
    packs: packsOf(plan),
    complete: missing.length === 0,
    missing,
    code: [...code],
    ...(stopped === undefined ? {} : { stopped: { of: whole.chunks } }),
    ...(code.length > 1 ? { mixed: true } : {}),
    ...(made.notes === undefined ? {} : { notes: [...made.notes] }),
    attempts,
    terms: message.terms ?? [],
    ...(tags === undefined ? {} : { tags }),
  });
}

/** What finish folds: the packs themselves in a run of one shard, else the nodes of the highest level. */
async function topOfTree(of: OutputsOf, message: MessageOf<"finish">): Promise<FoundOutput[]> {
  const { plan } = of;
  if (packsOf(plan) === 0) return [];
  const level = topLevel(plan);
  if (level === 0) return packsToFold(of, 0, message);
  return nodesToFold(of, level, { from: 0, to: nodeCounts(plan)[level - 1] ?? 0 }, message);
}

/** The fold of the prefix after which the run stopped: the very bytes that the calculation was asked about. */
async function foldOfPrefix(
  of: OutputsOf & { readonly plan: Plan },
  { run, gen }: MessageOf<"finish">,
  prefix: number,
): Promise<FoundOutput[]> {
  const index = prefixesOf(of.plan.chunks).indexOf(prefix);
  if (of.plan.stops !== true || index < 0)
    throw new MalformedWorkError("bad-range", `run ${run} is not asked about its first ${prefix} chunks`);
  return nodesToFold(of, askedLevel, { from: index, to: index + 1 }, { gen });
}

/**
 * The manifest of another attempt stands, if there is one; it only has to decode, and then nothing will ever name this
 * attempt's result. A create that throws may have happened, or may happen late, so its result stays.
 */
async function writeManifest(ports: WorkerPorts, manifest: Manifest): Promise<string> {
  const { storage, names } = ports;
  const { results } = names;
  const name = resultBlobs(manifest.run, manifest.uid).manifest(manifest.generation);
  const text = JSON.stringify(manifest, null, 1);
  const created = await storage.blobs.create(results, name, text, { contentType: "application/json" });
  if (created.kind === "existed") {
    const there = await readDocument(storage.blobs, [results, name], manifestSchema);
    if (there === undefined) return created.kind;
    const { blob } = there.value;
    // The manifest is this attempt's own where `existed` answers a repeat of the same call.
    if (blob !== manifest.blob) await removeResult(ports, manifest.blob);
  }
  return created.kind;
}

/**
 * The chunk ranges that a result misses. Only the shards' nodes record their members, so in a run with gaps they are
 * listed, and the partials below those that lack chunks; of several generations of a node the highest is the one that was folded.
 * Throws if the ranges do not add up to what was folded: a list of gaps is right or there is no result.
 */
async function missingChunks(of: OutputsOf, message: MessageOf<"finish">, folded: number): Promise<Range[]> {
  const { plan } = of;
  if (folded === plan.chunks) return [];
  const shards = foldsPacksDirectly(plan)
    ? [[0, { members: message.members, folded }] as const]
    : [...(await factsOfShards(of, message.gen))].sort(([a], [b]) => a - b);
  const ranges: Range[] = [];
  for (const [shard, facts] of shards)
    ranges.push(
      ...rangesOfShard(plan, shard, facts.members, "missing", await chunksOfGaps(of, shard, facts)),
    );
  const missing = joined(ranges);
  const chunks = missing.reduce((sum, range) => sum + sizeOf(range), 0);
  if (chunks + folded === plan.chunks) return missing;
  const text = `${folded} of ${plan.chunks} chunks were folded, but the shards list ${chunks} that were not`;
  throw new LeasefoldError("gaps-differ", text);
}

async function factsOfShards(
  { ports, plan, accepted }: OutputsOf,
  gen: number,
): Promise<Map<number, Pick<FoldFacts, "members" | "folded">>> {
  const facts = new Map<number, Pick<FoldFacts, "members" | "folded">>();
  for (let generation = 1; generation <= gen; generation += 1) {
    const nodes = runBlobs(plan.run, plan.uid).nodesOf(generation, 1);
    for await (const { name, metadata, contentType } of listOutputs(ports, nodes)) {
      if (!belongsTo(accepted, parseOutputFacts(contentType))) continue;
      const shard = lastNumberOf(name);
      // What was folded beyond the end of a run that stopped is none of it.
      if (shard < shardsOf(plan)) facts.set(shard, decodeFoldFacts(metadata, name));
    }
  }
  return facts;
}
