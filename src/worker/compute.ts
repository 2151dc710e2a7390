import { CalculationError, InputError } from "../model/errors.ts";
import { attemptOf } from "../model/message.ts";
import { encodeVerified, type Verified } from "../model/output.ts";
import { chunksOfPack, packsOf, shardOf } from "../model/packs.ts";
import type { Plan, Spec } from "../model/run.ts";
import { resultBlobs, runBlobs } from "../model/runBlobs.ts";
import { writeOutput } from "./folding/writeOutput.ts";
import { stillWanted, whileWanted } from "./markerWatch.ts";
import { type Job, MalformedWorkError, type WorkerPorts } from "./ports.ts";
import { sha256Of } from "./sha256Of.ts";
import type { TaskOptions, TaskOutput } from "./threads/userCode.ts";

/**
 * Parameters were checked where the run was submitted, by the schema there. A parameter that this process's schema does
 * not know, or wants and does not get, would reach user code as `undefined`, and the result would be wrong. No other
 * attempt by this code fares better, so the failure is final.
 */
export function checkParams(
  { checkParams: check }: Pick<WorkerPorts, "checkParams">,
  { calculation, params, given }: Spec,
): void {
  try {
    check?.(calculation, given ?? params);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new CalculationError(
      "bad-parameter",
      `the parameters do not fit ${calculation} as the instances have it: ${error.message}`,
    );
  }
}

/** Computes the chunks of one pack, folded in index order, and writes their partial under the pack's own name. */
export async function computePack(ports: WorkerPorts, job: Job<"compute">): Promise<string> {
  const { message, delivery, wanted } = job;
  const { run, uid, origin, pack, shard, from, to } = message;
  const spec = await ports.documents.spec(run, uid);
  const plan = await ports.documents.plan(run, uid, origin);
  const range = chunksOfPack(plan, pack);
  if (pack >= packsOf(plan) || shard !== shardOf(plan, pack) || from !== range.from || to !== range.to) {
    throw new MalformedWorkError("bad-range", `chunks ${from} to ${to} are not pack ${pack} of run ${run}`);
  }
  // Other code than the plan's computes only where a retry mixes, and then it has not checked them yet.
  if (wanted.mix !== undefined) checkParams(ports, spec);
  const code = ports.versionOf(spec.calculation);
  const { bytes, ms } = await computed(ports, plan, pack, whileWanted(ports, job, delivery.urgent));
  await stillWanted(ports, message, "write");
  const output = { bytes, ms, code, attempt: attemptOf(message) };
  return writeOutput(ports, runBlobs(run, uid, origin).part(shard, pack), output, wanted);
}

/** The partial of a pack. */
export async function computed(
  ports: WorkerPorts,
  plan: Plan,
  pack: number,
  task: TaskOptions,
): Promise<TaskOutput> {
  const { calculation, params } = await ports.documents.spec(plan.run, plan.uid);
  const { from, to } = chunksOfPack(plan, pack);
  const inputs = await ports.documents.inputs(plan, from, to);
  const job = { calculation, params, from, to, count: plan.chunks };
  return ports.userCode.compute(inputs === undefined ? job : { ...job, inputs }, task);
}

/** Computes a pack again and writes the hash of its partial, and nothing else. The run may have ended long ago. */
export async function verifyPack(ports: WorkerPorts, job: Job<"verify">): Promise<string> {
  const { message, delivery } = job;
  const { run, uid, origin, pack } = message;
  const plan = await ports.documents.plan(run, uid, origin);
  if (pack >= packsOf(plan)) {
    throw new MalformedWorkError("bad-range", `run ${run} has ${packsOf(plan)} packs, and no pack ${pack}`);
  }
  const { bytes, ms } = await computed(ports, plan, pack, whileWanted(ports, job, delivery.urgent));
  return writeVerified(ports, message, { sha256: sha256Of(bytes).toString("hex"), ms });
}

/** The first answer stands: its client may have read it. */
export async function writeVerified(
  ports: Pick<WorkerPorts, "storage" | "names">,
  message: Pick<Job<"verify">["message"], "run" | "uid" | "tag" | "pack">,
  verified: Verified,
): Promise<string> {
  const { run, uid, tag, pack } = message;
  const name = resultBlobs(run, uid).verified(tag, pack);
  const created = await ports.storage.blobs.create(ports.names.results, name, JSON.stringify(verified), {
    contentType: "application/json",
    metadata: encodeVerified(verified),
  });
  return created.kind;
}
