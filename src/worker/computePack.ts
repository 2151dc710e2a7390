import { runBlobs } from "../model/names.ts";
import { chunksOfPack, packsOf, shardOf } from "../model/packs.ts";
import { writeOutput } from "./output.ts";
import { type Job, MalformedWorkError, type WorkerPorts } from "./ports.ts";
import { stillWanted } from "./stillWanted.ts";

/** Computes the chunks of one pack, folded in index order, and writes their partial under the pack's own name. */
export async function computePack(
  ports: WorkerPorts,
  { message, delivery }: Job<"compute">,
): Promise<string> {
  const { run, uid, pack, shard, from, to } = message;
  const spec = await ports.documents.spec(run, uid);
  const plan = await ports.documents.plan(run, uid);
  const range = chunksOfPack(plan, pack);
  if (pack >= packsOf(plan) || shard !== shardOf(plan, pack) || from !== range.from || to !== range.to) {
    throw new MalformedWorkError("bad-range", `chunks ${from} to ${to} are not pack ${pack} of run ${run}`);
  }
  const inputs = await ports.documents.inputs(plan, from, to);
  const { bytes, ms } = await ports.userCode.compute(
    {
      calculation: spec.calculation,
      params: spec.params,
      from,
      to,
      count: plan.chunks,
      ...(inputs === undefined ? {} : { inputs }),
    },
    { urgent: delivery.urgent, limitMs: ports.packLimitMs, onStart: () => stillWanted(ports, message) },
  );
  await stillWanted(ports, message);
  return writeOutput(ports, runBlobs(run, uid).part(shard, pack), { bytes, ms, attempt: delivery.attempt });
}
