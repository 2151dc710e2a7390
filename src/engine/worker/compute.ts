import { hash } from "node:crypto";
import type { ChunkFailure } from "../calculation/runJob.ts";
import { backOff } from "../model/backOff.ts";
import { clearBit, countBits, encodeBitmap, fullBitmap } from "../model/bitmap.ts";
import { CalculationError, type FailedChunk, InputError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { attemptOf, type MessageOf } from "../model/message.ts";
import { encodeFoldFacts, type FoldFacts } from "../model/output.ts";
import { chunksOfPack, packsOf, type Range, shardOf } from "../model/packs.ts";
import { type Plan, type Spec, toleratedChunks } from "../model/run.ts";
import { resultBlobs, runBlobs } from "../model/runBlobs.ts";
import { coverOfPack } from "../model/tree.ts";
import { persist } from "../storage/callSteps.ts";
import { endSend, noteTried, writeVerified } from "./attempt/endSend.ts";
import { asksAreOver } from "./attempt/fate.ts";
import { findReused, keyOf } from "./findReused.ts";
import { type Output, writeOutput } from "./folding/writeOutput.ts";
import { keptFolds } from "./keptFolds.ts";
import { stillWanted, taskOptions } from "./markerWatch.ts";
import { type Attempt, DroppedError, MalformedWorkError, type WorkerPorts } from "./ports.ts";
import type { ComputeOutput, ComputeTask, TaskOptions } from "./threads/userCode.ts";

/**
 * Computes the chunks of one pack, folds them, and writes their partial under the pack's own name. Where the run tolerates
 * failed chunks, the partial of the last attempt lacks those that fail.
 */
export async function computePack(
  ports: WorkerPorts,
  attempt: Attempt<MessageOf<"compute">>,
): Promise<string> {
  const { message } = attempt;
  const { run, uid, gen, pack, shard, from, to } = message;
  const spec = await ports.documents.spec(message);
  const plan = await ports.documents.plan(message);
  const range = chunksOfPack(plan, pack);
  if (pack >= packsOf(plan) || shard !== shardOf(plan, pack) || from !== range.from || to !== range.to) {
    throw new MalformedWorkError("bad-range", `chunks ${from} to ${to} are not pack ${pack} of run ${run}`);
  }
  const code = ports.versionOf(spec.calculation);
  const inputs = await ports.documents.inputs(plan, from, to);
  const key = keyOf(spec, plan, pack, inputs);
  const { part } = runBlobs(run, uid);
  const write = (output: Output) =>
    writeOutput(
      ports,
      part(shard, pack),
      { ...output, key, metadata: { ...output.metadata, sha256: hash("sha256", output.bytes) } },
      attempt,
    );
  const startedMs = ports.clock.monotonicMs();
  const reused = await findReused(ports, spec, attempt.accepted, key);
  if (reused !== undefined) {
    await stillWanted(ports, message, "write");
    const ms = ports.clock.monotonicMs() - startedMs;
    return (await write({ ...reused, ms, attempt: 0 })) === "existed" ? "existed" : "reused";
  }
  const { storage, names } = ports;
  const keeping = keptFolds(ports, attempt, { code, key });
  const before = await keeping.read();
  let saves = before?.saves === true;
  // Its name is that of its bytes, so whichever attempt is first is right; the partial that names it comes second.
  const onSave = async (name: string, body: Uint8Array): Promise<void> => {
    await stillWanted(ports, message, "write");
    await storage.blobs.create(names.results, resultBlobs(run, uid).file(name), body);
    saves = true;
  };
  const last = attemptOf(message) >= (spec.attempts ?? limits.attemptsDefault);
  const most = gapsMax(plan, spec, to - from);
  const asksOver = asksAreOver(message);
  const allowed = most > 0 ? { most, last, asksOver, excluded: message.excluded } : undefined;
  const { attempts: attemptsMax = limits.attemptsDefault, retryAfterS: pausesS = backOff.pausesDefaultS } =
    spec;
  const retry = { attempt: attemptOf(message), attemptsMax, pausesS, limitMs: attempt.limitMs };
  // A hint for people, and for the leader, which sends no copy of what is slow for this reason. One after the other: none may
  // refuse the note of this attempt's end, which tells for how long its message is hidden.
  let noted = Promise.resolve();
  const onThrew = (failure: ChunkFailure): void => {
    noted = noted.then(() => noteTried(ports, message, { ...failure, named: failure.chunks, attemptsMax }));
  };
  const onKept = (body: Uint8Array): Promise<void> => keeping.write(body, saves);
  const of = { kept: before?.folds, gaps: allowed, retry, atOnceMax: message.atOnceMax };
  const how = { ...of, onSave, onKept, onThrew };
  const { bytes, ms, failed = [] } = await computed(ports, plan, attempt, inputs, how).finally(() => noted);
  await stillWanted(ports, message, "write");
  const output = { bytes, ms, code, attempt: attemptOf(message), saves };
  if (failed.length === 0) {
    const written = await write(output);
    if (before !== undefined && written !== "existed") await keeping.remove();
    return written;
  }
  await recordGaps(ports, message, failed);
  const gaps = { chunks: failed.length, gen };
  return write({
    ...output,
    gaps,
    metadata: encodeFoldFacts(factsOf(message, failed, output.attempt, code)),
  });
}

/** How many chunks a pack may lack. */
const gapsMax = ({ chunks }: Plan, { tolerate }: Spec, size: number): number =>
  size <= limits.gapsChunksMax ? toleratedChunks(tolerate, chunks) : 0;

/**
 * Records why a partial has gaps, which `failures` shows. It comes before the partial, so that whoever sees that finds it, and
 * without it there is none; the partial alone is the outcome of the pack.
 */
async function recordGaps(
  ports: WorkerPorts,
  message: MessageOf<"compute">,
  failed: readonly FailedChunk[],
): Promise<void> {
  const [{ code, message: why } = { code: "", message: "" }] = failed;
  const gaps = { failed: failed.length, first: failed.slice(0, limits.gapsToldMax) };
  const record = { cause: "error", code, message: why, attempts: attemptOf(message), gaps } as const;
  const outcome = await persist(ports, () => endSend(ports, message, record));
  if (outcome === "unwanted" || outcome === "unknown-run") throw new DroppedError("the run has ended");
}

/** Which chunks a partial of these has that lacks some. */
function factsOf(
  { from, to }: Range,
  failed: readonly FailedChunk[],
  attempts: number,
  code: string,
): FoldFacts {
  const bits = fullBitmap(to - from);
  for (const { chunk } of failed) clearBit(bits, chunk - from);
  return { members: encodeBitmap(bits), folded: countBits(bits), attempts, code: [code] };
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
  const { from, to } = chunksOfPack(plan, message.pack);
  const { bytes, ms } = await computed(ports, plan, attempt, await ports.documents.inputs(plan, from, to));
  return writeVerified(ports, message, { sha256: hash("sha256", bytes), ms });
}

async function computed(
  ports: WorkerPorts,
  plan: Plan,
  attempt: Attempt<MessageOf<"compute" | "verify">>,
  inputs: readonly unknown[] | undefined,
  {
    onSave,
    onKept,
    onThrew,
    ...how
  }: Pick<ComputeTask, "kept" | "gaps" | "retry" | "atOnceMax"> &
    Pick<TaskOptions, "onSave" | "onKept" | "onThrew"> = {},
): Promise<ComputeOutput> {
  const { message, delivery } = attempt;
  const { calculation, params } = await ports.documents.spec(message);
  const { from, to } = chunksOfPack(plan, message.pack);
  const coverTo = coverOfPack(plan, message.pack).to;
  const task = { calculation, params, from, to, count: plan.chunks, coverTo, ...how };
  const expectedMs = plan.packMs;
  const saved = { onSave, onKept, onThrew };
  const options = { ...taskOptions(ports, attempt, delivery.urgent), expectedMs, ...saved };
  return ports.userCode.compute(inputs === undefined ? task : { ...task, inputs }, options);
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
