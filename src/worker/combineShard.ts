import { createHash } from "node:crypto";
import { decodeBitmap, hasBit } from "../model/bitmap.ts";
import { resultBlobs, runBlobs } from "../model/names.ts";
import { chunksOfPack, type Layout, packsOfShard, shardsOf, sizeOf } from "../model/packs.ts";
import { type ReadOutput, readOutputs, writeOutput } from "./output.ts";
import { type Job, MalformedWorkError, type WorkerPorts } from "./ports.ts";
import { stillWanted } from "./stillWanted.ts";

/** Folds the recorded members of one sealed shard, in index order, into a node; and keeps the hashes of its packs. */
export async function combineShard(
  ports: WorkerPorts,
  { message, delivery }: Job<"combine">,
): Promise<string> {
  const { run, uid, index, level, gen } = message;
  const spec = await ports.documents.spec(run, uid);
  const plan = await ports.documents.plan(run, uid);
  if (level !== 1 || index >= shardsOf(plan)) {
    throw new MalformedWorkError("bad-range", `there is no node ${level}/${index} in run ${run}`);
  }
  const members = membersOf(plan, index, message.members);
  const parts = await readOutputs(ports, runBlobs(run, uid).partsOf(index), members);
  const { bytes, ms } = await ports.userCode.fold(
    { calculation: spec.calculation, params: spec.params, parts: parts.map((part) => part.bytes) },
    { urgent: true, limitMs: ports.packLimitMs, onStart: () => stillWanted(ports, message) },
  );
  await stillWanted(ports, message);
  await writeHashes(ports, message, index, parts);
  const facts = message.members === undefined ? {} : { members: message.members };
  return writeOutput(ports, runBlobs(run, uid).node(gen, level, index), {
    bytes,
    ms,
    attempt: delivery.attempt,
    facts,
  });
}

/** The packs of a shard that are folded: all of them, or those whose bit is set. */
export function membersOf(layout: Layout, shard: number, members: string | undefined): number[] {
  const packs = packsOfShard(layout, shard);
  const bits = members === undefined ? undefined : decodeBitmap(members, sizeOf(packs));
  const all = Array.from({ length: sizeOf(packs) }, (_, offset) => packs.from + offset);
  return bits === undefined ? all : all.filter((pack) => hasBit(bits, pack - packs.from));
}

/** Chunks in so many packs. */
export const chunksIn = (layout: Layout, packs: readonly number[]): number =>
  packs.reduce((sum, pack) => sum + sizeOf(chunksOfPack(layout, pack)), 0);

/** The SHA-256 of every member, 32 bytes each in index order, so that a result can be verified after clean-up. */
export async function writeHashes(
  ports: WorkerPorts,
  message: { readonly run: string; readonly uid: string; readonly gen: number },
  shard: number,
  parts: readonly ReadOutput[],
): Promise<void> {
  const hashes = parts.map((part) => createHash("sha256").update(part.bytes).digest());
  const name = resultBlobs(message.run, message.uid).hashes(message.gen, shard);
  await ports.storage.blobs.create(ports.names.results, name, Buffer.concat(hashes), {
    contentType: "application/octet-stream",
  });
}
