import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import { logs } from "../../src/engine/client/logs.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { encodePrinted, printedLimits } from "../../src/engine/model/printed.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import type { UserCode } from "../../src/engine/worker/threads/userCode.ts";
import { spec } from "../support/runFixtures.ts";
import { workerWorld } from "./workerWorld.ts";

let folder: string;
let pool: UserCode;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-printed-"));
  const file = join(folder, "prints.mjs");
  await writeFile(
    file,
    `import { z } from "leasefold";
     export default { name: ${JSON.stringify(spec.calculation)}, summary: "a test", params: z.looseObject({}),
       plan() { console.info("planned"); return 4; },
       compute({ index, params }) {
         console.log("chunk %d", index, { of: 4 });
         if (index === 1) for (let line = 0; line < 300; line += 1) console.warn("x".repeat(5000));
         if (index === 2) { console.error("before it throws"); throw new Error("no good"); }
         if (index === 3 && params.hangs) { console.log("before it hangs"); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); }
         return index;
       },
       merge: (a, b) => a + b, zero: () => 0 };`,
  );
  const own = { threads: 1, memoryMb: 128, files: [file], access: noAccess };
  pool = threadPool({ ...own, onIdleCrash: () => expect.fail() });
});
afterAll(async () => {
  await pool.stop();
  await rm(folder, { recursive: true, force: true });
});

const common = { v: 1, run: "r", uid: "u", gen: 1, send: 1, turn: 0 } as const;
const computeOf = (pack: number): WorkMessage => ({
  ...{ ...common, kind: "compute", shard: 0, pack, from: pack, to: pack + 1 },
});

async function computed(pack: number, { packLimitMs = 30_000, params = {} } = {}) {
  const world = await workerWorld(pool, { packLimitMs });
  await world.submit({ packSize: 1, params });
  await world.work({ ...common, kind: "plan" });
  await world.work(computeOf(pack));
  const { storage, names } = world;
  return { ...world, logs: () => logs({ storage, names } as unknown as Parameters<typeof logs>[0], "r") };
}

test("what user code prints is kept with its chunk, attempt and instance", async () => {
  const { logs } = await computed(0);
  const { lines, more } = await logs();
  const of = { generation: 1, instance: "one", level: "info" };
  expect(lines).toMatchObject([
    { ...of, work: "plan", text: "planned" },
    { ...of, work: "00000/00000000", chunk: 0, text: "chunk 0 { of: 4 }" },
  ]);
  expect(lines.map(({ attempt }) => attempt)).toEqual(Array(2).fill(expect.stringMatching(/^1-1-/)));
  expect(more).toBe(0);
});

test("a chunk that prints without end fills nothing: the first lines are kept, cut, and the others counted", async () => {
  const { logs } = await computed(1);
  const found = await logs();
  const lines = found.lines.filter(({ chunk }) => chunk === 1);
  expect(lines).toHaveLength(printedLimits.lines);
  expect(lines.at(-1)).toMatchObject({ level: "warn", text: "x".repeat(printedLimits.characters) });
  expect(found.more).toBe(301 - printedLimits.lines);
});

test("lines of an attempt that throws, and of one that is ended at its limit, are kept as well", async () => {
  const thrown = await (await computed(2)).logs();
  expect(thrown.lines.at(-1)).toMatchObject({ level: "error", chunk: 2, text: "before it throws" });
  const ended = await (await computed(3, { packLimitMs: 1_000, params: { hangs: true } })).logs();
  expect(ended.lines.at(-1)).toMatchObject({ chunk: 3, text: "before it hangs" });
});

test("storage that takes no lines fails no work", async () => {
  const world = await workerWorld(pool);
  const { create } = world.storage.blobs;
  world.storage.blobs.create = (container, name, body, write) =>
    name.includes("/printed/")
      ? Promise.reject(new StorageError("busy", "ServerBusy", 503, "no"))
      : create(container, name, body, write);
  await world.submit({ packSize: 1 });
  await world.work({ ...common, kind: "plan" });
  await world.work(computeOf(0));
  expect(world.storage.operator.blobNames(world.names.runs)).toContain(runBlobs("r", "u").part(0, 0));
});

test("of one run a process keeps the lines of so many attempts", async () => {
  const world = await workerWorld(pool);
  await world.submit();
  const line = { atMs: 1, level: "info", text: "a" } as const;
  for (let attempt = 0; attempt < printedLimits.attempts + 5; attempt += 1) {
    const one = world.ports.keepPrinted(computeOf(attempt), "1-1-a");
    one.add(line, 0);
    await one.end();
  }
  const names = world.storage.operator.blobNames(world.names.runs);
  expect(names.filter((name) => name.includes("/printed/"))).toHaveLength(printedLimits.attempts);
});

test("lines that are none are left out, and those of another version are shown", async () => {
  const { storage, names, logs } = await computed(0);
  const at = runBlobs("r", "u").printedOf({ kind: "finish" });
  const { body, metadata } = encodePrinted({
    ...{ generation: 1, instance: "node-9", more: 2 },
    lines: [{ atMs: 9e12, level: "warn", text: "kept" }],
  });
  await storage.blobs.create(names.runs, `${at}1-1-a`, `nonsense\n${body}{"level":"loud"}\n`, { metadata });
  await storage.blobs.create(names.runs, `${at}1-1-b`, body, { metadata: { ...metadata, v: "9" } });
  const found = await logs();
  expect(found.lines.filter(({ work }) => work === "finish")).toMatchObject([
    { text: "kept" },
    { text: "kept" },
  ]);
  expect(found.more).toBe(4);
});
