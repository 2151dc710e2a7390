import { hash } from "node:crypto";
import { CalculationError, InputError } from "../model/errors.ts";
import { attemptOf, type MessageOf } from "../model/message.ts";
import { encodeVerified, type Verified } from "../model/output.ts";
import { chunksOfPack, packsOf, shardOf } from "../model/packs.ts";
import type { Plan, Spec } from "../model/run.ts";
import { resultBlobs, runBlobs } from "../model/runBlobs.ts";
import { coverOfPack } from "../model/tree.ts";
import { writeOutput } from "./folding/outputs.ts";
import { stillWanted, taskOptions } from "./markerWatch.ts";
import { type Attempt, MalformedWorkError, type WorkerPorts } from "./ports.ts";
import type { TaskOptions, TaskOutput } from "./threads/userCode.ts";

/** Computes the chunks of one pack, folds them, and writes their partial under the pack's own name. */
export async function computePack(
  ports: WorkerPorts,
  attempt: Attempt<MessageOf<"compute">>,
): Promise<string> {
  const { message, wanted } = attempt;
  const { run, uid, origin, pack, shard, from, to } = message;
  const spec = await ports.documents.spec(message);
  const plan = await ports.documents.plan(message);
  const range = chunksOfPack(plan, pack);
  if (pack >= packsOf(plan) || shard !== shardOf(plan, pack) || from !== range.from || to !== range.to) {
    throw new MalformedWorkError("bad-range", `chunks ${from} to ${to} are not pack ${pack} of run ${run}`);
  }
  // Other code than the plan's computes only where a retry mixes, and then it has not checked them yet.
  if (wanted.mix !== undefined) checkParams(ports, spec);
  const code = ports.versionOf(spec.calculation);
  const { storage, names } = ports;
  let saves = false;
  // Its name is that of its bytes, so whichever attempt is first is right; the partial that names it comes second.
  const onSave = async (name: string, body: Uint8Array): Promise<void> => {
    await stillWanted(ports, message, "write");
    await storage.blobs.create(names.results, resultBlobs(run, uid).file(name), body);
    saves = true;
  };
  const { bytes, ms } = await computed(ports, plan, attempt, onSave);
  await stillWanted(ports, message, "write");
  const output = { bytes, ms, code, attempt: attemptOf(message), saves };
  return writeOutput(ports, runBlobs(run, uid, origin).part(shard, pack), output, wanted);
}

/** Computes a pack again and writes the hash of its partial, and nothing else. The run may have ended long ago. */
export async function verifyPack(ports: WorkerPorts, attempt: Attempt<MessageOf<"verify">>): Promise<string> {
  const { message } = attempt;
  const plan = await ports.documents.plan(message);
  const packs = packsOf(plan);
  if (message.pack >= packs) {
    throw new MalformedWorkError(
      "bad-range",
      `run ${message.run} has ${packs} packs, and no pack ${message.pack}`,
    );
  }
  const { bytes, ms } = await computed(ports, plan, attempt);
  return writeVerified(ports, message, { sha256: hash("sha256", bytes), ms });
}

async function computed(
  ports: WorkerPorts,
  plan: Plan,
  attempt: Attempt<MessageOf<"compute" | "verify">>,
  onSave?: TaskOptions["onSave"],
): Promise<TaskOutput> {
  const { message, delivery } = attempt;
  const { calculation, params } = await ports.documents.spec(message);
  const { from, to } = chunksOfPack(plan, message.pack);
  const inputs = await ports.documents.inputs(plan, from, to);
  const coverTo = coverOfPack(plan, message.pack).to;
  const task = { calculation, params, from, to, count: plan.chunks, coverTo };
  const options = { ...taskOptions(ports, attempt, delivery.urgent), onSave };
  return ports.userCode.compute(inputs === undefined ? task : { ...task, inputs }, options);
}

/** Writes an answer to `verify`. The first one stands: its client may have read it. */
export async function writeVerified(
  { storage, names }: WorkerPorts,
  { run, uid, tag, pack }: MessageOf<"verify">,
  verified: Verified,
): Promise<string> {
  const name = resultBlobs(run, uid).verified(tag, pack);
  const created = await storage.blobs.create(names.results, name, JSON.stringify(verified), {
    contentType: "application/json",
    metadata: encodeVerified(verified),
  });
  return created.kind;
}

/**
 * Checks parameters, which were checked at submit, by the schema of this process. A parameter that this schema does not
 * know, or requires and does not get, would reach user code as `undefined`, and the result would be wrong. The failure is
 * final, because every attempt by this code would meet it.
 */
export function checkParams(ports: WorkerPorts, { calculation, params, given }: Spec): void {
  try {
    ports.checkParams?.(calculation, given ?? params);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new CalculationError(
      "bad-parameter",
      `the parameters do not fit ${calculation} as the instances have it: ${error.message}`,
    );
  }
}
