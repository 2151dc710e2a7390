import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { type AnyCalculation, defineCalculation } from "../../src/engine/calculation/contract.ts";
import type { CoveringPart } from "../../src/engine/calculation/foldParts.ts";
import { runCompute, runFinish } from "../../src/engine/calculation/runJob.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { chunksOfPack, type Layout, packsOf } from "../../src/engine/model/packs.ts";
import { packsReused, type Reused, reusedBits, reusedShards } from "../../src/engine/model/reuse.ts";
import type { Plan } from "../../src/engine/model/run.ts";
import { coverOfPack } from "../../src/engine/model/tree.ts";
import { type EarlierRun, matchPacks, PackInputs } from "../../src/engine/worker/reuse.ts";
import { planOf } from "../support/runFixtures.ts";

const packInputs = (inputs: readonly string[], packSize: number): readonly string[] => {
  const hashes = new PackInputs(packSize);
  hashes.add(inputs);
  return hashes.end();
};

/** An earlier run of these inputs that has all its partials, or those of the packs that are given. */
function earlierOf(inputs: readonly string[], packSize: number, there?: ReadonlySet<number>): EarlierRun {
  const plan: Plan = planOf(inputs.length, packSize);
  const source = { run: "r", uid: "u", plan: "0".repeat(64), shardSize: plan.shardSize };
  const at = (pack: number) => (there?.has(pack) === false ? undefined : ([0, pack] as const));
  return { plan, inputs: packInputs(inputs, packSize), sources: [source], at };
}

function matched(earlier: EarlierRun, inputs: readonly string[], byInput: boolean): readonly Reused[] {
  const { packSize } = earlier.plan;
  const planned = { chunks: inputs.length, list: true, byInput };
  return matchPacks(earlier, planned, packInputs(inputs, packSize));
}

const intervals = (reused: readonly Reused[]) => reused.flatMap(({ packs }) => packs);
const letters = [..."abcdefghijkl"];
const inserted = (at: number) => [...letters.slice(0, at), "new", ...letters.slice(at)];

test("one changed input costs its pack, and what is around it are two intervals", () => {
  const changed = letters.with(5, "new");
  expect(intervals(matched(earlierOf(letters, 2), changed, false))).toEqual([
    [0, 2, 0],
    [3, 6, 3],
  ]);
});

test("after an added file packs of one chunk match where they moved to, and larger ones only those before it", () => {
  expect(intervals(matched(earlierOf(letters, 1), inserted(5), true))).toEqual([
    [0, 5, 0],
    [6, 13, 5],
  ]);
  expect(intervals(matched(earlierOf(letters, 2), inserted(5), true))).toEqual([[0, 2, 0]]);
});

test("packs match where they moved by a multiple of the pack size", () => {
  const moved = ["x", "y", "z", "w", ...letters];
  expect(intervals(matched(earlierOf(letters, 4), moved, true))).toEqual([[1, 4, 0]]);
});

test("where compute may ask for index and count, a plan of another length reuses nothing", () => {
  expect(matched(earlierOf(letters, 1), inserted(11), false)).toEqual([]);
});

test("packs of a size that is no power of two stay where they were, or are computed", () => {
  expect(intervals(matched(earlierOf(letters, 3), letters, true))).toEqual([[0, 4, 0]]);
  expect(matched(earlierOf(letters, 3), ["x", "y", "z", ...letters], true)).toEqual([]);
});

test("a pack whose partial was not seen is no part of any interval", () => {
  const there = new Set([0, 1, 3]);
  expect(intervals(matched(earlierOf(letters.slice(0, 5), 1, there), letters.slice(0, 5), false))).toEqual([
    [0, 2, 0],
    [3, 4, 3],
  ]);
});

test("of more intervals than a plan holds the longest are taken", () => {
  const many = Array.from({ length: 4 * limits.reusedIntervalsMax }, (_, index) => `${index}`);
  // Every other pack has changed, and at the end there is a longer row.
  const changed = many.map((one, index) => (index % 2 === 0 && index < many.length - 9 ? "new" : one));
  const reused = matched(earlierOf(many, 1), changed, false);
  expect(intervals(reused)).toHaveLength(limits.reusedIntervalsMax);
  expect(packsReused(reused)).toBeGreaterThan(limits.reusedIntervalsMax + 5);
});

test("folders of earlier partials are listed by tens, each once, however many intervals lie in it", () => {
  const of = { run: "r", uid: "u", plan: "0".repeat(64) };
  const reused: Reused[] = [
    { ...of, shardSize: 3, packs: [[1, 9, 4]] },
    {
      ...{ ...of, run: "s", shardSize: 4 },
      packs: [
        [9, 10, 0],
        [10, 11, 0],
      ],
    },
  ];
  const shards = [...reusedShards(reused, { from: 5, to: 12 })];
  expect(shards.map(({ of, shard, digits, numbers }) => [of.run, shard, digits, ...numbers])).toEqual([
    ["r", 2, 1, [5, 8], [6, 9], [7, 10], [8, 11]],
    ["s", 0, 0, [9, 0], [10, 0]],
  ]);
  const far: Reused[] = [{ ...of, shardSize: 1, packs: [[0, 20, 8]] }];
  const tens = [...reusedShards(far, { from: 0, to: 20 })];
  expect(tens.map(({ shard, digits, numbers }) => [shard, digits, numbers.size])).toEqual([
    [8, 1, 2],
    [10, 1, 10],
    [20, 1, 8],
  ]);
  const layout: Layout = { chunks: 12, packSize: 1, shardSize: 5, fanIn: 2 };
  const bits = [0, 1, 2].map((shard) => reusedBits(reused, layout, shard)[0]);
  expect(bits).toEqual([0b11110, 0b11111, 0b00001]);
  expect(packsReused(reused)).toBe(10);
});

/** Shows each merge, so that any other tree or input gives another text. */
const treeOf = (byInput: boolean): AnyCalculation =>
  defineCalculation<object, string, string>({
    ...{ name: "tree", summary: "", params: z.object({}), byInput },
    plan: () => 0,
    compute: ({ input, index, count }) => (byInput ? input : `${input}@${index}/${count}`),
    merge: (a, b) => `(${a} ${b})`,
    zero: () => "nothing",
    codec: {
      contentType: "text/plain",
      encode: (text) => Buffer.from(text),
      decode: (bytes) => Buffer.from(bytes).toString(),
    },
  });

type Partials = Map<number, Uint8Array>;

async function computed(of: AnyCalculation, layout: Layout, inputs: readonly string[], pack: number) {
  const range = chunksOfPack(layout, pack);
  const task = { params: {}, ...range, count: layout.chunks };
  return runCompute(of, { ...task, inputs: inputs.slice(range.from, range.to) });
}

async function resultOf(of: AnyCalculation, layout: Layout, partials: Partials): Promise<string> {
  const parts: CoveringPart[] = [...partials]
    .sort(([a], [b]) => a - b)
    .map(([pack, bytes]) => ({ ...coverOfPack(layout, pack), bytes }));
  const { body } = await runFinish(of, {
    ...{ params: {}, parts, folded: layout.chunks, count: layout.chunks },
  });
  return Buffer.from(body).toString();
}

test("a result has the same bytes with and without what was reused, whatever became of the inputs", async () => {
  const edit = fc.record({
    at: fc.nat(40),
    kind: fc.constantFrom("change", "insert", "remove"),
    by: fc.integer({ min: 1, max: 4 }),
  });
  let taken = 0;
  const property = fc.asyncProperty(
    fc.array(fc.constantFrom("a", "b", "c", "d", "e", "f"), { maxLength: 40 }),
    fc.array(edit, { maxLength: 3 }),
    fc.constantFrom(1, 2, 4, 8, 3, 5),
    fc.boolean(),
    async (before, edits, packSize, byInput) => {
      const of = treeOf(byInput);
      const now = [...before];
      for (const { at, kind, by } of edits)
        now.splice(at, kind === "insert" ? 0 : by, ...(kind === "remove" ? [] : Array(by).fill("new")));
      const earlier = earlierOf(before, packSize);
      const layout: Layout = planOf(now.length, packSize);
      const [own, mixed]: [Partials, Partials] = [new Map(), new Map()];
      for (let pack = 0; pack < packsOf(layout); pack += 1) {
        own.set(pack, await computed(of, layout, now, pack));
        mixed.set(pack, own.get(pack) as Uint8Array);
      }
      for (const [from, to, at] of intervals(matched(earlier, now, byInput)))
        for (let pack = from; pack < to; pack += 1) {
          mixed.set(pack, await computed(of, earlier.plan, before, at + pack - from));
          taken += 1;
        }
      expect(await resultOf(of, layout, mixed)).toBe(await resultOf(of, layout, own));
    },
  );
  await fc.assert(property, { numRuns: 300 });
  expect(taken).toBeGreaterThan(150);
});
