import { attemptOf } from "../model/message.ts";
import { encodeFoldFacts } from "../model/output.ts";
import { runBlobs } from "../model/runBlobs.ts";
import { childrenOf, nodeCounts } from "../model/tree.ts";
import { foldBounded, foldTally, writeHashes } from "./folding/fold.ts";
import { wantedNodes, wantedPacks } from "./folding/outputs.ts";
import { writeOutput } from "./folding/writeOutput.ts";
import { stillWanted, whileWanted } from "./markerWatch.ts";
import { type Job, MalformedWorkError, type WorkerPorts } from "./ports.ts";
import { sha256Of } from "./sha256Of.ts";

/**
 * Folds what lies directly below a node, in index order: the recorded members of a sealed shard, of which it also
 * keeps the hashes, or neighbouring nodes of the level below in the generations that the message gives.
 */
export async function combineNode(ports: WorkerPorts, job: Job<"combine">): Promise<string> {
  const { message, wanted } = job;
  const { run, uid, origin, index, level, gen, members } = message;
  const { calculation, params } = await ports.documents.spec(run, uid);
  const plan = await ports.documents.plan(run, uid, origin);
  if (index >= (nodeCounts(plan)[level - 1] ?? 0)) {
    throw new MalformedWorkError("bad-range", `there is no node ${level}/${index} in run ${run}`);
  }
  const below =
    level === 1
      ? await wantedPacks(ports, plan, index, members, wanted)
      : await wantedNodes(ports, plan, level - 1, childrenOf(plan, level, index), message, wanted);

  const code = ports.versionOf(calculation);
  const tally = foldTally([code]);
  const hashes: Uint8Array[] = [];
  const { parts, ms, task } = await foldBounded(ports, { calculation, params }, below, {
    task: whileWanted(ports, job),
    gone: "fails",
    onRead(output, bytes) {
      tally.add(output);
      if (level === 1) hashes.push(sha256Of(bytes));
    },
  });
  const folded = await ports.userCode.fold({ calculation, params, parts }, task);
  await stillWanted(ports, message, "write");
  if (level === 1) await writeHashes(ports, message, index, hashes);
  const output = {
    bytes: folded.bytes,
    ms: ms + folded.ms,
    code,
    attempt: attemptOf(message),
    metadata: encodeFoldFacts({ ...tally.facts(), ...(level === 1 ? { members } : {}) }),
  };
  return writeOutput(ports, runBlobs(run, uid, origin).node(gen, level, index), output, wanted);
}
