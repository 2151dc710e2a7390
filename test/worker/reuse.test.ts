import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { type AnyCalculation, defineCalculation } from "../../src/engine/calculation/contract.ts";
import type { CoveringPart } from "../../src/engine/calculation/foldParts.ts";
import { runCompute, runFinish } from "../../src/engine/calculation/runJob.ts";
import { chunksOfPack, type Layout, packsOf } from "../../src/engine/model/packs.ts";
import type { Plan } from "../../src/engine/model/run.ts";
import { coverOfPack } from "../../src/engine/model/tree.ts";
import { keyOf } from "../../src/engine/worker/findReused.ts";
import { planOf } from "../support/runFixtures.ts";

const letters = [..."abcdefghijkl"];
const inserted = (at: number) => [...letters.slice(0, at), "new", ...letters.slice(at)];

const planFor = (inputs: readonly string[], packSize: number, byInput: boolean): Plan => ({
  ...planOf(inputs.length, packSize),
  ...(byInput ? { byInput: true } : {}),
});

/** The key of each pack. */
function keysOf(
  inputs: readonly string[],
  packSize: number,
  byInput: boolean,
  params: unknown = {},
): string[] {
  const plan = planFor(inputs, packSize, byInput);
  return Array.from({ length: packsOf(plan) }, (_, pack) => {
    const { from, to } = chunksOfPack(plan, pack);
    return keyOf({ calculation: "tree", params }, plan, pack, inputs.slice(from, to));
  });
}

/** The packs of the second list that find a partial of the first. */
function found(
  before: readonly string[],
  now: readonly string[],
  packSize: number,
  byInput: boolean,
): number[] {
  const there = new Set(keysOf(before, packSize, byInput));
  return keysOf(now, packSize, byInput).flatMap((key, pack) => (there.has(key) ? [pack] : []));
}

test("one changed input costs its pack", () => {
  expect(found(letters, letters.with(5, "new"), 2, false)).toEqual([0, 1, 3, 4, 5]);
});

test("after an added file packs of one chunk are found where they moved to, and larger ones only those before it", () => {
  expect(found(letters, inserted(5), 1, true)).toEqual([0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12]);
  expect(found(letters, inserted(5), 2, true)).toEqual([0, 1]);
});

test("packs are found where they moved by a multiple of the pack size", () => {
  expect(found(letters, ["x", "y", "z", "w", ...letters], 4, true)).toEqual([1, 2, 3]);
});

test("where compute may ask for index and count, nothing is found in a list of another length", () => {
  expect(found(letters, inserted(11), 1, false)).toEqual([]);
});

test("packs of a size that is no power of two are found where they were alone", () => {
  expect(found(letters, letters, 3, true)).toEqual([0, 1, 2, 3]);
  expect(found(letters, ["x", "y", "z", ...letters], 3, true)).toEqual([]);
});

test("the key tells parameters apart, and the plan of a count from a list", () => {
  expect(keysOf(["a"], 1, true, { unit: 1 })).not.toEqual(keysOf(["a"], 1, true, { unit: 2 }));
  const of = { calculation: "tree", params: {} };
  const plan = planOf(1, 1);
  expect(keyOf(of, plan, 0, undefined)).not.toBe(keyOf(of, plan, 0, [null]));
  expect(keyOf(of, plan, 0, undefined)).not.toBe(keyOf({ ...of, calculation: "else" }, plan, 0, undefined));
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

test("a result has the same bytes with and without what was copied, whatever became of the inputs", async () => {
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
      const earlier = planFor(before, packSize, byInput);
      const there = new Map<string, Uint8Array>();
      for (const [pack, key] of keysOf(before, packSize, byInput).entries())
        there.set(key, await computed(of, earlier, before, pack));
      const layout = planFor(now, packSize, byInput);
      const [own, mixed]: [Partials, Partials] = [new Map(), new Map()];
      for (const [pack, key] of keysOf(now, packSize, byInput).entries()) {
        own.set(pack, await computed(of, layout, now, pack));
        mixed.set(pack, there.get(key) ?? (own.get(pack) as Uint8Array));
        if (there.has(key)) taken += 1;
        expect(mixed.get(pack)).toEqual(own.get(pack));
      }
      expect(await resultOf(of, layout, mixed)).toBe(await resultOf(of, layout, own));
    },
  );
  await fc.assert(property, { numRuns: 300 });
  expect(taken).toBeGreaterThan(150);
});
