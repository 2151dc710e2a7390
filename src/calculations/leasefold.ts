import { keepingSaved } from "../engine/calculation/concat.ts";
import type { AnyCalculation, ResultBytes } from "../engine/calculation/contract.ts";
import { type Files, noFiles } from "../engine/calculation/files.ts";
import type { CoveringPart } from "../engine/calculation/foldParts.ts";
import { runCompute, runFinish, runPlan, runStop } from "../engine/calculation/runJob.ts";
import { setUp } from "../engine/calculation/shared.ts";
import { coverOf } from "../engine/model/foldTree.ts";
import { prefixesOf } from "../engine/model/prefixes.ts";

/**
 * The exports of `import … from "leasefold"` for a user's calculation: the contract's types and helper, zod for the
 * parameters, exact sums, quantiles, random numbers and functions whose bits do not depend on where and in which order
 * they are computed, and for tests a run in one thread and files of a folder. The laws are in `leasefold/check`.
 */
export { z } from "zod";
export { failRun, retryLater } from "../engine/calculation/asks.ts";
export { type ConcatDefinition, defineConcatCalculation } from "../engine/calculation/concat.ts";
export {
  type AttemptTime,
  type Calculation,
  type Chunk,
  type Codec,
  defineCalculation,
  type FinishContext,
  type JsonValue,
  type Plan,
  type PlanContext,
  type Result,
  type ResultBytes,
  type SetupContext,
  type StopContext,
} from "../engine/calculation/contract.ts";
export type { FileFact, Files } from "../engine/calculation/files.ts";
export { fileList, type SavedFile } from "../engine/model/fileList.ts";
export { type CommandDefinition, defineCommandCalculation } from "./command/defineCommandCalculation.ts";
export { type ExactSum, exactSum } from "./exact/exactSum.ts";
export { type PortableMath, portableMath } from "./exact/portableMath.ts";
export { type QuantileSketch, quantileSketch } from "./exact/quantileSketch.ts";
export { type RandomStream, randomStream } from "./exact/randomStream.ts";
export { folderFiles } from "./folderFiles.ts";

/**
 * Runs a calculation in this thread, chunk after chunk, without storage, and stops where its `stop` says so. A run on any number
 * of workers must have the same bytes. `chunks` are those of the result. `params` are as the schema gives them. Throws `CalculationError`.
 */
export async function runSerially(
  calculation: AnyCalculation,
  params: unknown,
  files: Files = noFiles,
): Promise<ResultBytes & { readonly chunks: number }> {
  const inputs: unknown[] = [];
  const keep = async (batch: readonly unknown[]): Promise<void> => void inputs.push(...batch);
  const { chunks, list, stops } = await runPlan(calculation, params, keep, { files });
  const { files: kept, whole } = keepingSaved(calculation, files);
  const ready = await setUp(calculation, params, kept);
  const parts: CoveringPart[] = [];
  const add = async (to: number): Promise<void> => {
    const from = parts.at(-1)?.to ?? 0;
    const pack = { params, from, to, count: chunks, ...(list ? { inputs: inputs.slice(from, to) } : {}) };
    if (to > from) parts.push({ ...coverOf(pack, chunks), bytes: await runCompute(ready, pack, kept) });
  };
  let end = chunks;
  for (const prefix of stops ? prefixesOf(chunks) : []) {
    await add(prefix);
    if (!(await runStop(ready, { params, parts, folded: prefix, chunks: prefix }))) continue;
    end = prefix;
    break;
  }
  await add(end);
  const result = whole(await runFinish(ready, { params, parts, folded: end, count: end }));
  return { ...result, chunks: end };
}
