import { keepSamples, type Samples, sampleLimitMs, timeChunks } from "../calculations/timeChunks.ts";
import { encodeCalls } from "../model/calls.ts";
import { wireVersion } from "../model/decode.ts";
import { packSizeFor, shardSizeFor } from "../model/packs.ts";
import type { Plan } from "../model/run.ts";
import { runBlobs } from "../model/runBlobs.ts";
import { checkParams } from "./compute.ts";
import { stillWanted, whileWanted } from "./markerWatch.ts";
import type { Job, WorkerPorts } from "./ports.ts";

/**
 * Plans a run: lists its chunks (inputs go to segments under this attempt's own name), times a few of them and
 * fixes how many make a pack. `plan.json` is create-only and names the one attempt whose segments count, so that a
 * plan which lists a changing folder is never mixed from two.
 */
export async function planRun(ports: WorkerPorts, job: Job<"plan">): Promise<string> {
  const { message, tag } = job;
  const { run, uid, origin } = message;
  const spec = await ports.documents.spec(run, uid);
  checkParams(ports, spec);
  const at = runBlobs(run, uid, origin);
  const starts: number[] = [];
  const samples: Samples = new Map();
  let from = 0;

  const planned = await ports.userCode.plan(
    { calculation: spec.calculation, params: spec.params },
    async (inputs) => {
      // A plan may go on for long: what it writes after a deletion would stay for ever.
      await stillWanted(ports, message, "write");
      const body = JSON.stringify({ v: wireVersion, from, inputs });
      await ports.storage.blobs.create(ports.names.runs, at.segment(tag, starts.length), body, {
        contentType: "application/json",
      });
      starts.push(from);
      keepSamples(samples, from, inputs);
      from += inputs.length;
    },
    whileWanted(ports, job),
  );

  const { calculation, params } = spec;
  const sampleTask = { urgent: true, limitMs: Math.min(ports.packLimitMs, sampleLimitMs) };
  const chunkMs = await timeChunks(planned, samples, (chunk) =>
    ports.userCode.compute({ calculation, params, ...chunk }, sampleTask),
  );
  const packSize = spec.packSize ?? packSizeFor(planned.chunks, chunkMs);
  const plan: Plan = {
    v: wireVersion,
    run,
    uid,
    ...(origin === undefined ? {} : { origin }),
    code: ports.versionOf(calculation),
    chunks: planned.chunks,
    packSize,
    shardSize: shardSizeFor(Math.ceil(planned.chunks / packSize), ports.tree),
    fanIn: ports.tree.fanIn,
    packMs: chunkMs * packSize,
    ...(planned.list ? { segments: { attempt: tag, starts } } : {}),
    calls: encodeCalls(ports.report.take()),
  };
  await stillWanted(ports, message, "write");
  const created = await ports.storage.blobs.create(ports.names.runs, at.plan, JSON.stringify(plan), {
    contentType: "application/json",
  });
  return created.kind;
}
