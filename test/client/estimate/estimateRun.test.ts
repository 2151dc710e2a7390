import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type AnyCalculation, defineCalculation } from "../../../src/engine/calculation/contract.ts";
import { type FileFact, filesOver, noAccess } from "../../../src/engine/calculation/files.ts";
import { runCompute, runPlan } from "../../../src/engine/calculation/runJob.ts";
import {
  type EstimatePorts,
  estimateRun,
  type PlanningCode,
} from "../../../src/engine/client/estimate/estimateRun.ts";
import { countedFiles } from "../../../src/engine/client/estimate/fileUse.ts";
import type { RunRequest } from "../../../src/engine/client/runRequest.ts";
import { addCalls, calls, dollarsOf, subtractCalls } from "../../../src/engine/model/calls.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import { readSettings } from "../../../src/engine/model/settings.ts";
import { memoryStorage } from "../../../src/engine/storage/memory/memoryStorage.ts";
import { blobFiles } from "../../../src/engine/worker/blobFiles.ts";
import { localCode } from "../../support/localCode.ts";
import { virtualWorld } from "../../support/virtualClock.ts";
import { calculations, failureOf } from "../clientWorld.ts";

const listed: AnyCalculation = defineCalculation({
  name: "listed",
  summary: "adds the inputs of a list",
  params: z.object({ to: z.int() }),
  *plan({ to }) {
    for (let input = 0; input < to; input += 1) yield input * 2;
  },
  compute: ({ input }) => input,
  merge: (a: number, b: number) => a + b,
  zero: () => 0,
});
const known = {
  ...calculations,
  get: (name: string) => (name === "listed" ? listed : calculations.get(name)),
};

const unknownFleet = async () => ({ workers: 20, workersFrom: "the default" });

function estimate(
  request: Partial<RunRequest>,
  chunkMs: number | ((chunk: number) => number) = 10,
  env: Record<string, string> = {},
  {
    planWorkers = unknownFleet,
    busy = 1,
  }: Partial<Pick<EstimatePorts, "planWorkers">> & { readonly busy?: number } = {},
) {
  const code = localCode(known, chunkMs, busy);
  const clock = virtualWorld().clock();
  const { take: fileUse } = countedFiles(noAccess);
  const ports = {
    calculations: known,
    code,
    clock,
    fileUse,
    settings: readSettings(env),
    planWorkers,
  };
  return estimateRun({ calculation: "sum", params: { to: 1_000_000 }, ...request }, ports);
}

describe("the estimate of a run", () => {
  it("has the packs and shards that a planning worker would choose", async () => {
    expect(await estimate({}, 1)).toMatchObject({
      chunks: 1_000_000,
      packs: 245,
      packSize: 4_096,
      shards: 1,
      chunkMs: 1,
      packMs: 4_096,
      computeS: 1_000,
      params: { to: 1_000_000, label: "none" },
    });
    expect(await estimate({ packSize: 100 }, 1)).toMatchObject({ packs: 10_000, packMs: 100, shards: 40 });
  });

  it("tells for which share of its time a chunk waits", async () => {
    expect(await estimate({}, 100, {}, { busy: 0.25 })).toMatchObject({ waits: 0.75 });
    expect(await estimate({}, 100)).toMatchObject({ waits: 0 });
  });

  it("is about seven cents for a million chunks in packs of a hundred", async () => {
    const run = await estimate({ packSize: 100, workers: 200 }, 10);
    expect(run.calls.perChunk).toBeLessThan(0.05);
    expect(run.storageDollars).toBeGreaterThan(0.065);
    expect(run.storageDollars).toBeLessThan(0.075);
    expect(run.storageDollars).toBe(dollarsOf(run.calls.total));
    expect(run.dollars).toBeCloseTo(run.storageDollars + run.computeDollars, 3);
    expect(run.calls.perPack).toMatchObject({ queue: 3, write: 1 });
  });

  it("has packs for the workers that the worker which plans is told of or sees, and not for those of a setting", async () => {
    const fleet = { workers: 1_000, workersFrom: "some" };
    const sizeWith = async (...[request, of]: [Partial<RunRequest>, object]) =>
      (await estimate(request, 1, {}, { planWorkers: async () => ({ ...fleet, ...of }) })).packSize;
    expect(await sizeWith({}, {})).toBe(4_096);
    expect(await sizeWith({}, { seen: 1_000 })).toBe(256);
    expect(await sizeWith({ workers: 1_000 }, {})).toBe(256);
    // Nobody looks before so short a run.
    const short = { params: { to: 40_000 } };
    expect(await sizeWith(short, { seen: 1_000 })).toBe(await sizeWith(short, {}));
  });

  it("is longer with fewer workers, and names their number", async () => {
    const [few, many] = [
      await estimate({ packSize: 1_000, workers: 1 }),
      await estimate({ packSize: 1_000 }),
    ];
    expect([few.workers, many.workers]).toEqual([1, 20]);
    if (few.unmeasured !== undefined || many.unmeasured !== undefined) throw new Error("not measured");
    expect(few.expectedS / many.expectedS).toBeGreaterThan(15);
    expect(few.expectedS).toBeGreaterThan(few.computeS);
    expect(many.expectedS).toBeGreaterThan(many.computeS / 20);
  });

  it("counts a write for each segment of inputs of a listed plan", async () => {
    const list = await estimate({ calculation: "listed", params: { to: 12_000 }, packSize: 10 });
    const counted = await estimate({ params: { to: 12_000 }, packSize: 10 });
    expect(list).toMatchObject({ chunks: 12_000, packs: 1_200 });
    expect(list.calls.total.write - counted.calls.total.write).toBe(3);
  });

  it.each([0, 1, 2])("is finite for a run of %d chunks", async (to) => {
    const run = await estimate({ params: { to } });
    expect([run.chunks, run.packs]).toEqual([to, Math.min(to, 1)]);
    expect(run.unmeasured).toBe(to === 0 ? "the run has no chunks" : undefined);
    const times = run.unmeasured === undefined ? [run.expectedS, run.packMs] : [];
    for (const figure of [run.dollars, run.calls.perChunk, ...times]) {
      expect(figure).toBeGreaterThanOrEqual(0);
      expect(Number.isFinite(figure)).toBe(true);
    }
  });

  it("says that a sample which exceeds its limit takes that at least", async () => {
    const late = () => {
      throw new CalculationError("time-limit", "too long");
    };
    const run = await estimate({ params: { to: 5 } }, late);
    expect(run).toMatchObject({ chunkMs: 25_000, packs: 5 });
    expect(run).not.toHaveProperty("unmeasured");
  });

  it("refuses what a submit or a planning worker would refuse", async () => {
    expect(await failureOf(estimate({ params: { to: -1 } }))).toMatchObject({ code: "bad-parameter" });
    expect(await failureOf(estimate({ packSize: 0 }))).toMatchObject({ code: "bad-pack-size" });
    expect(await failureOf(estimate({ workers: 0 }))).toMatchObject({ code: "bad-workers" });
    expect(await failureOf(estimate({ params: { to: 10_000_001 } }))).toMatchObject({
      code: "too-many-chunks",
    });
  });

  it("limits the time of the plan as workers do, and the time of a sample to that of the longest pack", async () => {
    const code = localCode(known);
    const settings = readSettings({ LEASEFOLD_PACK_LIMIT_S: "40" });
    const { take: fileUse } = countedFiles(noAccess);
    const ports = {
      calculations: known,
      code,
      clock: virtualWorld().clock(),
      fileUse,
      settings,
      planWorkers: unknownFleet,
    };
    await estimateRun({ calculation: "sum", params: { to: 5 } }, ports);
    expect(code.tasks.map(({ limitMs }) => limitMs)).toEqual([
      40_000, 25_000, 25_000, 25_000, 25_000, 25_000,
    ]);
  });
});

describe("the files that a calculation reads", () => {
  const noFileUse = { list: 0, read: 0, bytes: 0 };

  /** Lists once, reads the first bytes of each file to plan, and each file whole, in pieces of 8 MB, to compute. */
  const lengths: AnyCalculation = defineCalculation<{ source: string }, FileFact, number>({
    name: "lengths",
    summary: "adds the lengths of files, by reading them",
    params: z.object({ source: z.string() }),
    async *plan({ source }, { files }) {
      for await (const file of files.list(source)) {
        for await (const _ of files.read(file, { to: 10 }));
        yield file;
      }
    },
    async compute({ input, files }) {
      let bytes = 0;
      for await (const piece of files.read(input)) bytes += piece.length;
      return bytes;
    },
    merge: (a, b) => a + b,
    zero: () => 0,
  });

  /** The estimate for files of these lengths, and what the account itself counted for planning and for each chunk. */
  async function estimated(sizes: readonly number[]) {
    const world = virtualWorld();
    const storage = memoryStorage({ clock: world.clock(), random: world.random });
    await storage.blobs.ensureContainer("box");
    for (const [at, size] of sizes.entries())
      await storage.blobs.create("box", `file ${String(at).padStart(3, "0")}`, new Uint8Array(size));
    const { access, take: fileUse } = countedFiles(blobFiles(storage.blobs));
    const files = filesOver(access);
    const inputs: unknown[] = [];
    const code: PlanningCode = {
      plan: (task, sink) =>
        runPlan(
          lengths,
          task.params,
          async (batch) => {
            inputs.push(...batch);
            await sink(batch);
          },
          { files },
        ),
      compute: async (task) => ({ bytes: await runCompute(lengths, task, files), ms: 10 }),
    };
    let before = storage.meter.counts();
    const report = () => {
      const now = storage.meter.counts();
      const made = subtractCalls(now, before);
      before = now;
      return made;
    };
    const calculations = { ...known, get: () => lengths };
    const ports = {
      calculations,
      code,
      fileUse,
      clock: world.clock(),
      settings: readSettings({}),
      planWorkers: unknownFleet,
    };
    const run = await estimateRun({ calculation: "lengths", params: { source: "box/" } }, ports);
    const planning = report();
    const count = inputs.length;
    if (count > 0)
      await runCompute(lengths, { params: run.params, from: 0, to: count, count, inputs }, files);
    return { run, planning, computing: report() };
  }

  it("are counted exactly for chunks that are alike, and are part of the cost", async () => {
    const size = 8 * 1024 ** 2 + 1;
    const { run, planning, computing } = await estimated(Array(5).fill(size));
    // Four of them were timed.
    expect(planning).toEqual(calls({ list: 1, read: 5 + 2 * 4 }));
    expect(computing).toEqual(calls({ read: 2 * 5 }));
    expect(run.files).toEqual({
      planning: { list: 1, read: planning.read, bytes: 5 * 10 + 4 * size },
      computing: { list: 0, read: computing.read, bytes: 5 * size },
    });
    const without = await estimate({ calculation: "listed", params: { to: 5 } });
    expect(without.files).toEqual({ planning: noFileUse, computing: noFileUse });
    const more = addCalls(planning, computing);
    expect(run.calls.total).toEqual(addCalls(without.calls.total, more));
    expect(run.storageDollars).toBe(dollarsOf(run.calls.total));
  });

  it("are one list call for a run without chunks", async () => {
    const { run } = await estimated([]);
    expect(run.files).toEqual({ planning: { ...noFileUse, list: 1 }, computing: noFileUse });
  });
});
