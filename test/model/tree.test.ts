import fc from "fast-check";
import { expect, test } from "vitest";
import type { Layout } from "../../src/engine/model/packs.ts";
import { shardsOf } from "../../src/engine/model/packs.ts";
import {
  childrenOf,
  decodeGens,
  encodeGens,
  foldsPacksDirectly,
  nodeCounts,
  topLevel,
} from "../../src/engine/model/tree.ts";

const layout = (packs: number, shardSize: number, fanIn: number): Layout => ({
  chunks: packs,
  packSize: 1,
  shardSize,
  fanIn,
});

test.each([
  [256, 256, 1000, []],
  [257, 17, 1000, [16]],
  [1_000_000, 1000, 1000, [1000]],
  [10_000_000, 1000, 1000, [10_000, 10]],
  [9, 2, 2, [5, 3, 2]],
])("%i packs in shards of %i, %i to a node: levels of %j", (packs, shardSize, fanIn, levels) => {
  const one = layout(packs, shardSize, fanIn);
  expect(nodeCounts(one)).toEqual(levels);
  expect(topLevel(one)).toBe(levels.length);
  expect(foldsPacksDirectly(one)).toBe(levels.length === 0);
});

test("each level tiles the one below", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 500 }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 2, max: 5 }),
      (packs, shardSize, fanIn) => {
        const one = layout(packs, shardSize, fanIn);
        const counts = nodeCounts(one);
        for (let level = 2; level <= counts.length; level += 1) {
          let next = 0;
          for (let index = 0; index < (counts[level - 1] as number); index += 1) {
            const children = childrenOf(one, level, index);
            expect(children.from).toBe(next);
            next = children.to;
          }
          expect(next).toBe(counts[level - 2]);
        }
        if (counts.length > 0) expect(counts.at(-1)).toBeLessThanOrEqual(Math.max(fanIn, shardsOf(one)));
      },
    ),
  );
});

test("generations of neighbours survive their text, and a text for another number of nodes is refused", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 50 }), (gens) => {
      const text = encodeGens(gens);
      expect(decodeGens(text, { from: 0, to: gens.length })).toEqual(gens);
      expect(decodeGens(text, { from: 0, to: gens.length + 1 })).toBeUndefined();
      expect(decodeGens(text, { from: 1, to: gens.length })).toBeUndefined();
    }),
  );
  expect(encodeGens([1, 1, 1, 2])).toBe("1x3,2");
  for (const bad of ["", "0", "1x", "x", "1x999999,1", "-1"])
    expect(decodeGens(bad, { from: 0, to: 1 })).toBeUndefined();
});
