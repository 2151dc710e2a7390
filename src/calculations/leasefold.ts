import type { AnyCalculation, ResultBytes } from "./contract.ts";
import { type Files, noFiles } from "./files.ts";
import { runCompute, runFinish, runPlan } from "./runJob.ts";

/**
 * What `import … from "leasefold"` gives to a user's calculation: the contract's types and helper, and the zod
 * whose schemas describe parameters, sums that merge to the same bits in any grouping, and for its test a run in one
 * thread and the laws.
 */
export { z } from "zod";
export {
  type Calculation,
  type Chunk,
  type Codec,
  defineCalculation,
  type FinishContext,
  type JsonValue,
  type Plan,
  type Result,
  type ResultBytes,
} from "./contract.ts";
export { type ExactSum, exactSum } from "./exact/exactSum.ts";
export type { FileFact, Files } from "./files.ts";
export { brokenLaws } from "./laws/checkLaws.ts";

/**
 * A whole run in this thread, chunk after chunk, with no storage for its own: what a run over any number of workers
 * must equal byte for byte. `params` are as the schema gives them. Throws `CalculationError`.
 */
export async function runSerially(
  calculation: AnyCalculation,
  params: unknown,
  files: Files = noFiles,
): Promise<ResultBytes & { readonly chunks: number }> {
  const inputs: unknown[] = [];
  const keep = async (batch: readonly unknown[]): Promise<void> => void inputs.push(...batch);
  const { chunks, list } = await runPlan(calculation, params, keep, files);
  const job = { params, from: 0, to: chunks, count: chunks, ...(list ? { inputs } : {}) };
  const parts = chunks === 0 ? [] : [await runCompute(calculation, job, files)];
  const result = await runFinish(calculation, { params, parts, folded: chunks, count: chunks });
  return { ...result, chunks };
}
