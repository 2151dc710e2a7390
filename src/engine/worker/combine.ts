import { attemptOf, type MessageOf } from "../model/message.ts";
import { encodeFoldFacts } from "../model/output.ts";
import { runBlobs } from "../model/runBlobs.ts";
import { childrenOf, coverOfNode, nodeCounts, prefixAt } from "../model/tree.ts";
import { foldBounded, writeHashes } from "./folding/fold.ts";
import { nodesToFold, packsToFold } from "./folding/outputs.ts";
import { writeOutput } from "./folding/writeOutput.ts";
import { stillWanted, taskOptions } from "./markerWatch.ts";
import { type Attempt, MalformedWorkError, type WorkerPorts } from "./ports.ts";

/**
 * Folds what lies directly below a node: the recorded members of a sealed shard, of which it also
 * stores the hashes, or neighboring nodes of the level below in the generations that the message gives. Of the fold of a
 * prefix it also asks whether the calculation stops there; of several answers the one that is written first counts.
 */
export async function combineNode(
  ports: WorkerPorts,
  attempt: Attempt<MessageOf<"combine">>,
): Promise<string> {
  const { message, accepted } = attempt;
  const { run, uid, index, level, gen, members } = message;
  const { calculation, params } = await ports.documents.spec(message);
  const plan = await ports.documents.plan(message);
  const prefix = prefixAt(plan, level, index);
  if (prefix === undefined && index >= (nodeCounts(plan)[level - 1] ?? 0)) {
    throw new MalformedWorkError("bad-range", `there is no node ${level}/${index} in run ${run}`);
  }
  const of = { ports, plan, accepted };
  const below =
    level === 1
      ? await packsToFold(of, index, message)
      : await nodesToFold(of, level - 1, childrenOf(plan, level, index), message);

  const code = ports.versionOf(calculation);
  const cover = coverOfNode(plan, level, index);
  const fold = {
    task: { calculation, params },
    from: cover.from,
    options: taskOptions(ports, attempt),
    code,
    keepHashes: level === 1,
  };
  const { parts, ms, options, facts, hashes } = await foldBounded(ports, fold, below);
  const folded = await ports.userCode.fold({ calculation, params, ...cover, parts }, options);
  let stops: boolean | undefined;
  if (prefix !== undefined) {
    const asked = [{ ...cover, bytes: folded.bytes }];
    const task = { calculation, params, parts: facts.folded > 0 ? asked : [], folded: facts.folded };
    const limitMs = Math.max(options.limitMs - folded.ms, 1);
    stops = await ports.userCode.ask({ ...task, chunks: prefix }, { ...options, limitMs });
  }
  await stillWanted(ports, message, "write");
  if (level === 1) await writeHashes(ports, message, index, hashes);
  const output = {
    bytes: folded.bytes,
    ms: ms + folded.ms,
    code,
    attempt: attemptOf(message),
    stops,
    metadata: encodeFoldFacts({ ...facts, ...(level === 1 ? { members } : {}) }),
  };
  return writeOutput(ports, runBlobs(run, uid).node(gen, level, index), output, attempt);
}
