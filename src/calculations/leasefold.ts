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
export { runSerially } from "./runSerially.ts";
