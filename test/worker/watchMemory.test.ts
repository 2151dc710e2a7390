import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import type { TaskOptions, UserCode } from "../../src/engine/worker/threads/userCode.ts";

/** Buffers in threads of 16 MB. */
const file = join(import.meta.dirname, "..", "fixtures", "failing.calculation.ts");
const task: TaskOptions = { urgent: false, limitMs: 20_000 };
let pool: UserCode;
let defaults: object;

beforeAll(async () => {
  const known = await loadCalculations([file]);
  defaults = known.parseParams(known.get("failing"), {}) as object;
  const files = [file];
  pool = threadPool({ threads: 2, memoryMb: 16, files, access: noAccess, onIdleCrash: () => {} });
});
afterAll(() => pool.stop());
afterEach(() => void vi.useRealTimers());

const computed = (changed: object) =>
  pool.compute(
    { calculation: "failing", params: { ...defaults, ...changed }, from: 0, to: 1, count: 1 },
    task,
  );
const failureOf = (running: Promise<unknown>) => running.then(String, (error: unknown) => error);
const moveIntervals = () => vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });

test("a chunk that never pauses is ended once its Buffers have more than the limit, and no other task with it", async () => {
  const [ended, beside] = await Promise.all([
    failureOf(computed({ buffersMb: 192, busyMs: 15_000 })),
    computed({ buffersMb: 40, busyMs: 1_000 }),
  ]);
  expect(ended).toMatchObject({
    code: "out-of-memory",
    message: expect.stringMatching(
      /^chunk 0: the calculation needs more than the 16 MB of a thread: its Buffers have \d{2,3} MB$/,
    ),
  });
  expect(beside.ms).toBeGreaterThan(900);
});

test("Buffers that were dropped do not count", async () => {
  await expect(computed({ buffersMb: 4, busyMs: 1_500 })).resolves.toBeDefined();
});

test("memory is measured while a task computes, and not before or after", async () => {
  moveIntervals();
  const running = computed({ busyMs: 300 });
  expect(vi.getTimerCount()).toBe(0);
  await expect.poll(() => vi.getTimerCount(), { interval: 5 }).toBe(1);
  await running;
  expect(vi.getTimerCount()).toBe(0);
});
