import { createHash } from "node:crypto";
import { encodeCalls } from "../model/calls.ts";
import { decodeJson, wireVersion } from "../model/decode.ts";
import { resultBlobs, runBlobs } from "../model/names.ts";
import { foldsPacksDirectly, gapsOf, packsOf, shardsOf } from "../model/packs.ts";
import { type Manifest, manifestSchema, type Plan } from "../model/run.ts";
import { chunksIn, membersOf, writeHashes } from "./combineShard.ts";
import { readOutputs } from "./output.ts";
import type { Job, WorkerPorts } from "./ports.ts";
import { stillWanted } from "./stillWanted.ts";

/**
 * Folds what is left, has the calculation finish it, writes the result under this attempt's own name and then the
 * create-only manifest that names it. Of several finishers only the first one's manifest stands; the others'
 * results are never read.
 */
export async function finishRun(ports: WorkerPorts, { message, tag }: Job<"finish">): Promise<string> {
  const { run, uid, gen } = message;
  const spec = await ports.documents.spec(run, uid);
  const plan = await ports.documents.plan(run, uid);
  const { parts, members } = await readChildren(ports, plan, message);
  const folded = chunksIn(plan, members);
  const result = await ports.userCode.finish(
    { calculation: spec.calculation, params: spec.params, parts, folded, count: plan.chunks },
    { urgent: true, limitMs: ports.packLimitMs, onStart: () => stillWanted(ports, message) },
  );
  await stillWanted(ports, message);

  const { contentType, body } = result;
  const blobs = resultBlobs(run, uid);
  const blob = blobs.result(gen, tag, result.extension);
  await ports.storage.blobs.create(ports.names.results, blob, body, { contentType });
  const has = new Set(members);
  const missing = gapsOf(plan, { from: 0, to: packsOf(plan) }, (pack) => has.has(pack));
  const manifest: Manifest = {
    v: wireVersion,
    run,
    uid,
    generation: gen,
    calculation: spec.calculation,
    requestHash: spec.requestHash,
    attempt: tag,
    blob,
    contentType,
    bytes: body.length,
    sha256: createHash("sha256").update(body).digest("hex"),
    chunks: plan.chunks,
    folded,
    packs: packsOf(plan),
    complete: missing.length === 0,
    missing,
    calls: encodeCalls(ports.report.take()),
  };
  const name = blobs.manifest(gen);
  const created = await ports.storage.blobs.create(
    ports.names.results,
    name,
    JSON.stringify(manifest, null, 1),
    {
      contentType: "application/json",
    },
  );
  if (created.kind === "existed") await ensureManifest(ports, name);
  return created.kind;
}

/** What finish folds: the packs themselves in a small run, else one node per shard. */
async function readChildren(ports: WorkerPorts, plan: Plan, message: Job<"finish">["message"]) {
  const { run, uid, gen } = message;
  const at = runBlobs(run, uid);
  if (packsOf(plan) === 0) return { parts: [], members: [] };
  if (foldsPacksDirectly(plan)) {
    const members = membersOf(plan, 0, message.members);
    const outputs = await readOutputs(ports, at.partsOf(0), members);
    await writeHashes(ports, message, 0, outputs);
    return { parts: outputs.map((one) => one.bytes), members };
  }
  const shards = Array.from({ length: shardsOf(plan) }, (_, shard) => shard);
  const generations = message.childGens ?? shards.map(() => gen);
  const nodes = new Map<number, Uint8Array>();
  const members: number[] = [];
  for (const generation of new Set(generations)) {
    const wanted = shards.filter((shard) => generations[shard] === generation);
    const outputs = await readOutputs(ports, at.nodesOf(generation, 1), wanted);
    for (const [place, shard] of wanted.entries()) {
      nodes.set(shard, outputs[place]?.bytes ?? new Uint8Array());
      members.push(...membersOf(plan, shard, outputs[place]?.metadata["members"]));
    }
  }
  return {
    parts: shards.map((shard) => nodes.get(shard) as Uint8Array),
    members: members.sort((a, b) => a - b),
  };
}

/** The manifest of another attempt stands; that it decodes is all this one needs. */
async function ensureManifest(ports: WorkerPorts, name: string): Promise<void> {
  const found = await ports.storage.blobs.read(ports.names.results, name);
  if (found.kind === "found") decodeJson(manifestSchema, found.body, name);
}
