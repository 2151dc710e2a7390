import fc from "fast-check";
import { expect, test } from "vitest";
import { packsOf, shardSizeFor, shardsOf } from "../../src/engine/model/packs.ts";
import {
  cutTo,
  prefixesOf,
  shardsOfPrefix,
  stoppingLayout,
  stoppingPackSize,
} from "../../src/engine/model/prefixes.ts";
import { childrenOf, coverOfNode, nodeCounts } from "../../src/engine/model/tree.ts";

test.each([
  [0, []],
  [1, []],
  [2, [1]],
  [5, [1, 2, 3, 4]],
  [64, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48]],
  [1_000, [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768]],
] as const)("a run of %i chunks is asked about these prefixes", (chunks, prefixes) => {
  expect(prefixesOf(chunks)).toEqual(prefixes);
});

test("each prefix ends with a shard, for any number of chunks, pack size and limits of the tree", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000_000 }),
      fc.integer({ min: 1, max: 10_000_000 }),
      fc.integer({ min: 1, max: 600 }),
      (chunks, wanted, most) => {
        const packSize = stoppingPackSize(chunks, wanted);
        expect(packSize).toBeLessThanOrEqual(wanted);
        const usual = shardSizeFor(Math.ceil(chunks / packSize), {
          directPacksMax: most,
          shardPacksMax: most,
          fanIn: 2,
        });
        const whole = stoppingLayout({ chunks, packSize, shardSize: usual, fanIn: 2, stops: true });
        expect(whole.packSize).toBe(packSize);
        expect(nodeCounts(whole).length).toBeLessThanOrEqual(1);
        for (const [index, prefix] of prefixesOf(chunks).entries()) {
          expect(prefix % (packSize * whole.shardSize)).toBe(0);
          const cut = cutTo(whole, prefix);
          expect(shardsOf(cut)).toBe(shardsOfPrefix(whole, prefix));
          expect(packsOf(cut) * packSize).toBe(prefix);
          expect(childrenOf(whole, 2, index)).toEqual({ from: 0, to: shardsOf(cut) });
          expect(coverOfNode(whole, 2, index)).toEqual({ from: 0, to: prefix });
        }
      },
    ),
    { numRuns: 200 },
  );
});
