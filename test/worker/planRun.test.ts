import { describe, expect, test } from "vitest";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";
import { calculationLimits } from "../../src/engine/model/limits.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { chunksOfPack } from "../../src/engine/model/packs.ts";
import { documents } from "../../src/engine/worker/documents.ts";
import { common, computeOf, inlineCode, joining, type WorkerWorld, workerWorld } from "./workerWorld.ts";

const message: WorkMessage = { ...common, kind: "plan" };

/** A calculation whose plan is this list, and whose partial is the inputs themselves. */
const listing = (plan: () => Iterable<unknown> | AsyncIterable<unknown>): AnyCalculation => ({
  ...joining,
  plan,
  compute: ({ input }) => ({ text: String(input), pad: "" }),
});

const segmentsRead = (world: WorkerWorld): string[] => {
  const seen: string[] = [];
  const { read } = world.storage.blobs;
  Object.assign(world.storage.blobs, {
    read: (...args: Parameters<typeof read>) => {
      if (args[1].includes("/plan/")) seen.push(args[1].replace(/.*\/plan\//, ""));
      return read(...args);
    },
  });
  return seen;
};

const textOf = async (world: WorkerWorld, pack: number, name: string): Promise<string> => {
  await world.work(computeOf(await world.plan(), pack));
  const partial: unknown = JSON.parse(Buffer.from(await world.bytesOf(world.names.runs, name)).toString());
  return (partial as { text: string }).text;
};

describe("a plan of a hundred thousand inputs", () => {
  test("is stored segment by segment, and read by the few that a pack needs", async () => {
    const chunks = 100_000;
    let yielded = 0;
    let stored = 0;
    let ahead = 0;
    function* inputs() {
      for (; yielded < chunks; ahead = Math.max(ahead, yielded - stored)) yield yielded++;
    }
    const world = await workerWorld(inlineCode(listing(inputs)));
    const { create } = world.storage.blobs;
    Object.assign(world.storage.blobs, {
      async create(...args: Parameters<typeof create>) {
        const created = await create(...args);
        if (args[1].includes("/plan/"))
          stored += (JSON.parse(String(args[2])) as { inputs: [] }).inputs.length;
        return created;
      },
    });
    await world.submit({ packSize: 400 });
    await world.work(message);
    const plan = await world.plan();
    expect(plan).toMatchObject({ chunks, packSize: 400 });
    expect(plan.segments?.starts).toHaveLength(20);
    // What the planner holds does not grow with the plan: never more than one batch and the input that ends it.
    expect(ahead).toBeLessThanOrEqual(calculationLimits.inputsPerBatch + 1);

    const seen = segmentsRead(world);
    const { segments } = plan;
    const fresh = documents(world.storage.blobs, world.names);
    for (const pack of [0, 103, 249]) {
      const { from, to } = chunksOfPack(plan, pack);
      const wanted = Array.from({ length: to - from }, (_, offset) => from + offset);
      expect(await fresh.inputs(plan, from, to)).toEqual(wanted);
    }
    expect(await fresh.inputs(plan, 49_900, 50_300)).toEqual(
      Array.from({ length: 400 }, (_, offset) => 49_900 + offset),
    );
    const numbers = [0, 8, 19, 9, 10].map(
      (number) => `${segments?.attempt}/${String(number).padStart(6, "0")}`,
    );
    expect(seen).toEqual(numbers);
  });

  test("of large inputs is stored in segments of a few megabytes", async () => {
    const input = "x".repeat(60_000);
    const world = await workerWorld(inlineCode(listing(() => Array.from({ length: 150 }, () => input))));
    await world.submit({ packSize: 150 });
    await world.work(message);
    const sizes = await Promise.all(
      world
        .list("runs")
        .filter((name) => name.startsWith("plan/"))
        .map(async (name) => (await world.bytesOf(world.names.runs, `r/u/${name}`)).length),
    );
    expect(sizes).toHaveLength(3);
    expect(Math.max(...sizes)).toBeLessThan(calculationLimits.batchBytesMax + 1_000);
  });
});

describe("a planner that fails halfway", () => {
  /** Attempts list other inputs each time, as the plan that lists a changing folder does. */
  async function twoAttempts(firstDies: boolean) {
    let attempt = 0;
    function* inputs() {
      attempt += 1;
      const [mark, count] = attempt === 1 ? ["a", 12_000] : ["b", 7_000];
      for (let index = 0; index < count; index += 1) {
        if (attempt === 1 && firstDies && index === 11_000) throw new Error("died");
        yield `${mark}${index}`;
      }
    }
    const world = await workerWorld(inlineCode(listing(inputs)));
    await world.submit({ packSize: 1_024 });
    await world.work(message);
    expect(await world.messages("urgent")).toEqual(firstDies ? [{ ...message, tries: 1 }] : []);
    const seen = segmentsRead(world);
    // The next attempt, or a message that was put twice.
    await world.work(firstDies ? { ...message, tries: 1 } : message);
    return { world, seen };
  }

  test("costs another attempt, and only the inputs of that one are ever read", async () => {
    const { world, seen } = await twoAttempts(true);
    const folders = new Set(world.list("runs").flatMap((name) => /^plan\/([^/]+)\//.exec(name)?.[1] ?? []));
    expect(folders.size).toBe(2);
    const plan = await world.plan();
    expect(plan).toMatchObject({ chunks: 7_000, segments: { starts: [0, 5_000] } });
    expect(await textOf(world, 4, "r/u/parts/00000/00000004")).toMatch(/^b4096,b4097,.*,b5119$/);
    expect(await textOf(world, 6, "r/u/parts/00000/00000006")).toMatch(/^b6144,.*,b6999$/);
    expect(seen.every((name) => name.startsWith(`${plan.segments?.attempt}/`))).toBe(true);
    expect(new Set(seen).size).toBe(2);
  });

  test("that comes second leaves the first plan as it is", async () => {
    const { world, seen } = await twoAttempts(false);
    expect(await world.plan()).toMatchObject({ chunks: 12_000, segments: { starts: [0, 5_000, 10_000] } });
    expect(await textOf(world, 11, "r/u/parts/00000/00000011")).toMatch(/^a11264,.*,a11999$/);
    expect(seen).toHaveLength(1);
  });

  test("of a run that was deleted meanwhile writes no more segments", async () => {
    let world: WorkerWorld | undefined;
    async function* inputs() {
      for (let index = 0; index < 15_000; index += 1) {
        if (index === 7_000) {
          await world?.mark({ want: "delete" });
          await world?.world.advance(6_000);
        }
        yield index;
      }
    }
    world = await workerWorld(inlineCode(listing(inputs)));
    await world.submit({ packSize: 1_000 });
    await world.work(message);
    expect(world.list("runs")).toEqual([
      "r/spec.json",
      expect.stringMatching(/^plan\/1-1-[0-9a-f]{8}\/000000$/),
    ]);
    expect(world.log.at(-1)).toMatchObject({ event: "work-dropped" });
  });
});

describe("a plan that does not fit into the time limit of its attempt", () => {
  test.each([
    ["plan-too-long", { final: true }],
    ["time-limit", {}],
  ])("ends its send at the first attempt with the calculation's own words (%s)", async (code, more) => {
    const message = "data/, 3 files of 60 GB: raise the limit";
    const plan = () => Promise.reject(new CalculationError(code, message));
    const world = await workerWorld(inlineCode({ ...joining, plan }));
    await world.submit();
    await world.work({ ...common, kind: "plan" });
    expect(await world.messages("urgent")).toEqual([]);
    const [name = ""] = world.list("runs").filter((one) => one.startsWith("failed/"));
    const record = JSON.parse(Buffer.from(await world.bytesOf(world.names.runs, `r/u/${name}`)).toString());
    expect(record).toEqual({
      ...{ v: 1, cause: "error", code, message, attempts: 1, attemptsMax: expect.any(Number) },
      ...more,
    });
  });
});

test("the plan of parameters that ask for no stop is that of a calculation without one, and so are all calls that follow", async () => {
  const planned = async (calculation: AnyCalculation) => {
    const world = await workerWorld(inlineCode(calculation));
    await world.submit({ params: { chunks: 1_000 }, packSize: 20 });
    await world.work(message);
    return world.plan();
  };
  const stop = () => true;
  const plain = await planned(joining);
  expect(plain).not.toHaveProperty("stops");
  expect(await planned({ ...joining, stop, stops: () => false })).toEqual(plain);
  const { packSize, shardSize } = await planned({ ...joining, stop });
  expect({ packSize: packSize <= 16, shards: packSize * shardSize }).toEqual({
    packSize: true,
    shards: 16,
  });
});
