import { requireSpec } from "../../../src/engine/client/runDocuments.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import type { WorkMessage } from "../../../src/engine/model/message.ts";
import type { Verified } from "../../../src/engine/model/output.ts";
import type { Manifest, Plan } from "../../../src/engine/model/run.ts";
import { resultBlobs, runBlobs } from "../../../src/engine/model/runBlobs.ts";
import { type ClientWorld, names } from "../clientWorld.ts";
import { answeringWorker, putVerified, sha256 } from "./answeringWorker.ts";

export type VerifyAsk = Extract<WorkMessage, { kind: "verify" }>;

const partial = (pack: number): string => `partial of ${pack}`;

/** What computing a pack again gives where nothing is wrong. */
export const right = ({ pack }: VerifyAsk): Verified => ({ sha256: sha256(partial(pack)), ms: 5 });

/** Makes a finished run of 1,000 chunks in 100 packs and 10 shards, its hashes as its workers kept them. */
export async function finishedRun(world: ClientWorld, change: Partial<Manifest> = {}) {
  const { client, storage } = world;
  const run = await submit(client, { calculation: "sum", params: { to: 1_000 }, id: "r1" });
  const cut = { chunks: 1_000, packSize: 10, shardSize: 10, fanIn: 1_000 };
  const plan: Plan = {
    v: 1,
    run: "r1",
    uid: run.uid,
    code: "test",
    spec: "a".repeat(64),
    ...cut,
    packMs: 10,
  };
  const putPlan = (other: Partial<Plan> = {}): void =>
    storage.operator.overwriteBlob(
      names.runs,
      runBlobs("r1", run.uid).plan,
      JSON.stringify({ ...plan, ...other }),
    );
  putPlan();
  const { value, sha256: specHash } = await requireSpec(client, "r1");
  const { requestHash } = value;
  const documents = { spec: specHash, plan: sha256(JSON.stringify(plan)) };
  const facts = { chunks: 1_000, folded: 1_000, packs: 100, requestHash, ...documents };
  const manifest = await world.putResult(run, "499500", { ...facts, ...change });
  await world.putState(run, { phase: "complete", generation: manifest.generation });
  storage.operator.deleteBlob(names.active, "r1");
  /** Keeps the hashes of these packs of a shard. */
  const putHashes = (generation: number, shard: number, packs: readonly number[], members?: string) =>
    storage.blobs.create(
      names.results,
      resultBlobs("r1", run.uid).hashes(generation, shard),
      Buffer.concat(packs.map((pack) => Buffer.from(sha256(partial(pack)), "hex"))),
      { metadata: members === undefined ? {} : { members } },
    );
  for (let shard = 0; shard < 10; shard += 1) {
    await putHashes(
      1,
      shard,
      Array.from({ length: 10 }, (_, place) => shard * 10 + place),
    );
  }
  return { run, manifest, putPlan, putHashes };
}

/** A worker that computes packs again by hand; undefined is no answer. Gives what it was asked for. */
export const verifyingWorker = (
  world: ClientWorld,
  answer: (ask: VerifyAsk) => Verified | undefined = right,
): readonly VerifyAsk[] =>
  answeringWorker(world, async (message) => {
    const verified = answer(message as VerifyAsk);
    if (verified !== undefined) await putVerified(world, message as VerifyAsk, verified);
  }) as readonly VerifyAsk[];
