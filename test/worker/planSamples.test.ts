import { join } from "node:path";
import { expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import { command } from "../../src/engine/client/commands/command.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { type Plan, planSchema } from "../../src/engine/model/run.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import { planRun } from "../../src/engine/worker/plan.ts";
import type { Attempt, WorkerPorts } from "../../src/engine/worker/ports.ts";
import type { TaskOptions, UserCode } from "../../src/engine/worker/threads/userCode.ts";
import { engineWorld } from "../support/engineWorld.ts";
import { heartbeatWork, putHeartbeat } from "../support/heartbeatProcess.ts";
import { virtualWorld } from "../support/virtualClock.ts";

test("a cancel ends the sample that a plan is timing within five seconds of the run's end", async () => {
  const begun: { kind: string; atMs: number }[] = [];
  const engine = engineWorld({
    seed: 5,
    code: {
      chunkMs: () => 3_600_000,
      onTask: ({ kind }) => void begun.push({ kind, atMs: engine.world.nowMs() }),
    },
  });
  const { world, client } = engine;
  engine.start({ threads: 1 });
  await engine.submit({ id: "r", chunks: 4 });
  await world.until(() => begun.some(({ kind }) => kind === "compute"), 60_000);
  await world.finish(command(client, "r", { kind: "cancel" }));
  const { phase } = await engine.untilEnd("r");
  expect(phase).toBe("cancelled");
  const endedMs = world.nowMs();
  await engine.submit({ id: "next", chunks: 4 });
  await world.until(() => begun.filter(({ kind }) => kind === "plan").length === 2, 120_000);
  // The thread is free for the next run.
  const waitedMs = (begun.findLast(({ kind }) => kind === "plan")?.atMs ?? 0) - endedMs;
  expect(waitedMs).toBeLessThan(8_000);
});

/** Plans run `r` with this code on in-memory storage; `begin` is told when a thread takes the plan or a sample. */
async function planWith(
  userCode: Partial<UserCode>,
  params: object,
  more: Partial<Attempt> = {},
  { seen = [], ...asked }: { readonly seen?: readonly number[]; readonly workers?: number } = {},
): Promise<Plan> {
  const { clock, random } = virtualWorld();
  const storage = memoryStorage({ clock: clock(), random });
  await storage.blobs.ensureContainer("t-runs");
  await storage.blobs.ensureContainer("t-coordination");
  for (const [index, threads] of seen.entries())
    await putHeartbeat({ storage, names: namesOf("t") }, `node-${index}`, {
      threads,
      works: [heartbeatWork(1)],
    });
  const ports = {
    ...{ storage, userCode },
    names: namesOf("t"),
    documents: {
      spec: async () => ({
        run: "r",
        uid: "u",
        calculation: "failing",
        params,
        sha256: "a".repeat(64),
        ...asked,
      }),
    },
    watch: { unwanted: async () => undefined },
    versionOf: () => "c@1",
    instance: { mb: 2_048, threads: 2 },
    tree: limits,
    packLimitMs: 300_000,
  } as unknown as WorkerPorts;
  const { signal } = new AbortController();
  const attempt = {
    message: { v: 1, kind: "plan", run: "r", uid: "u", gen: 1, send: 3, turn: 0 },
    ...{ tag: "3-1-abcdefgh", limitMs: 20_000, isolated: false, accepted: {}, signal, begin: async () => {} },
    ...more,
  };
  await planRun(ports, attempt as unknown as Parameters<typeof planRun>[1]);
  const found = await storage.blobs.read("t-runs", runBlobs("r", "u").plan);
  if (found.kind === "missing") throw new Error("no plan was stored");
  return decodeJson(planSchema, found.body, "plan");
}

test.each([
  { isolated: false, how: "beside ends", samples: 2 },
  { isolated: true, how: "isolated ends", samples: 0 },
])(
  "a plan and its $samples samples, with isolated: $isolated, end with their run",
  async ({ isolated, how, samples }) => {
    const given: string[] = [];
    const noteOf = (kind: string, { isolated, signal }: TaskOptions) =>
      void given.push(
        `${kind} ${isolated === true ? "isolated" : "beside"} ${signal === undefined ? "-" : "ends"}`,
      );
    const code: Partial<UserCode> = {
      hold: async (options) => {
        noteOf("hold", options as TaskOptions);
        return () => void given.push("leave");
      },
      plan: async (_task, _sink, options) => {
        noteOf("plan", options);
        return { chunks: 100, list: false };
      },
      compute: async (_task, options) => {
        noteOf("sample", options);
        return { bytes: new Uint8Array(), ms: 1_000 };
      },
    };
    await planWith(code, {}, { isolated });
    const taken = Array.from({ length: samples }, () => `sample ${how}`);
    expect(given).toEqual([`hold ${how}`, `plan ${how}`, ...taken, "leave"]);
  },
);

test.each([
  { limitMs: 4_000, sampleMs: 4_000 },
  { limitMs: 300_000, sampleMs: limits.packMsMax },
])(
  "a sample may take $sampleMs ms where the run allows an attempt $limitMs ms",
  async ({ limitMs, sampleMs }) => {
    const given: number[] = [];
    const code: Partial<UserCode> = {
      hold: async () => () => {},
      plan: async () => ({ chunks: 1, list: false }),
      compute: async (_task, options) => {
        given.push(options.limitMs);
        return { bytes: new Uint8Array(), ms: 1_000 };
      },
    };
    await planWith(code, {}, { limitMs });
    expect(new Set(given)).toEqual(new Set([sampleMs]));
  },
);

test("a plan packs no more chunks together than fit well into the time limit of its run", async () => {
  const code: Partial<UserCode> = {
    hold: async () => () => {},
    plan: async () => ({ chunks: 2_000, list: false }),
    compute: async () => ({ bytes: new Uint8Array(), ms: 500 }),
  };
  expect(await planWith(code, {}, { limitMs: 3_000 })).toMatchObject({ packSize: 1 });
  expect(await planWith(code, {}, { limitMs: 300_000 })).toMatchObject({ packSize: 8 });
});

test("a long plan has packs small enough for the workers that its user expects, or else for those that are seen", async () => {
  const ofChunks = (chunks: number): Partial<UserCode> => ({
    hold: async () => () => {},
    plan: async () => ({ chunks, list: false }),
    compute: async () => ({ bytes: new Uint8Array(), ms: 500 }),
  });
  const planned = (chunks: number, of: Parameters<typeof planWith>[3]) =>
    planWith(ofChunks(chunks), {}, { limitMs: 300_000 }, of);
  const unknown = await planned(20_000, {});
  expect(unknown).toMatchObject({ packSize: 32 });
  expect(unknown).not.toHaveProperty("workers");
  expect(await planned(20_000, { workers: 1_000 })).toMatchObject({ packSize: 4, workers: 1_000 });
  expect(await planned(20_000, { seen: [300, 200] })).toMatchObject({ packSize: 8, workers: 500 });
  expect(await planned(20_000, { seen: [300], workers: 10 })).toMatchObject({ packSize: 32, workers: 10 });
  // Nothing is asked where no packs would be smaller.
  expect(await planned(80, { seen: [300] })).not.toHaveProperty("workers");
});

test("no pack of another run is computed between a plan and its last sample", async () => {
  const file = join(import.meta.dirname, "..", "fixtures", "failing.calculation.ts");
  const known = await loadCalculations([file]);
  const params = known.parseParams(known.get("failing"), { chunks: 100 }) as object;
  const onIdleCrash = () => {};
  const pool = threadPool({ threads: 1, memoryMb: 128, files: [file], access: noAccess, onIdleCrash });
  const begun: string[] = [];
  try {
    const task = { calculation: "failing", params, from: 0, to: 1, count: 1_000 };
    const options = { urgent: false, limitMs: 20_000, onStart: () => void begun.push("pack") };
    const packs = Array.from({ length: 20 }, () => pool.compute(task, options));
    await planWith(pool, params, { begin: async () => void begun.push("plan") });
    await Promise.all(packs);
  } finally {
    await pool.stop();
  }
  const [first, last] = [begun.indexOf("plan"), begun.lastIndexOf("plan")];
  expect(begun.slice(first, last).filter((what) => what === "pack")).toHaveLength(0);
  // It took samples, and there were packs that it could have waited for.
  expect(last - first).toBeGreaterThan(0);
  expect(begun.slice(last).filter((what) => what === "pack").length).toBeGreaterThan(10);
});

test("a plan that fails leaves its thread to others", async () => {
  const given: string[] = [];
  const code: Partial<UserCode> = {
    hold: async () => {
      given.push("hold");
      return () => void given.push("leave");
    },
    plan: () => Promise.reject(new Error("no plan")),
  };
  await expect(planWith(code, {})).rejects.toThrow("no plan");
  expect(given).toEqual(["hold", "leave"]);
});
