import type fc from "fast-check";
import { drawnSeed } from "./drawnSeed.ts";

/** How often a property is tried: `npm run test:deep` and `npm run fuzz` try it `deep` times, by default twenty times as often. */
export const fuzzRuns = (numRuns: number, deep = 20 * numRuns): Pick<fc.Parameters, "numRuns"> => ({
  numRuns: drawnSeed === undefined ? numRuns : deep,
});
