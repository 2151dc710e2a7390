import { expect, test } from "vitest";
import { command } from "../../src/client/commands/command.ts";
import { noCalls } from "../../src/model/calls.ts";
import { limits } from "../../src/model/limits.ts";
import { namesOf } from "../../src/model/names.ts";
import { memoryStorage } from "../../src/storage/memory/memoryStorage.ts";
import { planRun } from "../../src/worker/plan.ts";
import type { WorkerPorts } from "../../src/worker/ports.ts";
import type { TaskOptions } from "../../src/worker/threads/userCode.ts";
import { engineWorld } from "../support/engineWorld.ts";
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

test.each([
  { alone: false, tasks: ["plan", ...Array.from({ length: limits.planSamples }, () => "sample")] },
  { alone: true, tasks: ["plan"] },
])("the tasks of a plan, with alone: $alone, end with its run", async ({ alone, tasks }) => {
  const { signal } = new AbortController();
  const given: string[] = [];
  const take = (kind: string, options: TaskOptions) => {
    given.push(kind);
    expect(options).toMatchObject({ alone, signal });
  };
  const world = virtualWorld();
  const storage = memoryStorage({ clock: world.clock(), random: world.random });
  await storage.blobs.ensureContainer("t-runs");
  const ports = {
    storage,
    names: namesOf("t"),
    documents: { spec: async () => ({ run: "r", uid: "u", calculation: "c", params: {}, packSize: 1 }) },
    watch: { unwanted: async () => undefined },
    versionOf: () => "c@1",
    takeCalls: () => noCalls,
    tree: limits,
    packLimitMs: 300_000,
    userCode: {
      plan: async (_task: unknown, _sink: unknown, options: TaskOptions) => {
        take("plan", options);
        return { chunks: 100, list: false };
      },
      compute: async (_task: unknown, options: TaskOptions) => {
        take("sample", options);
        return { bytes: new Uint8Array(), ms: 1 };
      },
    },
  } as unknown as WorkerPorts;
  const message = { v: 1, kind: "plan", run: "r", uid: "u", gen: 1, send: 3, turn: 0 };
  const attempt = {
    message,
    tag: "3-1-abcdefgh",
    limitMs: 1_000,
    alone,
    wanted: {},
    signal,
    begin: async () => {},
  };
  await planRun(ports, attempt as unknown as Parameters<typeof planRun>[1]);
  expect(given).toEqual(tasks);
});
