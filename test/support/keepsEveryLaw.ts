import { expect } from "vitest";
import { checkLaws } from "../../packages/cli/check/laws/checkLaws.ts";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import type { Files } from "../../src/engine/calculation/files.ts";
import { parseParams } from "../../src/engine/calculation/params.ts";
import { systemClock } from "../../src/engine/storage/system.ts";

/** Holds a calculation to the laws, on at most six chunks. */
export async function keepsEveryLaw(
  calculation: AnyCalculation,
  params: unknown,
  files?: Files,
): Promise<void> {
  const options = { chunks: 6, clock: systemClock, ...(files === undefined ? {} : { files }) };
  const tried = await checkLaws(calculation, parseParams(calculation, params), options);
  const { findings, result, chunks } = tried;
  expect(findings.filter(({ outcome }) => outcome === "broken" || outcome === "unchecked")).toEqual([]);
  expect(result).toBeDefined();
  expect(chunks).toBeGreaterThanOrEqual(3);
}
