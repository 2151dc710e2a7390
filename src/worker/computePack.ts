import { attemptOf } from "../model/message.ts";
import { runBlobs } from "../model/names.ts";
import { chunksOfPack, packsOf, shardOf } from "../model/packs.ts";
import type { Plan } from "../model/run.ts";
import { checkParams } from "./checkParams.ts";
import { type Job, MalformedWorkError, type WorkerPorts } from "./ports.ts";
import { stillWanted, whileWanted } from "./stillWanted.ts";
import type { TaskOptions, TaskOutput } from "./userCode.ts";
import { writeOutput } from "./writeOutput.ts";

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
