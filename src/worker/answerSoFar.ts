import { decodeBitmap, hasBit } from "../model/bitmap.ts";
import { wireVersion } from "../model/decode.ts";
import type { WantedCode } from "../model/identity.ts";
import { limits } from "../model/limits.ts";
import { chunksOfPack, joined, type Range, rangesOfShard, shardsOf } from "../model/packs.ts";
import type { Answer, Plan } from "../model/run.ts";
import { resultBlobs } from "../model/runBlobs.ts";
import { foldBounded, foldTally } from "./folding/fold.ts";
import { type FoundOutput, findNodes, findPacks, generationsOf } from "./folding/outputs.ts";
import { whileWanted } from "./markerWatch.ts";
import type { Job, WorkerPorts } from "./ports.ts";
import { sha256Of } from "./sha256Of.ts";

type SoFar = Job<"sofar">["message"];

/** An output, with the chunk ranges that its bytes stand for. */
type CoveringOutput = FoundOutput & { readonly covers: readonly Range[] };

/**
 * Answers what a run would give if it ended now: folds the sealed shards that the message names and what there is
 * of open ones, and has the calculation finish that. What goes away meanwhile is left out; the answer tells the
 * chunks it covers. Writes its answer and nothing else.
 */
export async function answerSoFar(ports: WorkerPorts, job: Job<"sofar">): Promise<string> {
  const { message, tag, wanted } = job;
  const { run, uid, gen, origin } = message;
  const { calculation, params } = await ports.documents.spec(run, uid);
  const plan = await ports.documents.plan(run, uid, origin);
  const tally = foldTally();
  const covers: Range[] = [];
  const { parts, task } = await foldBounded(
    ports,
    { calculation, params },
    outputsSoFar(ports, plan, message, wanted),
    {
      task: whileWanted(ports, job),
      gone: "left-out",
      onRead(output) {
        tally.add(output);
        covers.push(...output.covers);
      },
    },
  );
  // From the manifest on, partials are cleaned up, and the result says more than any answer.
  const { blobs } = ports.storage;
  const { results } = ports.names;
  const at = resultBlobs(run, uid);
  if ((await blobs.head(results, at.manifest(gen))).kind === "found") {
    return writeAnswer(ports, message, refusal("finished", `run ${run} has its result`));
  }
  const { folded } = tally.facts();
  const count = plan.chunks;
  const result = await ports.userCode.finish({ calculation, params, parts, folded, count }, task);
  const { contentType, body, extension } = result;
  const blob = at.answerBytes(message.tag, tag, extension);
  await blobs.create(results, blob, body, { contentType });
  return writeAnswer(ports, message, {
    v: wireVersion,
    ok: true,
    run,
    uid,
    generation: gen,
    blob,
    contentType,
    bytes: body.length,
    sha256: sha256Of(body).toString("hex"),
    chunks: count,
    folded,
    covers: joined(covers),
  });
}

export const refusal = (code: string, message: string): Answer => ({
  v: wireVersion,
  ok: false,
  code,
  message: message.slice(0, limits.errorCharactersMax),
});

/** The first answer stands: its client may have read it. */
export async function writeAnswer(
  ports: Pick<WorkerPorts, "storage" | "names">,
  { run, uid, tag }: Pick<SoFar, "run" | "uid" | "tag">,
  answer: Answer,
): Promise<string> {
  const name = resultBlobs(run, uid).answer(tag);
  const body = JSON.stringify(answer);
  const written = { contentType: "application/json" };
  return (await ports.storage.blobs.create(ports.names.results, name, body, written)).kind;
}

/** Nodes and partials in index order. Shards are looked at so many at a time, so that the lists held stay short. */
async function* outputsSoFar(
  ports: WorkerPorts,
  plan: Plan,
  message: SoFar,
  wanted: WantedCode,
): AsyncGenerator<CoveringOutput> {
  const shards = shardsOf(plan);
  const nodes = decodeBitmap(message.nodes, shards);
  const open = new Set(message.open);
  const generations = generationsOf({ from: 0, to: shards }, message);
  for (let from = 0; from < shards; from += limits.fanIn) {
    const some = [...generations].slice(from, from + limits.fanIn);
    const sealed = some.filter(([shard]) => hasBit(nodes, shard) && !open.has(shard));
    const found = await findNodes(ports, plan, 1, new Map(sealed), wanted);
    for (const [shard] of some) {
      const node = found.get(shard);
      if (node !== undefined) {
        yield { ...node, covers: rangesOfShard(plan, shard, node.facts.members, "folded") };
      } else if (open.has(shard)) {
        for (const [pack, partial] of await findPacks(ports, plan, shard, wanted)) {
          yield { ...partial, covers: [chunksOfPack(plan, pack)] };
        }
      }
    }
  }
}
