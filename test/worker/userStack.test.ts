import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";

const failing = join(import.meta.dirname, "..", "fixtures", "failing.calculation.ts");
const options = { threads: 1, memoryMb: 256, files: [failing], access: noAccess };
const pool = threadPool({ ...options, onIdleCrash: () => {} });
afterAll(() => pool.stop());

async function failureOf(params: object): Promise<CalculationError> {
  const known = await loadCalculations([failing]);
  const parsed = known.parseParams(known.get("failing"), params);
  const job = { calculation: "failing", params: parsed, from: 0, to: 3, count: 3 };
  return pool.compute(job, { urgent: false, limitMs: 20_000 }).then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );
}

test("an error of user code has the stack frames of that code and no others, so the host's log shows those", async () => {
  const error = await failureOf({ throws: "1" });
  expect(error).toBeInstanceOf(CalculationError);
  const [first, ...frames] = (error.stack ?? "").split("\n");
  expect(first).toMatch(/^RangeError: chunk 1: chunk 1 was told to throw \(failing\.calculation\.ts:\d+\)$/);
  expect(frames.length).toBeGreaterThan(0);
  for (const frame of frames) expect(frame).toMatch(/^ {4}at .*failing\.calculation\.ts:\d+:\d+\)?$/);
});

test("a chunk that returns more than a partial may hold is named, even in a pack of several chunks", async () => {
  const error = await failureOf({ excess: "1" });
  expect(error).toMatchObject({ code: "partial-too-large" });
  expect(error.stack).toMatch(/^CalculationError: chunk 1: the partial has \d+ bytes; the limit is [^\n]*$/);
});
