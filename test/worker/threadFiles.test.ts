import { createHash } from "node:crypto";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { MessageChannel } from "node:worker_threads";
import { afterAll, describe, expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { type FileAccess, type FileFact, noAccess } from "../../src/engine/calculation/files.ts";
import { CalculationError, type LeasefoldError } from "../../src/engine/model/errors.ts";
import { storageErrorOfCode } from "../../src/engine/storage/storageErrors.ts";
import { blobFiles } from "../../src/engine/worker/blobFiles.ts";
import { threadPort } from "../../src/engine/worker/threads/threadTask.ts";
import type { TaskOptions } from "../../src/engine/worker/threads/userCode.ts";
import { common, computeOf, workerWorld } from "./workerWorld.ts";

const readingFile = join(import.meta.dirname, "..", "fixtures", "reading.calculation.ts");
const task: TaskOptions = { urgent: false, limitMs: 20_000 };

/** One pool for all, since a thread takes long to start; what it reads is each test's own. */
let current: FileAccess = noAccess;
const onIdleCrash = (error: unknown) => expect.fail(`a thread crashed: ${error}`);
const access: FileAccess = {
  list: (...args) => current.list(...args),
  read: (...args) => current.read(...args),
};
const pool = threadPool({ threads: 1, memoryMb: 128, files: [readingFile], access, onIdleCrash });
afterAll(() => pool.stop());

const mb = 1024 * 1024;

const facts = (count: number, bytes = 10): FileFact[] =>
  Array.from({ length: count }, (_, index) => ({ path: `c/${index}`, bytes, etag: "1" }));

const busy = () => storageErrorOfCode("blob", "ServerBusy", 503, "Get Blob");

/** Lists these files on pages of three, and reads as told. */
const accessTo = (
  files: readonly FileFact[],
  read: FileAccess["read"] = async (_file, from, to) => new Uint8Array(to - from),
): FileAccess => ({
  async list(_source, cursor = "0") {
    const from = Number(cursor);
    const next = from + 3 < files.length ? { cursor: String(from + 3) } : {};
    return { files: files.slice(from, from + 3), ...next };
  },
  read,
});

const job = (how: string, inputs: readonly (readonly FileFact[])[]) => ({
  ...{ calculation: "reading", params: { source: "c/", how } },
  ...{ from: 0, to: inputs.length, count: inputs.length, inputs },
});

async function computed(how: string, inputs: readonly (readonly FileFact[])[]) {
  const { bytes } = await pool.compute(job(how, inputs), task);
  return JSON.parse(Buffer.from(bytes).toString()) as Record<string, number | string>;
}

const failureOf = (running: Promise<unknown>): Promise<LeasefoldError> =>
  running.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );

describe("a thread that reads files", () => {
  test("plans over all pages of a list, and computes over the content of a file", async () => {
    const files = facts(8, 9 * 1024 * 1024);
    current = accessTo(files);
    const inputs: unknown[] = [];
    const params = { source: "c/", how: "one" };
    const keep = async (batch: readonly unknown[]) => void inputs.push(...batch);
    expect(await pool.plan({ calculation: "reading", params }, keep, task)).toEqual({
      chunks: 8,
      list: true,
    });
    expect(inputs).toEqual(files.map((file) => [file]));
    expect(await computed("one", [[files[5] as FileFact]])).toEqual({ "c/5": 9 * 1024 * 1024 });
  });

  test.each([
    ["small files", 1_000, 32],
    ["files of 1 MB", mb, 32],
    ["files of a little more", mb + 1, 16],
    ["files of 8 MB", 8 * mb, 4],
  ])("reads %s at once, but never so many that the process is filled", async (_what, bytes, most) => {
    const count = most + 3;
    let [open, highest, begun] = [0, 0, 0];
    const waiting: (() => void)[] = [];
    /** One more read would begin while these wait for some turns of the event loop. */
    const release = async () => {
      for (let turns = 0; turns < 20; turns += 1) await turn();
      for (const go of waiting.splice(0)) go();
    };
    current = accessTo([], async (file, from, to) => {
      highest = Math.max(highest, ++open);
      begun += 1;
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length === most || begun === count) void release();
      });
      open -= 1;
      return new Uint8Array(to - from).fill(Number(file.path.slice(2)));
    });
    const seen = await computed("together", [facts(count, bytes)]);
    expect(seen).toEqual(Object.fromEntries(facts(count).map(({ path }) => [path, bytes])));
    expect([open, highest]).toEqual([0, most]);
  });

  test("accepts bytes in shared memory", async () => {
    current = accessTo([], async (_file, from, to) => Buffer.from("0123456789").subarray(from, to));
    expect(await computed("twice", [facts(3)])).toEqual({ "c/0": 10, "c/1": 10, "c/2": 10 });
  });

  test("gets a read error that user code may catch, and fails with it otherwise", async () => {
    current = accessTo([], async (file, from, to) => {
      if (file.path === "c/1") throw new CalculationError("file-missing", "c/1 is no longer there");
      return new Uint8Array(to - from);
    });
    const inputs = [facts(3)];
    expect(await computed("caught", inputs)).toEqual({ "c/0": 10, "c/1": "file-missing", "c/2": 10 });
    const error = await failureOf(pool.compute(job("one", inputs), task));
    expect(error).toBeInstanceOf(CalculationError);
    expect(error).toMatchObject({ code: "file-missing", message: "chunk 0: c/1 is no longer there" });
  });

  test("is ended by storage that is busy, whatever it catches", async () => {
    const reason = busy();
    let isBusy = true;
    current = accessTo([], async (_file, from, to) => {
      if (isBusy) throw reason;
      return new Uint8Array(to - from);
    });
    expect(await failureOf(pool.compute(job("caught", [facts(1)]), task))).toBe(reason);
    isBusy = false;
    expect(await computed("caught", [facts(1)])).toEqual({ "c/0": 10 });
  });

  test("is ended by a busy list in the middle of a plan", async () => {
    const reason = busy();
    const { list } = accessTo(facts(9));
    current = {
      ...accessTo([]),
      list: (source, cursor) => (cursor === "3" ? Promise.reject(reason) : list(source, cursor)),
    };
    const plan = { calculation: "reading", params: { source: "c/", how: "one" } };
    expect(await failureOf(pool.plan(plan, async () => {}, task))).toBe(reason);
  });

  test("may stop reading a file early", async () => {
    current = accessTo([]);
    const large = facts(2, 30 * 1024 * 1024);
    expect(await computed("early", [large])).toEqual({
      "c/0": 8 * 1024 * 1024,
      "c/1": 8 * 1024 * 1024,
    });
    expect(await computed("one", [facts(1)])).toEqual({ "c/0": 10 });
  });

  test("is ended at its time limit while a read hangs, and the read is cancelled", async () => {
    let given: AbortSignal | undefined;
    current = accessTo([], (_file, _from, _to, signal) => {
      given = signal;
      return new Promise(() => {});
    });
    const error = await failureOf(pool.compute(job("one", [facts(1)]), { ...task, limitMs: 200 }));
    expect(error).toMatchObject({ code: "time-limit" });
    expect(given?.aborted).toBe(true);
  });

  test("holds a few pieces of a large file, not the file", async () => {
    const before = process.memoryUsage().rss;
    let most = 0;
    current = accessTo([], async (_file, from, to) => {
      most = Math.max(most, process.memoryUsage().rss);
      // Written to, since memory that was never touched takes none.
      return new Uint8Array(to - from).fill(1);
    });
    const bytes = 400 * 1024 * 1024;
    expect(await computed("one", [facts(1, bytes)])).toEqual({ "c/0": bytes });
    expect((most - before) / 2 ** 20).toBeLessThan(200);
  });
});

test("a task reads into memory that it has released, which no other task gets", async () => {
  const given: (number | undefined)[] = [];
  const [file] = facts(1, 33 * mb);
  current = accessTo([], async (_file, from, to, _signal, spare) => {
    given.push(spare?.byteLength);
    return new Uint8Array(spare ?? new ArrayBuffer(to - from)).fill(from / (8 * mb));
  });
  const expected = createHash("sha256");
  for (const index of [0, 1, 2, 3]) expected.update(Buffer.alloc(8 * mb, index));
  const sha256 = expected.update(Buffer.alloc(mb, 4)).digest("hex");
  for (let time = 0; time < 2; time += 1) {
    expect(await computed("released", [[file as FileFact]])).toEqual({ "c/0": sha256 });
    expect(given.splice(0)).toEqual([undefined, undefined, 8 * mb, 8 * mb, undefined]);
  }
});

describe("a message whose calculation reads while storage is busy", () => {
  async function world(read: () => Promise<never>) {
    const made = await workerWorld(pool);
    const { blobs } = made.storage;
    await blobs.ensureContainer("data");
    for (const name of ["a", "b"]) await blobs.create("data", name, "12345");
    let isBusy = false;
    current = blobFiles({ ...blobs, stream: (...args) => (isBusy ? read() : blobs.stream(...args)) });
    await made.submit({ calculation: "reading", params: { source: "data/", how: "one" }, packSize: 2 });
    await made.work({ ...common, kind: "plan" });
    const compute = computeOf(await made.plan(), 0);
    isBusy = true;
    const calm = () => {
      isBusy = false;
    };
    return { ...made, compute, calm };
  }
  const kept = (made: { list(container: "runs"): string[] }) =>
    made.list("runs").filter((name) => /^(parts|failed)/.test(name));

  test("is enqueued again for half a minute, does not count as a failed attempt, and then succeeds", async () => {
    const made = await world(() => Promise.reject(busy()));
    await made.work(made.compute);
    expect(kept(made)).toEqual([]);
    expect(await made.messages("urgent")).toEqual([]);
    await made.world.advance(31_000);
    const [again] = await made.messages("urgent");
    expect(again).toEqual(made.compute);
    made.calm();
    await made.work(made.compute);
    expect(kept(made)).toEqual(["parts/00000/00000000"]);
  });

  test("is enqueued again on its last attempt instead of ending as a failure", async () => {
    const made = await world(() => Promise.reject(busy()));
    await made.work({ ...made.compute, tries: 4 });
    expect(kept(made)).toEqual([]);
    await made.world.advance(31_000);
    expect(await made.storage.queues.peek(made.names.urgent, 32)).toHaveLength(1);
  });

  test("while a refusal for good is a failed attempt that names the file", async () => {
    const refused = () => Promise.reject(storageErrorOfCode("blob", "AuthorizationFailure", 403, ""));
    const made = await world(refused);
    await made.work({ ...made.compute, tries: 4 });
    const [name = ""] = kept(made);
    expect(name).toMatch(/^failed\/00000\/00000000/);
    const record = Buffer.from(await made.bytesOf(made.names.runs, `r/u/${name}`)).toString();
    expect(JSON.parse(record)).toMatchObject({
      code: "file-denied",
      message: expect.stringMatching(/^chunk 0: data\/a /),
    });
  });
});

// The last of all: nothing uses the pool after it.
describe("a pool that is stopped", () => {
  test("drops a plan that reads, and no calculation fails", async () => {
    let reading = () => {};
    const begun = new Promise<void>((resolve) => {
      reading = resolve;
    });
    current = {
      ...accessTo([]),
      list: () => {
        reading();
        return new Promise(() => {});
      },
    };
    const plan = { calculation: "reading", params: { source: "c/", how: "one" } };
    const ended = failureOf(pool.plan(plan, async () => {}, task));
    await begun;
    await pool.stop();
    expect(await ended).toMatchObject({ code: "stopping", retry: "later" });
  });
});

describe("reads of one turn", () => {
  const sentBy = async (files: readonly FileFact[]) => {
    const { port1, port2 } = new MessageChannel();
    const messages: { readonly file: FileFact }[][] = [];
    port1.on("message", (message) => messages.push(message));
    const { access } = threadPort(port2);
    const refused: string[] = [];
    for (const file of files) access.read(file, 0, 10).catch(() => refused.push(file.path));
    while (messages.flat().length + refused.length < files.length) await turn();
    port1.close();
    return { messages: messages.map((message) => message.map(({ file }) => file.path)), refused };
  };

  test("are two messages", async () => {
    const sent = await sentBy(facts(5));
    expect(sent.messages).toEqual([["c/0"], ["c/1", "c/2", "c/3", "c/4"]]);
  });

  test("fail one by one where a file is nothing that can be sent", async () => {
    const files = facts(4).map((file, index) => (index === 2 ? { ...file, open: () => {} } : file));
    expect(await sentBy(files)).toEqual({ messages: [["c/0"], ["c/1"], ["c/3"]], refused: ["c/2"] });
  });
});
