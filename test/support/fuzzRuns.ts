import type fc from "fast-check";

const { LEASEFOLD_FULL, LEASEFOLD_FUZZ_SEED } = process.env;

/**
 * How often a property is tried, and from which seed: `npm run fuzz -- --seed 5` plays the same documents again. With
 * `LEASEFOLD_FULL=1` it is tried `full` times.
 */
export const fuzzRuns = (numRuns: number, full = 20_000): Pick<fc.Parameters, "numRuns" | "seed"> => ({
  numRuns: LEASEFOLD_FULL === "1" ? full : numRuns,
  ...(LEASEFOLD_FUZZ_SEED === undefined ? {} : { seed: Number(LEASEFOLD_FUZZ_SEED) }),
});
