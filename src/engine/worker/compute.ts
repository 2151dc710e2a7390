import { hash } from "node:crypto";
import { clearBit, countBits, decodeBitmap, encodeBitmap, fullBitmap, hasBit } from "../model/bitmap.ts";
import {
  CalculationError,
  ChunksFailedError,
  type FailedChunk,
  InputError,
  mayPass,
} from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { attemptOf, type MessageOf } from "../model/message.ts";
import { decodeFoldFacts, encodeFoldFacts, encodeVerified, type Verified } from "../model/output.ts";
import { chunksOfPack, indexesOf, packsOf, shardOf } from "../model/packs.ts";
import { type Plan, type Spec, toleratedChunks } from "../model/run.ts";
import { resultBlobs, runBlobs } from "../model/runBlobs.ts";
import { coverOfPack } from "../model/tree.ts";
import { asksAreOver } from "./attempt/retryAfter.ts";
import { type Output, writeOutput } from "./folding/writeOutput.ts";
import { stillWanted, taskOptions } from "./markerWatch.ts";
import { type Attempt, MalformedWorkError, type WorkerPorts } from "./ports.ts";
import type { ComputeOutput, ComputeTask, TaskOptions } from "./threads/userCode.ts";

/**
 * Computes the chunks of one pack, folds them, and writes their partial under the pack's own name. Where the run tolerates
 * failed chunks, the last attempt leaves out those that fail; see `writeGapped`.
 */
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
  const last = attemptOf(message) >= (spec.attempts ?? limits.attemptsDefault);
  const most = gapsMax(plan, spec, to - from);
  const asksOver = asksAreOver(message);
  const gaps = most > 0 ? { most, last, asksOver, excluded: message.excluded } : undefined;
  const { bytes, ms, failed = [] } = await computed(ports, plan, attempt, { gaps, onSave });
  await stillWanted(ports, message, "write");
  const output = { bytes, ms, code, attempt: attemptOf(message), saves };
  if (failed.length > 0) return writeGapped(ports, attempt, output, failed);
  return writeOutput(ports, runBlobs(run, uid, origin).part(shard, pack), output, attempt);
}

/** How many chunks a pack may lack. */
const gapsMax = ({ chunks }: Plan, { tolerate }: Spec, size: number): number =>
  size <= limits.gappedChunksMax ? toleratedChunks(tolerate, chunks) : 0;

/**
 * Writes the partial of a pack of which chunks failed as a node of level 0 of its generation, create-only, and then throws
 * what ends the send with a record of them. The record tells what is stored, since another attempt may have been first; a
 * whole partial has another name, and the leader takes it instead until the shard is sealed.
 */
async function writeGapped(
  ports: WorkerPorts,
  attempt: Attempt<MessageOf<"compute">>,
  output: Output & { readonly code: string },
  failed: readonly FailedChunk[],
): Promise<never> {
  const { run, uid, origin, gen, pack, from, to } = attempt.message;
  const bits = fullBitmap(to - from);
  for (const { chunk } of failed) clearBit(bits, chunk - from);
  const name = runBlobs(run, uid, origin).node(gen, 0, pack);
  const facts = { members: encodeBitmap(bits), folded: countBits(bits), attempts: output.attempt };
  const metadata = encodeFoldFacts({ ...facts, code: [output.code] });
  const written = await writeOutput(ports, name, { ...output, metadata }, attempt);
  const there = written === "existed" ? await ports.storage.blobs.head(ports.names.runs, name) : undefined;
  const members =
    there?.kind === "found" ? decodeFoldFacts(there.properties.metadata, name).members : facts.members;
  const has = decodeBitmap(members ?? "", to - from);
  const own = new Map(failed.map((one) => [one.chunk, one]));
  const gaps = indexesOf({ from, to })
    .filter((chunk) => !hasBit(has, chunk - from))
    .map((chunk) => own.get(chunk) ?? { chunk, code: "", message: "" });
  // One that may pass stands for all, so that other sends of the pack are waited for.
  const [one] = [...failed.filter(({ code }) => mayPass({ code })), ...failed];
  throw new ChunksFailedError(one as FailedChunk, gaps.length, gaps.slice(0, limits.gapsToldMax));
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
  { onSave, ...how }: Pick<ComputeTask, "gaps"> & Pick<TaskOptions, "onSave"> = {},
): Promise<ComputeOutput> {
  const { message, delivery } = attempt;
  const { calculation, params } = await ports.documents.spec(message);
  const { from, to } = chunksOfPack(plan, message.pack);
  const inputs = await ports.documents.inputs(plan, from, to);
  const coverTo = coverOfPack(plan, message.pack).to;
  const task = { calculation, params, from, to, count: plan.chunks, coverTo, ...how };
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
