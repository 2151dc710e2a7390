import { calculationLimits } from "../model/calculationLimits.ts";
import { CalculationError, messageOf } from "../model/errors.ts";
import { rangeText } from "../model/packs.ts";
import type { AnyCalculation, Result, ResultBytes } from "./contract.ts";
import { type Files, noFiles } from "./files.ts";
import { firstJsonLoss, type JsonLoss, jsonLosses } from "./jsonLoss.ts";
import { placeOf } from "./placeOf.ts";
import { checkEncoded, resultBytes } from "./resultBytes.ts";

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

/** Computes chunks `[from, to)` and folds them in index order. */
export async function runCompute(
  calculation: AnyCalculation,
  job: { params: unknown; from: number; to: number; count: number; inputs?: readonly unknown[] },
  files: Files = noFiles,
): Promise<Uint8Array> {
  const { params, from, to, count, inputs } = job;
  let folded: unknown;
  for (let index = from; index < to; index += 1) {
    const chunk = { index, count, input: inputs?.[index - from], params, files };
    const part = await guarded(`chunk ${index}`, () => calculation.compute(chunk));
    folded = index === from ? part : await guarded("merge", () => calculation.merge(folded, part, params));
  }
  const chunks = to - from === 1 ? "chunk" : "chunks";
  return encodePart(calculation, folded, `the partial of ${chunks} ${rangeText({ from, to })}`);
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

export async function guarded<T>(what: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof CalculationError) throw error;
    const message = `${what}: ${messageOf(error)}${placeOf(error)}`;
    throw new CalculationError("calculation-threw", message, { cause: error });
  }
}

/** `what` names the partial in errors. */
export async function encodePart(
  calculation: AnyCalculation,
  part: unknown,
  what = "the partial",
): Promise<Uint8Array> {
  const { codec } = calculation;
  const bytes =
    codec === undefined ? encodeWhole(part, what) : await guarded("encode", () => codec.encode(part));
  checkEncoded(bytes);
  if (bytes.length <= calculationLimits.partialBytesMax) return bytes;
  throw new CalculationError(
    "partial-too-large",
    `${what} has ${bytes.length} bytes; ${limitText("partialBytesMax")}`,
  );
}

export const decodePart = ({ codec }: AnyCalculation, bytes: Uint8Array): unknown =>
  codec === undefined
    ? JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString())
    : codec.decode(bytes);

/** JSON has no NaN, Infinity or undefined and would change them silently, so they are refused. */
function encodeJson(value: unknown, what: string, indent?: number): Uint8Array {
  let text: string | undefined;
  try {
    text = JSON.stringify(
      value,
      (key, inner: unknown) => {
        if (typeof inner !== "number" || Number.isFinite(inner)) return inner;
        throw new TypeError(`${key || "it"} is ${inner}`);
      },
      indent,
    );
  } catch (cause) {
    throw new CalculationError("not-json", `${what} cannot be JSON: ${messageOf(cause)}`, { cause });
  }
  if (text === undefined)
    throw new CalculationError("not-json", `${what} is ${typeof value}, which is not JSON`);
  return new TextEncoder().encode(text);
}

/** Others would merge something else than what was computed, so what JSON changes is refused too. */
function encodeWhole(value: unknown, what: string): Uint8Array {
  const bytes = encodeJson(value, what);
  const loss = firstJsonLoss(value);
  if (loss !== undefined) throw lost(what, loss);
  return bytes;
}

const lost = (what: string, { path, was, becomes }: JsonLoss): CalculationError =>
  new CalculationError(
    "not-json",
    `${what} cannot be JSON: ${path || "it"} is ${was}, which would become ${becomes}`,
  );

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

/** Names the limit, so that whoever meets it can look up its reason. */
const limitText = (name: keyof typeof calculationLimits): string =>
  `the limit is ${calculationLimits[name]} (${name})`;
