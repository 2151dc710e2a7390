import { encodeCalls } from "../model/calls.ts";
import { decodeJson, wireVersion } from "../model/decode.ts";
import { LeasefoldError } from "../model/errors.ts";
import { isMixed, type WantedCode } from "../model/identity.ts";
import { decodeFoldFacts } from "../model/output.ts";
import { joined, packsOf, type Range, rangesOfShard, sizeOf } from "../model/packs.ts";
import { type Manifest, manifestSchema, type Plan } from "../model/run.ts";
import { lastNumberOf, resultBlobs, runBlobs } from "../model/runBlobs.ts";
import { foldsPacksDirectly, nodeCounts, topLevel } from "../model/tree.ts";
import { foldBounded, foldTally, writeHashes } from "./folding/fold.ts";
import { type FoundOutput, listOutputs, wantedNodes, wantedPacks } from "./folding/outputs.ts";
import { stillWanted, whileWanted } from "./markerWatch.ts";
import type { Job, WorkerPorts } from "./ports.ts";
import { sha256Of } from "./sha256Of.ts";

/**
 * Folds what is left, has the calculation finish it, writes the result under this attempt's own name and then the
 * create-only manifest that names it. Of several finishers only the first one's manifest stands; the others'
 * results are never read.
 */
export async function finishRun(ports: WorkerPorts, job: Job<"finish">): Promise<string> {
  const { message, tag, wanted } = job;
  const { run, uid, gen, origin } = message;
  const spec = await ports.documents.spec(run, uid);
  const plan = await ports.documents.plan(run, uid, origin);
  const { calculation, params, requestHash } = spec;
  const directly = foldsPacksDirectly(plan);
  const tally = foldTally([ports.versionOf(calculation)]);
  const hashes: Uint8Array[] = [];
  const { parts, task } = await foldBounded(
    ports,
    { calculation, params },
    await topOfTree(ports, plan, message, wanted),
    {
      task: whileWanted(ports, job),
      gone: "fails",
      onRead(output, bytes) {
        tally.add(output);
        if (directly) hashes.push(sha256Of(bytes));
      },
    },
  );
  const { folded, attempts, code } = tally.facts();
  const missing = await missingChunks(ports, plan, message, folded);
  const result = await ports.userCode.finish(
    { calculation, params, parts, folded, count: plan.chunks },
    task,
  );
  await stillWanted(ports, message, "write");
  if (hashes.length > 0) await writeHashes(ports, message, 0, hashes);

  const { contentType, body } = result;
  const { blobs } = ports.storage;
  const { results } = ports.names;
  const blob = resultBlobs(run, uid).result(gen, tag, result.extension);
  await blobs.create(results, blob, body, { contentType });
  const manifest: Manifest = {
    v: wireVersion,
    run,
    uid,
    generation: gen,
    calculation,
    requestHash,
    attempt: tag,
    blob,
    contentType,
    bytes: body.length,
    sha256: sha256Of(body).toString("hex"),
    chunks: plan.chunks,
    folded,
    packs: packsOf(plan),
    complete: missing.length === 0,
    missing,
    code: [...code],
    ...(origin === undefined ? {} : { origin }),
    ...(isMixed(code) ? { mixed: true } : {}),
    attempts,
    terms: message.terms ?? [],
    calls: encodeCalls(ports.report.take()),
  };
  const name = resultBlobs(run, uid).manifest(gen);
  const text = JSON.stringify(manifest, null, 1);
  const created = await blobs.create(results, name, text, { contentType: "application/json" });
  if (created.kind === "existed") await ensureManifest(ports, name);
  return created.kind;
}

/** What finish folds: the packs themselves in a run of one shard, else the nodes of the highest level. */
async function topOfTree(
  ports: WorkerPorts,
  plan: Plan,
  message: Job<"finish">["message"],
  wanted: WantedCode,
): Promise<FoundOutput[]> {
  if (packsOf(plan) === 0) return [];
  const level = topLevel(plan);
  if (level === 0) return wantedPacks(ports, plan, 0, message.members, wanted);
  const nodes = { from: 0, to: nodeCounts(plan)[level - 1] ?? 0 };
  return wantedNodes(ports, plan, level, nodes, message, wanted);
}

/** The manifest of another attempt stands; that it decodes is all this one needs. */
async function ensureManifest(ports: WorkerPorts, name: string): Promise<void> {
  const found = await ports.storage.blobs.read(ports.names.results, name);
  if (found.kind === "found") decodeJson(manifestSchema, found.body, name);
}

/**
 * The chunk ranges that a result misses. Only the shards' nodes tell their members, so in a run with gaps they are
 * listed; of several generations of a node the highest is the one that was folded. Throws if the ranges do not add
 * up to what was folded: a list of gaps is right or there is no result.
 */
export async function missingChunks(
  ports: WorkerPorts,
  plan: Plan,
  message: { readonly gen: number; readonly members?: string | undefined },
  folded: number,
): Promise<Range[]> {
  if (folded === plan.chunks) return [];
  const members = foldsPacksDirectly(plan)
    ? new Map([[0, message.members]])
    : await membersOfShards(ports, plan, message.gen);
  const shards = [...members].sort(([a], [b]) => a - b);
  const missing = joined(shards.flatMap(([shard, bits]) => rangesOfShard(plan, shard, bits, "missing")));
  const chunks = missing.reduce((sum, range) => sum + sizeOf(range), 0);
  if (chunks + folded === plan.chunks) return missing;
  const text = `${folded} of ${plan.chunks} chunks were folded, but the shards tell of ${chunks} that were not`;
  throw new LeasefoldError("gaps-differ", text);
}

async function membersOfShards(
  ports: WorkerPorts,
  plan: Plan,
  gen: number,
): Promise<Map<number, string | undefined>> {
  const members = new Map<number, string | undefined>();
  for (let generation = plan.origin ?? 1; generation <= gen; generation += 1) {
    const nodes = runBlobs(plan.run, plan.uid, plan.origin).nodesOf(generation, 1);
    for await (const { name, metadata } of listOutputs(ports, nodes)) {
      members.set(lastNumberOf(name), decodeFoldFacts(metadata, name).members);
    }
  }
  return members;
}
