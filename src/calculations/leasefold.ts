/**
 * What `import … from "leasefold"` gives to a user's calculation: the contract's types and helper, and the zod
 * whose schemas describe parameters.
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
export type { FileFact, Files } from "./files.ts";
