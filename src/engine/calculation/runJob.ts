import { chunksNamed, withChunks } from "../model/chunkErrors.ts";
import { isDeeper } from "../model/decode.ts";
import { CalculationError, type FailedChunk } from "../model/errors.ts";
import { coverOf } from "../model/foldTree.ts";
import { calculationLimits, limits } from "../model/limits.ts";
import { chunksText, indexesOf, powerFrom, type Range } from "../model/packs.ts";
import { withinChunk } from "./attempt.ts";
import {
  attemptsFor,
  type ChunkOutcome,
  type ChunkRetry,
  type ChunkTime,
  computeChunks,
} from "./chunkAttempts.ts";
import { gathering } from "./concat.ts";
import type {
  AnyCalculation,
  FinishContext,
  PlanContext,
  Result,
  ResultBytes,
  StopContext,
} from "./contract.ts";
import {
  checkBytes,
  encodeJson,
  encodePart,
  guarded,
  limitText,
  refuseSilentLoss,
  resultBytes,
} from "./encodePart.ts";
import { type Files, noFiles } from "./files.ts";
import { type CoveringPart, encodeSpans, foldParts } from "./foldParts.ts";
import { type GapsAllowed, gapsIn } from "./gaps.ts";
import { type KeptFold, packFold } from "./packFold.ts";
import type { ChunkRange, PlannedChunks } from "./timeChunks.ts";

const { inputsPerBatch, batchBytesMax, chunksMax } = calculationLimits;

/**
 * Runs the functions of a calculation in the thread of the caller. Whatever user code throws, and every value that it
 * must not return, becomes a `CalculationError`.
 */

/** Lists the chunks of a run: their number, or batches of their inputs, which `sink` gets one after the other. */
export async function runPlan(
  calculation: AnyCalculation,
  params: unknown,
  sink: (inputs: readonly unknown[], given: readonly unknown[]) => Promise<void>,
  context: PlanContext = { files: noFiles },
): Promise<PlannedChunks> {
  const planned = await guarded("plan", () => calculation.plan(params, context));
  const facts = {
    ...(await mayStop(calculation, params)),
    ...((calculation.concurrency ?? 1) > 1 ? { atOnce: calculation.concurrency as number } : {}),
  };
  if (typeof planned === "number") {
    if (!Number.isSafeInteger(planned) || planned < 0) {
      throw new CalculationError("bad-plan", `plan gave ${planned} chunks; a whole number is needed`);
    }
    checkChunks(planned);
    return { chunks: planned, list: false, ...facts };
  }
  const isList = Symbol.iterator in Object(planned) || Symbol.asyncIterator in Object(planned);
  // A text is a list of its characters, which a count that was never parsed would become.
  if (!isList || typeof planned === "string") {
    throw new CalculationError("bad-plan", "plan gave neither a number nor a list of inputs");
  }
  let chunks = 0;
  /** As they are stored, since a plan may change one object for all its inputs; and as the plan gave them. */
  let [batch, given]: [unknown[], unknown[]] = [[], []];
  let batchBytes = 0;
  const inputs = inputsOf(planned as AsyncIterable<unknown>);
  for (;;) {
    const next = await guarded("plan", () => inputs.next());
    if (next.done) break;
    const name = `the input of chunk ${chunks}`;
    const input = encodeJson(next.value, name);
    refuseSilentLoss(next.value, name);
    checkBytes(name, input, "inputBytesMax", "input-too-large");
    if (batch.length === inputsPerBatch || batchBytes + input.length > batchBytesMax) {
      await sink(batch, given);
      [batch, given] = [[], []];
      batchBytes = 0;
    }
    const stored: unknown = JSON.parse(Buffer.from(input).toString());
    if (isDeeper(stored, limits.paramsLevelsMax))
      throw new CalculationError(
        "input-too-deep",
        `${name} is nested deeper than ${limits.paramsLevelsMax} levels (paramsLevelsMax)`,
      );
    batch.push(stored);
    given.push(next.value);
    batchBytes += input.length;
    chunks += 1;
    checkChunks(chunks);
  }
  if (batch.length > 0) await sink(batch, given);
  return { chunks, list: true, ...facts, ...(calculation.byInput === true ? { byInput: true } : {}) };
}

async function mayStop(calculation: AnyCalculation, params: unknown): Promise<{ readonly stops?: true }> {
  if (calculation.stop === undefined) return {};
  return (await guarded("stops", () => calculation.stops?.(params) ?? true)) ? { stops: true } : {};
}

async function* inputsOf(planned: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  yield* planned;
}

export interface ComputeHooks {
  /** If the folded partial cannot be stored, the chunk that caused it is searched for while this returns true. */
  readonly searchOn?: () => boolean;
  /** When a chunk begins, when its code waits for something for the first time, and when it has ended. */
  readonly onChunk?: (index: number, does: "begins" | "waits" | "ends") => void;
  /** Gets the chunks of the pack that its partial lacks, ascending, if there are any; the later ones without a message. */
  readonly onFailed?: (failed: readonly FailedChunk[]) => void;
  /** A chunk threw for the first time, and another attempt follows here. */
  readonly onThrew?: ((failure: ChunkFailure) => void) | undefined;
  /** Some chunks are missing, and another attempt can begin with this (`decodeKept`). */
  readonly onKept?: ((kept: Uint8Array) => Promise<void>) | undefined;
  readonly time?: ChunkTime;
}

export interface ChunkFailure {
  readonly code: string;
  readonly message: string;
  /** Those that its message tells. */
  readonly chunks?: Range | undefined;
  readonly attempts: number;
}

/** Where nobody waits, attempts follow each other at once. */
const noTime: ChunkTime = { sleep: async () => {}, spentMs: () => 0 };

type Pack = ChunkRange & {
  readonly params: unknown;
  readonly gaps?: GapsAllowed | undefined;
  /** Attempts at a chunk that throws; without it there is one. */
  readonly retry?: ChunkRetry | undefined;
  /** Fewer chunks at the same time than the calculation allows. */
  readonly atOnceMax?: number | undefined;
  /** What earlier attempts have of it. Those chunks are not computed. */
  readonly kept?: readonly KeptFold[] | undefined;
};

/**
 * Computes the chunks of a pack and folds them by the tree of spans; chunks that may fail are gaps. An error names the chunk
 * that caused it.
 */
export async function runCompute(
  calculation: AnyCalculation,
  pack: Pack,
  files: Files = noFiles,
  {
    searchOn = () => true,
    onChunk = () => {},
    onFailed = () => {},
    onThrew = () => {},
    onKept,
    time = noTime,
  }: ComputeHooks = {},
): Promise<Uint8Array> {
  const { params, from, to } = pack;
  // Where chunks share files, which ones do depends on all that are computed with them, and `verify` compares that.
  const canKeep = calculation.output === undefined;
  const before = (canKeep && pack.kept) || [];
  const has = new Set(before.flatMap((span) => indexesOf({ from: span.from, to: span.from + span.size })));
  const cover = { params, from, to, coverTo: pack.coverTo ?? coverOf(pack, pack.count).to };
  const isOne = to - from === 1;
  let gaps = gapsIn(pack);
  const computeChunk = async (index: number): Promise<unknown> => {
    const chunk = { index, count: pack.count, input: pack.inputs?.[index - from], params, files };
    onChunk(index, "begins");
    try {
      const computing = withinChunk(index, () =>
        naming(oneChunk(index), (name) => guarded(name, () => calculation.compute(chunk))),
      );
      onChunk(index, "waits");
      return await computing;
    } finally {
      onChunk(index, "ends");
    }
  };
  const foldAll = async (compute: (index: number) => Promise<unknown>, atOnce: number, fatal?: unknown) => {
    const keeps = canKeep && onKept !== undefined && fatal === undefined;
    const fold = packFold(calculation, cover, { before, keeps });
    const gather = gathering(calculation, files);
    const wanted = indexesOf(pack).filter((index) => !has.has(index) && !gaps.excludes(index));
    const take = async (index: number, outcome: ChunkOutcome): Promise<void> => {
      let part: unknown;
      try {
        if ("error" in outcome) throw outcome.error;
        part = outcome.part;
        if (gather !== undefined) part = await naming(oneChunk(index), () => gather.add(part));
      } catch (error) {
        if (error === fatal) throw error;
        const attempts = "error" in outcome ? outcome.attempts : 0;
        return gaps.fails(index, withAttempts(error, attempts, pack.retry));
      }
      await fold.add(index, part);
    };
    const onLeft = async (parts: ReadonlyMap<number, unknown>): Promise<void> => {
      const kept = await fold.keptOf(parts);
      if (kept !== undefined) await onKept?.(kept);
    };
    const { retry } = pack;
    let threw = false;
    const onFirst = (error: unknown, attempts: number): void => {
      if (!threw && error instanceof CalculationError)
        onThrew({ code: error.code, message: error.message, attempts, chunks: chunksNamed(error) });
      threw = true;
    };
    await computeChunks(wanted, { atOnce, retry, compute, take, onLeft, time, onThrew: onFirst });
    const ended = await fold.end();
    await gather?.end();
    const kept = fold.kept();
    if (kept !== undefined) await onKept?.(kept);
    return ended;
  };
  const atOnce = Math.min(calculation.concurrency ?? 1, pack.atOnceMax ?? Number.POSITIVE_INFINITY);
  const spans = await foldAll(computeChunk, atOnce);
  const bytes = await naming({ from, to }, async () => {
    try {
      return await encodeSpans(calculation, spans);
    } catch (error) {
      const before = gaps;
      gaps = gapsIn(pack);
      const storable = async (index: number): Promise<unknown> => {
        if (isOne || calculation.output !== undefined || !searchOn()) throw error;
        const known = before.errorOf(index);
        if (known !== undefined) throw known;
        // A chunk that throws now did not throw before, so nothing is certain and the first error counts.
        const part = await computeChunk(index).catch(() => Promise.reject(error));
        await naming(oneChunk(index), () => encodePart(calculation, part));
        return part;
      };
      return encodeSpans(calculation, await foldAll(storable, 1, error));
    }
  });
  const told = gaps.told();
  if (told.length > 0) onFailed(told);
  return bytes;
}

/** The error of a chunk with the number of its attempts, and whether none follows. */
function withAttempts(error: unknown, attempts: number, retry: ChunkRetry | undefined): unknown {
  if (!(error instanceof CalculationError) || retry === undefined || attempts === 0) return error;
  const over = attempts >= attemptsFor(error, retry.attemptsMax);
  const { code, message, cause, details } = error;
  return new CalculationError(code, message, { cause, details: { ...details, attempts, over } });
}

/** Runs `run`; its error names the chunks that caused it. */
async function naming<T>(chunks: Range, run: (name: string) => Promise<T>): Promise<T> {
  try {
    return await run(chunksText(chunks));
  } catch (error) {
    throw error instanceof CalculationError ? withChunks(error, chunks) : error;
  }
}

const oneChunk = (index: number): Range => ({ from: index, to: index + 1 });

/** Folds partials in index order into one that covers a range; chunks of it that none of them covers are gaps. */
export async function runFold(
  calculation: AnyCalculation,
  params: unknown,
  { from, to, parts }: Range & { readonly parts: readonly CoveringPart[] },
): Promise<Uint8Array> {
  const tree = await foldParts(calculation, params, from, parts);
  return encodeSpans(calculation, await tree.end(to), "a merged partial");
}

/** The one partial that partials of a whole run or of a prefix give, or zero. */
async function wholeOf(
  calculation: AnyCalculation,
  params: unknown,
  parts: readonly CoveringPart[],
): Promise<unknown> {
  const tree = await foldParts(calculation, params, 0, parts);
  const [root] = await tree.end(powerFrom(parts.at(-1)?.to ?? 0));
  const isThere = root !== undefined && "part" in root;
  return isThere ? root.part : guarded("zero", () => calculation.zero(params));
}

/** What the calculation says of the fold of a prefix: whether the run stops there. */
export async function runStop(
  calculation: AnyCalculation,
  { parts, ...context }: StopContext<unknown> & { readonly parts: readonly CoveringPart[] },
): Promise<boolean> {
  const part = await wholeOf(calculation, context.params, parts);
  const said: unknown = await guarded("stop", () => calculation.stop?.(part, context));
  if (typeof said === "boolean") return said;
  throw new CalculationError("bad-stop", `stop gave ${typeof said}; true or false is needed`);
}

/** Folds partials of the whole run, and makes the result of the one partial that this gives, or of zero. */
export async function runFinish(
  calculation: AnyCalculation,
  { parts, ...context }: FinishContext<unknown> & { readonly parts: readonly CoveringPart[] },
): Promise<ResultBytes> {
  const part = await wholeOf(calculation, context.params, parts);
  const finish = calculation.finish?.bind(calculation) ?? ((only: Result) => only);
  const result = await guarded("finish", () => finish(part, context));
  const made = resultBytes(result) ?? jsonResult(result);
  checkBytes("the result", made.body, "resultBytesMax", "result-too-large");
  return made;
}

function jsonResult(result: Result): ResultBytes {
  refuseSilentLoss(result, "the result");
  const body = encodeJson(result, "the result", 1);
  return { body, contentType: "application/json", extension: "json" };
}

function checkChunks(chunks: number): void {
  if (chunks <= chunksMax) return;
  throw new CalculationError(
    "too-many-chunks",
    `the plan has ${chunks} chunks or more; ${limitText("chunksMax")}`,
  );
}
