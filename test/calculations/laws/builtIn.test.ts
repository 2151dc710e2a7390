import { expect, test } from "vitest";
import { checkLaws } from "../../../src/calculations/laws/checkLaws.ts";
import { loadCalculations } from "../../../src/calculations/registry.ts";
import { InputError } from "../../../src/model/errors.ts";
import { systemClock } from "../../../src/storage/system.ts";

/** Small, and still of three chunks and more; others are checked with their defaults. */
const params: Readonly<Record<string, unknown>> = {
  primes: { to: 3e8 },
  queens: { n: 7 },
  mandelbrot: { width: 256, height: 192, centerX: -0.5, centerY: 0, span: 3, samples: 1 },
  options: { paths: 1e6 },
};

const known = await loadCalculations([]);
/** One that must be told where its files lie is not checked here. */
const checked = known.list().flatMap((calculation) => {
  try {
    return [{ calculation, parsed: known.parseParams(calculation, params[calculation.name] ?? {}) }];
  } catch (error) {
    if (error instanceof InputError && !(calculation.name in params)) return [];
    throw error;
  }
});

test.each(checked.map((one) => [one.calculation.name, one] as const))(
  "%s keeps every law",
  async (_name, one) => {
    const options = { chunks: 6, runs: 5, clock: systemClock };
    const { findings, result, chunks } = await checkLaws(one.calculation, one.parsed, options);
    expect(findings.filter(({ outcome }) => outcome === "broken" || outcome === "unchecked")).toEqual([]);
    expect(result).toBeDefined();
    expect(chunks).toBeGreaterThanOrEqual(3);
  },
);
