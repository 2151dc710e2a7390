import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import { chunksNamed, ThreadEndedError } from "../../src/engine/model/chunkErrors.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";
import type { UserCode } from "../../src/engine/worker/threads/userCode.ts";

/** Which chunk of a pack ends its thread or its time (rule *failed chunks*). */

const file = join(import.meta.dirname, "..", "fixtures", "failing.calculation.ts");
const task = { urgent: false, limitMs: 20_000 };
let pool: UserCode;
let defaults: object;
beforeAll(async () => {
  const known = await loadCalculations([file]);
  defaults = known.parseParams(known.get("failing"), {}) as object;
  pool = threadPool({ threads: 1, memoryMb: 64, files: [file], access: noAccess, onIdleCrash: () => {} });
});
afterAll(() => pool.stop());

const chunks = (changed: object = {}) => ({
  ...{ calculation: "failing", params: { ...defaults, ...changed } },
  ...{ from: 0, to: 4, count: 4 },
});
const sumOf = ({ bytes }: { bytes: Uint8Array }) => JSON.parse(Buffer.from(bytes).toString()).sum;
const failureOf = (running: Promise<unknown>): Promise<unknown> =>
  running.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );

test.each<[string, object, number, string]>([
  ["ends its thread", { exits: "2" }, 20_000, "thread-exited"],
  ["takes all memory", { exhausts: "2" }, 20_000, "out-of-memory"],
  ["never ends", { hangs: "2" }, 1_500, "time-limit"],
])("a chunk that %s is told as what ended it", async (_what, changed, limitMs, code) => {
  const error = await failureOf(pool.compute(chunks(changed), { ...task, limitMs }));
  expect(error).toBeInstanceOf(ThreadEndedError);
  expect(error).toMatchObject({ code, chunk: 2, message: expect.stringMatching(/^chunk 2: [^c]/) });
  expect(chunksNamed(error as ThreadEndedError)).toEqual({ from: 2, to: 3 });
});

test("a pack whose chunks all are slow blames none of them at its limit", async () => {
  await pool.compute(chunks(), task);
  const error = await failureOf(pool.compute(chunks({ sleepMs: 500 }), { ...task, limitMs: 1_250 }));
  expect(error).toMatchObject({ code: "time-limit", message: expect.stringMatching(/^chunk 2: /) });
  expect(error).toBeInstanceOf(CalculationError);
  expect(error).not.toBeInstanceOf(ThreadEndedError);
});

test("an error of a chunk in a thread names its chunk once, as a field and in its message", async () => {
  const error = await failureOf(pool.compute(chunks({ throws: "2" }), task));
  expect(chunksNamed(error as CalculationError)).toEqual({ from: 2, to: 3 });
  expect(error).toMatchObject({ message: expect.stringMatching(/^chunk 2: chunk 2 was told to throw/) });
});

test("chunks that are excluded are not computed, and are told as failed", async () => {
  const excluded = [1, 2].map((chunk) => ({ chunk, code: "thread-exited", message: "it left" }));
  const made = await pool.compute(
    { ...chunks({ exits: "1,2" }), gaps: { most: 2, last: false, excluded } },
    task,
  );
  expect(sumOf(made)).toBe(0 + 3);
  expect(made.failed).toEqual(excluded);
});
