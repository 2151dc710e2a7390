import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import { CalculationError, LeasefoldError } from "../../src/engine/model/errors.ts";
import type { TaskOptions, UserCode } from "../../src/engine/worker/threads/userCode.ts";
import { chunkParts, foldOfChunks } from "../support/coveringParts.ts";
import { patienceMs } from "../support/patience.ts";

const failingFile = join(import.meta.dirname, "..", "fixtures", "failing.calculation.ts");
const task: TaskOptions = { urgent: false, limitMs: 20_000 };
const idleCrashes: unknown[] = [];

let folder = "";
let defaults: object;
let pool: UserCode;
const poolOf = (threads: number, files = [failingFile], more: { idleMs?: number } = {}): UserCode =>
  threadPool({
    ...more,
    threads,
    memoryMb: 128,
    files,
    access: noAccess,
    onIdleCrash: (error) => idleCrashes.push(error),
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-threads-"));
  const known = await loadCalculations([failingFile]);
  defaults = known.parseParams(known.get("failing"), {}) as object;
  pool = poolOf(2);
});
afterAll(async () => {
  await pool.stop();
  await rm(folder, { recursive: true, force: true });
  expect(idleCrashes).toEqual([]);
});

const failing = (changed: object = {}) => ({ calculation: "failing", params: { ...defaults, ...changed } });
const chunks = (changed: object = {}, from = 0, to = 3) => ({ ...failing(changed), from, to, count: to });
const read = ({ bytes }: { bytes: Uint8Array }): unknown => JSON.parse(Buffer.from(bytes).toString());
const encode = (sum: number) => new TextEncoder().encode(JSON.stringify({ sum, ballast: "" }));
const failureOf = (running: Promise<unknown>): Promise<CalculationError> =>
  running.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );

test("a thread tells which chunks it has left out, where some may fail", async () => {
  const gaps = { most: 2, last: true };
  const made = await pool.compute({ ...chunks({ throws: "1,4" }, 0, 8), gaps }, task);
  expect(read(made)).toMatchObject({ sum: 0 + 2 + 3 + 5 + 6 + 7 });
  expect(made.failed).toMatchObject([
    {
      chunk: 1,
      code: "calculation-threw",
      message: expect.stringMatching(/^chunk 1: .*failing.calculation.ts/),
    },
    { chunk: 4, code: "calculation-threw" },
  ]);
  expect((await pool.compute({ ...chunks(), gaps }, task)).failed).toBeUndefined();
});

describe("a pool of threads", () => {
  test("ends its threads after a time without a task, not during one, and starts others with the next", async () => {
    const workers: Promise<unknown>[] = [];
    const started = (worker: Worker) => void workers.push(once(worker, "exit"));
    process.on("worker", started);
    const brief = poolOf(2, [failingFile], { idleMs: 20 });
    try {
      const [long, short] = [brief.compute(chunks({ sleepMs: 300 }), task), brief.compute(chunks(), task)];
      expect(read(await short)).toEqual(read(await long));
      expect(workers).toHaveLength(2);
      await Promise.all(workers);
      const sums = await Promise.all([0, 1].map(() => brief.compute(chunks(), task)));
      expect(sums.map(read)).toEqual([read(await short), read(await short)]);
      expect(workers).toHaveLength(4);
    } finally {
      process.off("worker", started);
      await brief.stop();
    }
    await Promise.all(workers);
  });

  test("starts its threads with the first task", async () => {
    let threads = 0;
    const started = () => {
      threads += 1;
    };
    process.on("worker", started);
    try {
      await poolOf(2).stop();
      const late = poolOf(2);
      expect(threads).toBe(0);
      await late.compute(chunks(), task);
      expect(threads).toBe(2);
      await late.stop();
    } finally {
      process.off("worker", started);
    }
  });

  test.runIf(process.platform === "linux")("tells how long a task waited for a core", async () => {
    const threads = 2 * availableParallelism();
    const busy = poolOf(threads);
    const job = { calculation: "primes", params: { from: 0, to: 1e10 }, from: 0, to: 20, count: 160 };
    try {
      const warm = Array.from({ length: threads }, () => busy.compute({ ...job, to: 1 }, task));
      await Promise.all(warm);
      const all = await Promise.all(warm.map(() => busy.compute(job, task)));
      const [ms, waitedMs] = [all.map((one) => one.ms), all.map((one) => one.waitedMs ?? Number.NaN)].map(
        (times) => times.reduce((sum, one) => sum + one, 0),
      ) as [number, number];
      // Twice as many threads as cores wait for half of their time, and for more where others work too.
      expect(waitedMs / ms).toBeGreaterThan(0.25);
      expect(waitedMs).toBeLessThan(ms);
    } finally {
      await busy.stop();
    }
  });

  test("computes chunks, folds partials and makes the result", async () => {
    const computed = await pool.compute(chunks({}, 4, 6), task);
    expect(read(computed)).toMatchObject({ sum: 9 });
    expect(computed.ms).toBeGreaterThanOrEqual(0);
    const folded = await pool.fold({ ...failing(), ...foldOfChunks([encode(1), encode(2)]) }, task);
    expect(read(folded)).toMatchObject({ sum: 3 });
    const result = await pool.finish(
      { ...failing(), parts: chunkParts([encode(7)]), folded: 9, count: 10 },
      task,
    );
    expect(result).toMatchObject({ contentType: "application/json", extension: "json" });
    expect(read({ bytes: result.body })).toEqual({ sum: 7, folded: 9, count: 10 });
  });

  test("plans a count, and a list in batches that wait for each other", async () => {
    const never = () => Promise.reject(new Error("a count has no inputs"));
    expect(await pool.plan(failing({ chunks: 12 }), never, task)).toEqual({ chunks: 12, list: false });
    const sizes: number[] = [];
    let open = 0;
    const planned = await pool.plan(
      failing({ chunks: 11_000, list: "yes" }),
      async (inputs) => {
        expect(++open).toBe(1);
        expect(inputs[0]).toEqual({ index: sizes.reduce((a, b) => a + b, 0) });
        sizes.push(inputs.length);
        await new Promise((resolve) => setImmediate(resolve));
        open--;
      },
      task,
    );
    expect(planned).toEqual({ chunks: 11_000, list: true });
    expect(sizes).toEqual([5_000, 5_000, 1_000]);
  });

  test("inputs that cannot be stored end the plan with the reason", async () => {
    const lost = new Error("storage is away");
    const error = await failureOf(
      pool.plan(failing({ chunks: 9_000, list: "yes" }), () => Promise.reject(lost), task),
    );
    expect(error).toBe(lost);
  });

  test.each([
    ["compute throws", { throws: "1" }, "calculation-threw", /chunk 1 was told to throw/],
    ["merge throws", { mergeThrows: "yes" }, "calculation-threw", /merge was told to throw/],
    ["a chunk ends its thread", { exits: "2" }, "thread-exited", /^chunk 2: .* exited with code: 3/],
    ["a chunk takes all memory", { exhausts: "0" }, "out-of-memory", /^chunk 0: .*128 MB/],
    ["a partial is too large", { excess: "0" }, "partial-too-large", /limit is 33554432/],
  ])("when %s only that attempt fails", async (_, params, code, message) => {
    const [error, beside] = await Promise.all([
      failureOf(pool.compute(chunks(params), task)),
      pool.compute(chunks({ busyMs: 20 }, 4, 6), task),
    ]);
    expect(error).toBeInstanceOf(CalculationError);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect(read(beside)).toMatchObject({ sum: 9 });
    expect(read(await pool.compute(chunks(), task))).toMatchObject({ sum: 3 });
  });

  test("whoever starts a task learns which chunk its thread computes", async () => {
    const started = Promise.withResolvers<() => number | undefined>();
    const onStart = (chunkNow: () => number | undefined = () => undefined) => started.resolve(chunkNow);
    const error = failureOf(pool.compute(chunks({ hangs: "1" }), { ...task, limitMs: 2_000, onStart }));
    const chunkNow = await started.promise;
    await vi.waitFor(() => expect(chunkNow()).toBe(1), { timeout: patienceMs });
    expect(await error).toMatchObject({ code: "time-limit" });
  });

  test("what user code throws comes with the stack that shows where", async () => {
    const error = await failureOf(pool.compute(chunks({ throws: "0" }), task));
    expect(error.details["stack"]).toMatch(/RangeError: chunk 0: .*\n.*failing\.calculation\.ts:\d+/);
  });

  test("a plan and a finish that throw fail like a chunk", async () => {
    const plan = await failureOf(pool.plan(failing({ planThrows: "yes" }), async () => {}, task));
    const parts = chunkParts([encode(1)]);
    const job = { ...failing({ finishThrows: "yes" }), parts, folded: 1, count: 1 };
    const finish = await failureOf(pool.finish(job, task));
    expect([plan.code, finish.code]).toEqual(["calculation-threw", "calculation-threw"]);
  });

  test("an unknown calculation fails with the names of the known ones", async () => {
    const error = await failureOf(pool.compute({ ...chunks(), calculation: "pi" }, task));
    expect(error.message).toMatch(/primes, .*failing/);
  });

  test("a chunk that never ends is ended at the time limit, which waiting tasks do not share", async () => {
    const single = poolOf(1);
    try {
      await single.compute(chunks(), task);
      const [error, waited] = await Promise.all([
        failureOf(single.compute(chunks({ hangs: "1" }), { ...task, limitMs: 2_000 })),
        single.compute(chunks(), { ...task, limitMs: 1_900 }),
      ]);
      expect(error).toBeInstanceOf(CalculationError);
      const message = "chunk 1: the time limit of 2 s for its whole pack is past; the thread was ended";
      expect(error).toMatchObject({ code: "time-limit", message });
      expect(read(waited)).toMatchObject({ sum: 3 });
    } finally {
      await single.stop();
    }
  });

  test("urgent tasks are taken before others, and each start is reported", async () => {
    const single = poolOf(1);
    const started: string[] = [];
    const run = (name: string, urgent: boolean) =>
      single.compute(chunks({}), { ...task, urgent, onStart: () => void started.push(name) });
    await Promise.all([run("first", false), run("a", false), run("b", false), run("urgent", true)]);
    await single.stop();
    expect(started).toEqual(["first", "urgent", "a", "b"]);
  });

  test("a task that is no longer wanted when a thread takes it is not run", async () => {
    const unwanted = new Error("the run was cancelled");
    const onStart = () => Promise.reject(unwanted);
    expect(await failureOf(pool.compute(chunks({ exits: "all" }), { ...task, onStart }))).toBe(unwanted);
  });

  test("a stop ends running and waiting tasks, and no calculation fails", async () => {
    const single = poolOf(1);
    const runs = [failureOf(single.compute(chunks({ hangs: "0" }), task))];
    for (let i = 0; i < 2; i++) runs.push(failureOf(single.compute(chunks(), task)));
    await new Promise((resolve) => setImmediate(resolve));
    await single.stop();
    for (const error of await Promise.all(runs)) {
      expect(error).toBeInstanceOf(LeasefoldError);
      expect(error).not.toBeInstanceOf(CalculationError);
      expect(error).toMatchObject({ code: "stopping", retry: "later" });
    }
  });

  test("a pool that stops starts no thread for work on one that is held", async () => {
    const one = poolOf(1);
    await one.hold(task);
    await one.stop();
    const error = await failureOf(one.compute(chunks(), { ...task, held: true }));
    expect(error).toMatchObject({ code: "stopping", retry: "later" });
  });

  test("a user's file far from this project runs in a thread", async () => {
    const file = join(folder, "squares.ts");
    const text = `import { defineCalculation, z } from "leasefold";
      export default defineCalculation({
        name: "squares", summary: "", params: z.object({}),
        plan: () => [1, 2, 3], compute: ({ input }: { input: number }) => input * input,
        merge: (a: number, b: number) => a + b, zero: () => 0,
      });`;
    await writeFile(file, text);
    const single = poolOf(1, [file]);
    const job = { calculation: "squares", params: {}, from: 0, to: 3, count: 3, inputs: [1, 2, 3] };
    const computed = await single.compute(job, task);
    await single.stop();
    expect(read(computed)).toBe(14);
  });

  test.each([
    ["at once", "void Promise.reject(new Error('floating'));"],
    [
      "a few turns later",
      "setImmediate(() => process.nextTick(() => void Promise.reject(new Error('floating'))));",
    ],
  ])(
    "a promise that nobody awaited and that is rejected %s fails its own task, not the next",
    async (_when, floats) => {
      const file = join(folder, `floats${floats.length}.ts`);
      const text = `import { defineCalculation, z } from "leasefold";
      export default defineCalculation({
        name: "floats", summary: "", params: z.object({ floats: z.boolean() }), plan: () => 1,
        compute: ({ params }) => { if (params.floats) ${floats} return 7; },
        merge: (a: number, b: number) => a + b, zero: () => 0,
      });`;
      await writeFile(file, text);
      const single = poolOf(1, [file]);
      const run = (given: boolean) =>
        single.compute({ calculation: "floats", params: { floats: given }, from: 0, to: 1, count: 1 }, task);
      const error = await failureOf(run(true));
      expect(error).toMatchObject({
        code: "calculation-threw",
        message: expect.stringMatching(
          /^a promise that was not awaited was rejected: floating \(floats\d+\.ts:4\)$/,
        ),
      });
      expect(read(await run(false))).toBe(7);
      await single.stop();
    },
  );

  test("an error in a timer of a task that has ended ends no chunk of another run", async () => {
    const file = join(folder, "late.ts");
    const gate = join(folder, "late.thrown");
    const text = `import { writeFileSync, existsSync } from "node:fs";
      import { defineCalculation, z } from "leasefold";
      export default defineCalculation({
        name: "late", summary: "", params: z.object({ sets: z.boolean() }), plan: () => 1,
        compute: async ({ params }) => {
          if (params.sets) setTimeout(() => { writeFileSync(${JSON.stringify(gate)}, ""); throw new Error("late"); }, 200);
          else while (!existsSync(${JSON.stringify(gate)})) await new Promise((turn) => setTimeout(turn, 10));
          return 7;
        },
        merge: (a: number, b: number) => a + b, zero: () => 0,
      });`;
    await writeFile(file, text);
    const single = poolOf(1, [file]);
    const run = (sets: boolean) =>
      single.compute({ calculation: "late", params: { sets }, from: 0, to: 1, count: 1 }, task);
    expect(read(await run(true))).toBe(7);
    expect(read(await run(false))).toBe(7);
    await single.stop();
  });

  test("an error in a timer names the chunk that set it, not the one that is computed then", async () => {
    const file = join(folder, "blames.ts");
    const text = `import { defineCalculation, z } from "leasefold";
      export default defineCalculation({
        name: "blames", summary: "", params: z.object({}), plan: () => 3,
        compute: async ({ index }) => {
          if (index === 0) setTimeout(() => { throw new Error("late"); }, 50);
          if (index === 1) await new Promise(() => setTimeout(() => {}, 1e6));
          return 7;
        },
        merge: (a: number, b: number) => a + b, zero: () => 0,
      });`;
    await writeFile(file, text);
    const single = poolOf(1, [file]);
    const failing = single.compute({ calculation: "blames", params: {}, from: 0, to: 3, count: 3 }, task);
    expect(await failureOf(failing)).toMatchObject({ code: "thread-crashed", chunk: 0 });
    await single.stop();
  });

  test("a chunk that prints 100 MB prints its first megabyte, and the process takes no more", async () => {
    const file = join(folder, "flood.ts");
    const text = `import { defineCalculation, z } from "leasefold";
      export default defineCalculation({
        name: "flood", summary: "", params: z.object({}), plan: () => 1,
        compute: () => { for (let line = 0; line < 100_000; line += 1) console.log("x".repeat(999)); return 7; },
        merge: (a: number, b: number) => a + b, zero: () => 0,
      });`;
    await writeFile(file, text);
    const single = poolOf(1, [file]);
    let [characters, last] = [0, ""];
    const write = vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
      if (String(chunk).includes("x".repeat(999)) || String(chunk).includes("left out")) last = String(chunk);
      characters += String(chunk).length;
      return true;
    });
    try {
      expect(
        read(await single.compute({ calculation: "flood", params: {}, from: 0, to: 1, count: 1 }, task)),
      ).toBe(7);
      await vi.waitFor(() => expect(last).toContain("the rest is left out"), patienceMs);
    } finally {
      write.mockRestore();
      await single.stop();
    }
    expect(characters).toBeGreaterThan(999_000);
    expect(characters).toBeLessThan(1_100_000);
  });

  test.each([
    ["new Error('mid')", /crashed: mid/],
    ["'only text'", /crashed: only text/],
  ])(
    "a promise that nobody awaits and that is rejected with %s while its task works ends the task",
    async (what, told) => {
      const file = join(folder, `mid${what.length}.ts`);
      const text = `import { defineCalculation, z } from "leasefold";
      export default defineCalculation({
        name: "mid", summary: "", params: z.object({}), plan: () => 1,
        compute: async () => { void Promise.reject(${what}); await new Promise(() => setTimeout(() => {}, 1e6)); return 7; },
        merge: (a: number, b: number) => a + b, zero: () => 0,
      });`;
      await writeFile(file, text);
      const single = poolOf(1, [file]);
      const error = await failureOf(
        single.compute({ calculation: "mid", params: {}, from: 0, to: 1, count: 1 }, task),
      );
      await single.stop();
      expect(error).toMatchObject({ code: "thread-crashed", message: expect.stringMatching(told) });
    },
  );

  test("a promise that is rejected after its task has ended harms no other task of its thread", async () => {
    const file = join(folder, "late.ts");
    // The second task lets the rejection of the first one come, and works on until that has been handled.
    const text = `import { defineCalculation, z } from "leasefold";
      let [begun, rejected] = [false, false];
      const turn = () => new Promise((done) => setTimeout(done, 1));
      const late = async () => { while (!begun) await turn(); rejected = true; throw new Error("late"); };
      export default defineCalculation({
        name: "late", summary: "", params: z.object({ first: z.boolean() }), plan: () => 1,
        compute: async ({ params }) => {
          if (params.first) { void late(); return 1; }
          begun = true;
          while (!rejected) await turn();
          for (let turns = 0; turns < 10; turns += 1) await turn();
          return 7;
        },
        merge: (a: number, b: number) => a + b, zero: () => 0,
      });`;
    await writeFile(file, text);
    const single = poolOf(1, [file]);
    const run = (first: boolean) =>
      single.compute({ calculation: "late", params: { first }, from: 0, to: 1, count: 1 }, task);
    expect(read(await run(true))).toBe(1);
    expect(read(await run(false))).toBe(7);
    await single.stop();
  });

  test.each([
    [
      "two were begun and the one that is awaited fails",
      "const [a, b] = [later('first'), later('second')]; await a; await b;",
    ],
    ["it floats beside an error", "void later('second'); throw new Error('first');"],
  ])("a task that fails takes a rejection with it: %s", async (_how, body) => {
    const file = join(folder, `fails${body.length}.ts`);
    const text = `import { defineCalculation, z } from "leasefold";
      const later = (what: string) => Promise.resolve().then(() => { throw new Error(what); });
      export default defineCalculation({
        name: "fails", summary: "", params: z.object({ fails: z.boolean() }), plan: () => 1,
        compute: async ({ params }) => { if (params.fails) { ${body} } return 7; },
        merge: (a: number, b: number) => a + b, zero: () => 0,
      });`;
    await writeFile(file, text);
    const single = poolOf(1, [file]);
    const run = (fails: boolean) =>
      single.compute({ calculation: "fails", params: { fails }, from: 0, to: 1, count: 1 }, task);
    const [failed, next] = await Promise.allSettled([run(true), run(false)]);
    await single.stop();
    expect(failed).toMatchObject({ reason: { message: expect.stringMatching(/^chunk 0: first/) } });
    expect(next.status).toBe("fulfilled");
  });

  test("a user's file that does not load fails each task with the reason", async () => {
    const file = join(folder, "broken.ts");
    await writeFile(file, "throw new Error('no good');");
    const single = poolOf(1, [file]);
    const error = await failureOf(single.compute(chunks(), task));
    await single.stop();
    expect(error).toBeInstanceOf(CalculationError);
    expect(error.message).toMatch(/broken\.ts does not load: no good/);
  });
});
