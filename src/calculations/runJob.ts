import { CalculationError } from "../model/errors.ts";
import { calculationLimits } from "../model/limits.ts";
import { rangeText } from "../model/packs.ts";
import type { AnyCalculation, Result, ResultBytes } from "./contract.ts";
import {
  decodePart,
  encodeJson,
  encodePart,
  guarded,
  jsonLosses,
  limitText,
  lost,
  resultBytes,
} from "./encodePart.ts";
import { type Files, noFiles } from "./files.ts";

const { inputsPerBatch, batchBytesMax } = calculationLimits;

/**
 * Runs the parts of a calculation, in whatever thread it is called. Whatever user code throws, and whatever it
 * returns that cannot be right, becomes a `CalculationError`.
 */

/** Lists the chunks of a run: their number, or batches of their inputs handed to `sink` one after the other. */
export async function runPlan(
  calculation: AnyCalculation,
  params: unknown,
  sink: (inputs: readonly unknown[]) => Promise<void>,
  files: Files = noFiles,
): Promise<{ chunks: number; list: boolean }> {
  const planned = await guarded("plan", () => calculation.plan(params, { files }));
  if (typeof planned === "number") {
    if (!Number.isSafeInteger(planned) || planned < 0) {
      throw new CalculationError("bad-plan", `plan gave ${planned} chunks; a whole number is needed`);
    }
    checkChunks(planned);
    return { chunks: planned, list: false };
  }
  if (!(Symbol.iterator in Object(planned)) && !(Symbol.asyncIterator in Object(planned))) {
    throw new CalculationError("bad-plan", "plan gave neither a number nor a list of inputs");
  }
  let chunks = 0;
  let batch: unknown[] = [];
  let batchBytes = 0;
  const inputs = inputsOf(planned as AsyncIterable<unknown>);
  for (;;) {
    const next = await guarded("plan", () => inputs.next());
    if (next.done) break;
    const bytes = checkInput(next.value, chunks);
    if (batch.length === inputsPerBatch || batchBytes + bytes > batchBytesMax) {
      await sink(batch);
      batch = [];
      batchBytes = 0;
    }
    batch.push(next.value);
    batchBytes += bytes;
    chunks += 1;
    checkChunks(chunks);
  }
  if (batch.length > 0) await sink(batch);
  return { chunks, list: true };
}

async function* inputsOf(planned: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  yield* planned;
}

/**
 * Computes chunks `[from, to)` and folds them in index order. Whatever fails in one chunk is told of that chunk; of a
 * partial that cannot be stored the chunk is searched for while `searchOn`.
 */
export async function runCompute(
  calculation: AnyCalculation,
  job: PackJob,
  files: Files = noFiles,
  searchOn: () => boolean = () => true,
): Promise<Uint8Array> {
  const { params, from, to } = job;
  let folded: unknown;
  for (let index = from; index < to; index += 1) {
    const part = await computeChunk(calculation, job, index, files);
    folded = index === from ? part : await guarded("merge", () => calculation.merge(folded, part, params));
  }
  try {
    return await encodePart(calculation, folded);
  } catch (error) {
    if (to - from === 1) throw named(`chunk ${from}`, error);
    const refused = await firstRefused(calculation, job, files, searchOn);
    throw refused ?? named(`chunks ${rangeText(job)}`, error);
  }
}

interface PackJob {
  readonly params: unknown;
  readonly from: number;
  readonly to: number;
  /** Chunks of the whole run. */
  readonly count: number;
  readonly inputs?: readonly unknown[];
}

async function computeChunk(
  calculation: AnyCalculation,
  { params, from, count, inputs }: PackJob,
  index: number,
  files: Files,
): Promise<unknown> {
  const chunk = { index, count, input: inputs?.[index - from], params, files };
  const name = `chunk ${index}`;
  try {
    return await guarded(name, () => calculation.compute(chunk));
  } catch (error) {
    throw named(name, error);
  }
}

/** The error of the first chunk whose partial alone cannot be stored. Each is computed once more. */
async function firstRefused(
  calculation: AnyCalculation,
  job: PackJob,
  files: Files,
  searchOn: () => boolean,
): Promise<unknown> {
  for (let index = job.from; index < job.to && searchOn(); index += 1) {
    let part: unknown;
    try {
      part = await computeChunk(calculation, job, index, files);
    } catch {
      // It did not throw the first time, so nothing is certain of it any more.
      return undefined;
    }
    try {
      await encodePart(calculation, part);
    } catch (error) {
      return named(`chunk ${index}`, error);
    }
  }
  return undefined;
}

/** The error with the chunks that it is of at its beginning, once. */
function named(chunks: string, error: unknown): unknown {
  if (!(error instanceof CalculationError) || error.message.startsWith(`${chunks}: `)) return error;
  return new CalculationError(error.code, `${chunks}: ${error.message}`, { cause: error.cause ?? error });
}

/** Folds encoded partials in order. */
export async function runFold(
  calculation: AnyCalculation,
  params: unknown,
  parts: readonly Uint8Array[],
): Promise<Uint8Array> {
  return encodePart(calculation, await foldParts(calculation, params, parts), "a merged partial");
}

/** Folds encoded partials and makes the result. */
export async function runFinish(
  calculation: AnyCalculation,
  job: { params: unknown; parts: readonly Uint8Array[]; folded: number; count: number },
): Promise<ResultBytes> {
  const { params, folded, count } = job;
  const part = await foldParts(calculation, params, job.parts);
  const finish = calculation.finish;
  const result: Result =
    finish === undefined
      ? (part as Result)
      : await guarded("finish", () => finish.call(calculation, part, { params, folded, count }));
  const bytes = resultBytes(result);
  if (bytes !== undefined) return bytes;
  // A Date becomes what was meant; what becomes empty was never meant.
  const loss = [...jsonLosses(result)].find(({ becomes }) => becomes === "{}");
  if (loss !== undefined) throw lost("the result", loss);
  const body = Buffer.concat([encodeJson(result, "the result", 1), Buffer.from("\n")]);
  return { body, contentType: "application/json", extension: "json" };
}

async function foldParts(
  calculation: AnyCalculation,
  params: unknown,
  parts: readonly Uint8Array[],
): Promise<unknown> {
  if (parts.length === 0) return guarded("zero", () => calculation.zero(params));
  let folded: unknown;
  for (const [place, bytes] of parts.entries()) {
    const part = await guarded("decode", () => decodePart(calculation, bytes));
    folded = place === 0 ? part : await guarded("merge", () => calculation.merge(folded, part, params));
  }
  return folded;
}

/** Bytes of an input as JSON. */
function checkInput(input: unknown, index: number): number {
  const bytes = encodeJson(input, `the input of chunk ${index}`).length;
  if (bytes <= calculationLimits.inputBytesMax) return bytes;
  throw new CalculationError(
    "input-too-large",
    `the input of chunk ${index} has ${bytes} bytes; ${limitText("inputBytesMax")}`,
  );
}

function checkChunks(chunks: number): void {
  if (chunks <= calculationLimits.chunksMax) return;
  throw new CalculationError(
    "too-many-chunks",
    `the plan has ${chunks} chunks or more; ${limitText("chunksMax")}`,
  );
}
