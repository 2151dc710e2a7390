import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { emptyBitmap, encodeBitmap, setBit } from "../../src/engine/model/bitmap.ts";
import { limits } from "../../src/engine/model/limits.ts";
import {
  chunksOfPack,
  packSizeAtOnce,
  packSizeFor,
  packsOf,
  packsOfShard,
  rangesOfShard,
  reusablePackSize,
  shardOf,
  shardSizeFor,
  shardsOf,
  sizeOf,
} from "../../src/engine/model/packs.ts";

const layouts = fc
  .record({ chunks: fc.integer({ min: 0, max: 20_000 }), packSize: fc.integer({ min: 1, max: 300 }) })
  .map(({ chunks, packSize }) => ({
    chunks,
    packSize,
    shardSize: shardSizeFor(Math.ceil(chunks / packSize)),
    fanIn: 1000,
  }));

describe("packs and shards", () => {
  test("packs tile the chunks, and shards tile the packs", () => {
    fc.assert(
      fc.property(layouts, (layout) => {
        let chunk = 0;
        let pack = 0;
        const wrong: unknown[] = [];
        for (let shard = 0; shard < shardsOf(layout); shard += 1) {
          const packs = packsOfShard(layout, shard);
          if (packs.from !== pack) wrong.push({ shard, packs });
          for (; pack < packs.to; pack += 1) {
            const chunks = chunksOfPack(layout, pack);
            if (shardOf(layout, pack) !== shard || chunks.from !== chunk || sizeOf(chunks) < 1)
              wrong.push({ pack, chunks });
            chunk = chunks.to;
          }
        }
        expect(wrong).toEqual([]);
        expect([chunk, pack]).toEqual([layout.chunks, packsOf(layout)]);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    [1, 256],
    [256, 256],
    [257, 32],
    [4_096, 64],
    [10_000, 256],
    [32_000, 512],
    [1_000_000, 512],
    [10_000_000, 512],
  ])("%i packs make shards of %i", (packs, size) => {
    expect(shardSizeFor(packs)).toBe(size);
  });

  test.each([
    // The work of a run in ms per chunk, and the pack that comes of it.
    { chunks: 1_000_000, chunkMs: 1, packSize: 4_096, why: "244 packs of four seconds" },
    { chunks: 80_000, chunkMs: 1, packSize: 2_048, why: "40 packs of two seconds" },
    { chunks: 12_000, chunkMs: 1, packSize: 256, why: "47 packs of less" },
    {
      chunks: 300_000,
      chunkMs: 1,
      packSize: 2_048,
      why: "fewer than 180 packs, since they would be shorter",
    },
    {
      chunks: 4_000,
      chunkMs: 1,
      packSize: 256,
      why: "few packs, since they would be shorter than a quarter second",
    },
    { chunks: 1_000, chunkMs: 0.01, packSize: 1_000, why: "less than a quarter second is one pack" },
    { chunks: 100_000, chunkMs: 1_000, packSize: 16, why: "no pack is longer than 25 s" },
    { chunks: 100, chunkMs: 60_000, packSize: 1, why: "a chunk is never divided" },
    { chunks: 10, chunkMs: 0, packSize: 10, why: "chunks too short to time" },
    { chunks: 0, chunkMs: 1, packSize: 1, why: "no chunks" },
  ])("the pack size: $why", ({ chunks, chunkMs, packSize }) => {
    expect(packSizeFor(chunks, chunkMs, limits.packLimitMs)).toBe(packSize);
  });

  test.each([
    [2_000, 500, 4_000, 2],
    [2_000, 500, 3_000, 1],
    [2_000, 500, 1_000, 1],
    [1e6, 100, 40_000, 64],
    [1e6, 100, 100_000, 128],
  ])(
    "%d chunks of %d ms with a time limit of %d ms go into packs of %d",
    (chunks, chunkMs, limitMs, size) => {
      expect(packSizeFor(chunks, chunkMs, limitMs)).toBe(size);
    },
  );

  test.each([
    [1e7, 1, 0, 16_384, "without a word"],
    [1e7, 1, 20, 16_384, "few workers change nothing"],
    [1e7, 1, 1_000, 2_048, "four and a few for each of a thousand"],
    [1e5, 1, 1_000, 256, "not less than a quarter second"],
    [4_000, 1_000, 1_000, 1, "long chunks are never divided"],
  ])("%d chunks of %d ms for %d workers go into packs of %d: %s", (chunks, chunkMs, workers, size) => {
    expect(packSizeFor(chunks, chunkMs, limits.packLimitMs, workers)).toBe(size);
  });

  test("a pack of a planned run lasts a quarter second at least, and at most the longest pack or holds one chunk, and is a power of two", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000_000 }),
        fc.double({ min: 0.001, max: 100_000, noNaN: true }),
        (chunks, chunkMs) => {
          const size = packSizeFor(chunks, chunkMs, limits.packLimitMs);
          expect(size).toBeGreaterThanOrEqual(1);
          if (size > 1) expect(size * chunkMs).toBeLessThanOrEqual(limits.packMsMax * (1 + 1e-9));
          if (size < chunks) expect(Math.log2(size) % 1).toBe(0);
          if (size < chunks) expect(size * chunkMs).toBeGreaterThanOrEqual(limits.packMsMin);
          if (size < chunks && size * chunkMs * 2 < limits.packMsMax)
            expect(Math.ceil(chunks / size)).toBeLessThanOrEqual(limits.directPacksMax);
        },
      ),
    );
  });
});

test("gaps are the chunks of packs that are no members, and those that partials of members lack, neighbors joined", () => {
  const layout = { chunks: 25, packSize: 5, shardSize: 256, fanIn: 1000 };
  const bitmap = (size: number, ...members: number[]): string => {
    const bits = emptyBitmap(size);
    for (const member of members) setBit(bits, member);
    return encodeBitmap(bits);
  };
  const of = (which: "folded" | "missing", gapped?: ReadonlyMap<number, string>) =>
    rangesOfShard(layout, 0, bitmap(5, 0, 2, 3), which, gapped).map(({ from, to }) => [from, to]);
  expect(of("missing")).toEqual([[5, 10], [20, 25]]); // biome-ignore format: one line
  const gapped = new Map([[2, bitmap(5, 0, 1, 4)]]);
  expect(of("missing", gapped)).toEqual([[5, 10], [12, 14], [20, 25]]); // biome-ignore format: one line
  expect(of("folded", gapped)).toEqual([[0, 5], [10, 12], [14, 20]]); // biome-ignore format: one line
});

test("a run that keeps its partials has 128 to 256 packs of a power of two, or one for each chunk", () => {
  for (const [chunks, size, expected] of [
    [1_000, 1_000, 4],
    [1_000, 2, 2],
    [1_024, 64, 8],
    [127, 127, 1],
    [0, 1, 1],
  ] as const)
    expect([chunks, reusablePackSize(chunks, size)]).toEqual([chunks, expected]);
  const sizes = fc.property(fc.integer({ min: 128, max: 1e7 }), (chunks) => {
    const packs = Math.ceil(chunks / reusablePackSize(chunks, chunks));
    expect(packs).toBeGreaterThanOrEqual(limits.packsReusable);
    expect(packs).toBeLessThanOrEqual(limits.directPacksMax);
  });
  fc.assert(sizes);
});

test.each([
  [400, 16, 32, 32],
  [400, 64, 32, 64],
  [10, 4, 32, 10],
  [400, 16, undefined, 16],
  [0, 1, 32, 1],
])(
  "a pack of %d chunks in all, planned with %d, has %s at the same time: %d",
  (chunks, size, atOnce, expected) => {
    expect(packSizeAtOnce(chunks, size, atOnce)).toBe(expected);
  },
);
