import { decodeBitmap, hasBit } from "../model/bitmap.ts";
import { limits } from "../model/limits.ts";
import type { MessageOf } from "../model/message.ts";
import {
  chunksOfPack,
  joined,
  type Range,
  rangesIn,
  rangesOfShard,
  shardsOf,
  sizeOf,
} from "../model/packs.ts";
import { cutTo } from "../model/prefixes.ts";
import type { Answer } from "../model/run.ts";
import { resultBlobs } from "../model/runBlobs.ts";
import { versions } from "../model/versions.ts";
import { foldBounded } from "./folding/fold.ts";
import {
  chunksOfGaps,
  type FoundOutput,
  findNodes,
  findPacks,
  generationsOf,
  type OutputsOf,
} from "./folding/outputs.ts";
import { taskOptions } from "./markerWatch.ts";
import type { Attempt, WorkerPorts } from "./ports.ts";
import { uploadResult } from "./uploadResult.ts";

/** An output, with the chunk ranges that its bytes stand for. */
type CoveringOutput = FoundOutput & { readonly covers: readonly Range[] };

/**
 * Answers what a run would give if it ended now: folds the sealed shards that the message names and what there is of
 * open ones, and has the calculation finish that. What goes away meanwhile is left out; the answer lists the chunks that
 * it covers. Writes its answer and nothing else.
 */
export async function answerSoFar(ports: WorkerPorts, attempt: Attempt<MessageOf<"sofar">>): Promise<string> {
  const { message, tag, accepted } = attempt;
  const { run, uid, gen } = message;
  const { calculation, params } = await ports.documents.spec(message);
  const whole = await ports.documents.plan(message);
  const plan = message.stopped === undefined ? whole : cutTo(whole, message.stopped);
  const covers: Range[] = [];
  const fold = {
    task: { calculation, params },
    from: 0,
    options: taskOptions(ports, attempt),
    leaveOutGone: true,
    onRead: (output: CoveringOutput) => void covers.push(...output.covers),
  };
  const { parts, options, facts } = await foldBounded(
    ports,
    fold,
    outputsSoFar({ ports, plan, accepted }, message),
  );
  // From the manifest on, partials are cleaned up, and the result says more than any answer.
  const { blobs } = ports.storage;
  const { results } = ports.names;
  const at = resultBlobs(run, uid);
  if ((await blobs.head(results, at.manifest(gen))).kind === "found") {
    return writeAnswer(ports, message, refusal("finished", `run ${run} has its result`));
  }
  const { folded } = facts;
  const count = plan.chunks;
  const result = await ports.userCode.finish({ calculation, params, parts, folded, count }, options);
  const uploaded = await uploadResult(
    ports,
    attempt,
    at.answerBytes(message.tag, tag, result.extension),
    result,
  );
  return writeAnswer(ports, message, {
    v: versions.answer,
    ok: true,
    run,
    uid,
    generation: gen,
    ...uploaded,
    chunks: count,
    folded,
    covers: joined(covers),
  });
}

export const refusal = (code: string, message: string): Answer => ({
  v: versions.answer,
  ok: false,
  code,
  message: message.slice(0, limits.errorCharactersMax),
});

/** Writes an answer to `sofar`. The first one stands: its client may have read it. */
export async function writeAnswer(
  { storage, names }: WorkerPorts,
  { run, uid, tag }: MessageOf<"sofar">,
  answer: Answer,
): Promise<string> {
  const name = resultBlobs(run, uid).answer(tag);
  const write = { contentType: "application/json" };
  return (await storage.blobs.create(names.results, name, JSON.stringify(answer), write)).kind;
}

/** Nodes and partials in index order. So many shards are listed at a time, so that the lists in memory stay short. */
async function* outputsSoFar(of: OutputsOf, message: MessageOf<"sofar">): AsyncGenerator<CoveringOutput> {
  const { plan } = of;
  const shards = shardsOf(plan);
  const nodes = decodeBitmap(message.nodes, shards);
  const open = new Set(message.open);
  const generations = generationsOf({ from: 0, to: shards }, message);
  for (let from = 0; from < shards; from += limits.fanIn) {
    const some = [...generations].slice(from, from + limits.fanIn);
    const sealed = some.filter(([shard]) => hasBit(nodes, shard) && !open.has(shard));
    const found = await findNodes(of, 1, new Map(sealed));
    for (const [shard] of some) {
      const node = found.get(shard);
      if (node !== undefined) {
        const { facts } = node;
        const gaps = await chunksOfGaps(of, shard, facts);
        yield { ...node, covers: rangesOfShard(plan, shard, facts.members, "folded", gaps) };
      } else if (open.has(shard)) {
        for (const [pack, partial] of await findPacks(of, shard)) {
          const { members } = partial.facts;
          const chunks = chunksOfPack(plan, pack);
          const covers =
            members === undefined ? [chunks] : rangesIn(chunks, decodeBitmap(members, sizeOf(chunks)), true);
          yield { ...partial, covers };
        }
      }
    }
  }
}
