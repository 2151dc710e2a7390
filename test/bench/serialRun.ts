import { runSerially } from "../../src/calculations/leasefold.ts";
import type { AnyCalculation, ResultBytes } from "../../src/engine/calculation/contract.ts";
import type { Files } from "../../src/engine/calculation/files.ts";
import { parseParams } from "../../src/engine/calculation/params.ts";

/** A whole run in this thread, and how long it took. Parameters are as a user gives them. */
export async function serialRun(
  calculation: AnyCalculation,
  raw: Readonly<Record<string, unknown>>,
  files?: Files,
): Promise<{ readonly seconds: number; readonly result: ResultBytes }> {
  const params = parseParams(calculation, raw);
  const startedMs = performance.now();
  const result = await runSerially(calculation, params, files);
  return { seconds: (performance.now() - startedMs) / 1000, result };
}
