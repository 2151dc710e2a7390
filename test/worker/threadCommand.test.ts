import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import type { CalculationError } from "../../src/engine/model/errors.ts";
import type { PrintedLine } from "../../src/engine/model/printed.ts";
import type { TaskOptions, UserCode } from "../../src/engine/worker/threads/userCode.ts";
import { patienceMs } from "../support/patience.ts";
import { hasPython, stateOf } from "../support/python.ts";

const file = join(import.meta.dirname, "..", "fixtures", "command.calculation.ts");
const own = { threads: 1, memoryMb: 64, files: [file], access: noAccess, onIdleCrash: () => expect.fail() };
const task: TaskOptions = { urgent: false, limitMs: 20_000 };
const pack = (does: string, at = 1) => ({
  calculation: "command",
  params: { does, at, chunks: 3 },
  ...{ from: 0, to: 3, count: 3, inputs: [{ k: 1 }, { k: 2 }, { k: 4 }] },
});
const failureOf = (running: Promise<unknown>): Promise<CalculationError> =>
  running.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );
const json = ({ bytes }: { readonly bytes: Uint8Array }): unknown =>
  JSON.parse(Buffer.from(bytes).toString());

/** Computes a pack, and gives what was printed. */
async function printing<T>(compute: (options: TaskOptions) => Promise<T>, options = task) {
  const lines: (PrintedLine | undefined)[] = [];
  const made = await compute({ ...options, onPrint: (line) => void lines.push(line) });
  const pid = Number(/of (\d+)$/.exec(lines[0]?.text ?? "")?.[1]);
  return { made, lines: lines.filter((line) => line !== undefined), pid };
}

describe.skipIf(!hasPython)("a calculation that is a command, in a thread", () => {
  let pool: UserCode;
  beforeAll(() => {
    pool = threadPool(own);
  });
  afterAll(() => pool.stop());

  test("keeps one process for all tasks of the thread, and its prints belong to their chunks", async () => {
    const first = await printing((options) => pool.compute(pack("sum", -1), options));
    const second = await printing((options) => pool.compute(pack("sum", -1), options));
    expect([json(first.made), json(second.made)]).toEqual([7, 7]);
    expect(second.pid).toBe(first.pid);
    expect(second.lines.map(({ chunk, text }) => [chunk, text])).toEqual(
      [0, 1, 2].map((chunk) => [chunk, `chunk ${chunk} of ${first.pid}`]),
    );
  });

  test("plans a list, folds, and gives the folded partial as its result where it has no finish", async () => {
    const inputs: unknown[] = [];
    const { params } = pack("sum");
    const planned = await pool.plan(
      { calculation: "command", params },
      async (some) => void inputs.push(...some),
      task,
    );
    expect(planned).toMatchObject({ chunks: 3, list: true });
    expect(inputs).toEqual([0, 1, 2].map((k) => ({ k, text: "ü😀" })));
    const none = { calculation: "command", params, parts: [], folded: 0, count: 0 };
    expect(json({ bytes: (await pool.finish(none, task)).body })).toBe(0);
  });

  const failures = {
    raises: /^chunk 1: KeyError: 'no such rate' \(command\.py:\d+\)/,
    exits: /^chunk 1: .*python3 command\.py failed: it ended with code 3; it printed: .*chunk 1 of/,
    dies: /^chunk 1: .*it ended by SIGKILL/,
    garbage: /^chunk 1: .*it wrote "Traceback: none", which is no line of JSON/,
    twice: /^chunk 1: .*it gave an answer that nobody asked for/,
    parses: /^chunk 1: JSONDecodeError: .* \(command\.py:\d+\)$/,
    nan: /^chunk 1: ValueError: Out of range float values[^(]*$/,
    integer: /^chunk 1: .*it gave the integer 9007199254740993, and a number holds .*: give it as text/,
    bytes: /compute gave bytes where partials are json/,
    fills: /^chunk 1: .*it needs more than the 64 MB of a thread: it has \d+ MB/,
    missing: /^chunk 1: OSError: /,
  };
  test.each(Object.entries(failures))(
    "that %s fails its attempt with a reason, and the next one works",
    async (does, words) => {
      const error = await failureOf(pool.compute(pack(does), task));
      expect(error.message.replace(/compute: /g, "")).toMatch(words);
      expect(error.code).toBe("calculation-threw");
      expect(json(await pool.compute(pack("sum", -1), task))).toBe(7);
    },
  );

  test("fails without the lines that another run had printed", async () => {
    const { made, lines } = await printing((options) => pool.compute(pack("half a line", 2), options));
    expect(json(made)).toBe(3);
    expect(lines.slice(-3).map(({ text }) => text)).toEqual(["1 %", "2 %", "of one run"]);
    const { message } = await failureOf(pool.compute({ ...pack("exits", 0), to: 1 }, task));
    expect(message).toMatch(/it printed: chunk 0 of \d+$/);
  });

  test.each(["spawn", "forkserver", "fork"])("computes in a pool of processes by %s", async (method) => {
    expect(json(await pool.compute(pack(method), task))).toBe(1 + 14 + 4);
  });

  test("that hangs in native code is killed at the time limit with all it started, and leaves no entry of a process", async () => {
    const lines: string[] = [];
    const onPrint: TaskOptions["onPrint"] = (line) => void lines.push(line?.text ?? "");
    const error = await failureOf(pool.compute(pack("hangs"), { ...task, limitMs: 4_000, onPrint }));
    expect(error).toMatchObject({ code: "time-limit", message: /^chunk 1: the time limit of 4 s/ });
    const pid = Number(/of (\d+)$/.exec(lines[0] ?? "")?.[1]);
    expect(pid).toBeGreaterThan(0);
    await vi.waitFor(() => expect(stateOf(pid)).toBe(""), { timeout: patienceMs });
    expect(json(await pool.compute(pack("sum", -1), task))).toBe(7);
  });

  test("that is not wanted any more is killed, although its chunk may fail", async () => {
    const stop = new AbortController();
    const gaps = { most: 3, last: true };
    const onPrint: TaskOptions["onPrint"] = (line) =>
      void (line?.chunk === 2 && stop.abort(new Error("paused")));
    const error = await failureOf(
      pool.compute({ ...pack("hangs", 2), gaps }, { ...task, signal: stop.signal, onPrint }),
    );
    expect(error.message).toBe("paused");
  });

  test("sends each double as it is, minus zero as zero, and refuses nothing that a double holds", async () => {
    const one = { ...pack("numbers", 0), to: 1, count: 1 };
    expect(Buffer.from((await pool.compute(one, task)).bytes).toString()).toBe(
      JSON.stringify([1e16, 2 ** 60, 1e21, 5e-324, 0.1 + 0.2, 0, 3, Number.MAX_SAFE_INTEGER]),
    );
  });

  test("finds no secret in its environment, and its sets have one order", async () => {
    process.env["DataStorage"] = "AccountKey=secret";
    const fresh = threadPool(own);
    const one = (does: string) => ({ ...pack(does, 0), to: 1, count: 1 });
    const [environment, first, second] = [
      json(await fresh.compute(one("environment"), task)),
      json(await fresh.compute(one("order"), task)),
      json(await pool.compute(one("order"), task)),
    ];
    delete process.env["DataStorage"];
    await fresh.stop();
    expect(environment).toMatchObject({ PATH: expect.any(String), OMP_NUM_THREADS: "1" });
    expect(JSON.stringify(environment)).not.toContain("AccountKey");
    expect(second).toEqual(first);
  });

  test("ends when its thread had no task for long, and when the pool stops", async () => {
    const idle = threadPool({ ...own, idleMs: 20 });
    const { pid } = await printing((options) => idle.compute(pack("sum", -1), options));
    await vi.waitFor(() => expect(stateOf(pid)).toBe(""), { timeout: patienceMs });
    await idle.stop();

    const stopped = threadPool(own);
    const last = await printing((options) => stopped.compute(pack("sum", -1), options));
    expect(stateOf(last.pid)).toMatch(/^[SR]/);
    await stopped.stop();
    await vi.waitFor(() => expect(stateOf(last.pid)).toMatch(/^(Z.*)?$/), { timeout: patienceMs });
  });
});
