import fc from "fast-check";
import { expect, test } from "vitest";
import { piecesMax, piecesOf } from "../../src/engine/model/leftOut.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { joined, type Range, sizeOf } from "../../src/engine/model/packs.ts";

test("the pieces of a pack tile it, and are few", () => {
  fc.assert(
    fc.property(
      fc.nat(1_000),
      fc.integer({ min: 1, max: 40_000 }),
      fc.nat(),
      fc.nat(),
      (from, size, at, of) => {
        const pack = { from, to: from + size };
        const start = from + (at % size);
        const doubt = { from: start, to: start + 1 + (of % (pack.to - start)) };
        for (const pieces of [piecesOf(pack), piecesOf(pack, doubt)]) {
          expect(joined(pieces)).toEqual([pack]);
          expect(pieces.length).toBeLessThanOrEqual(piecesMax + 2);
          expect(Math.min(...pieces.map(sizeOf))).toBeGreaterThan(0);
        }
      },
    ),
  );
});

test("as many deaths as fail a pack find one chunk of the largest pack that may have gaps", () => {
  const pack = { from: 0, to: limits.gappedChunksMax };
  for (const chunk of [0, 20_000, limits.gappedChunksMax - 1]) {
    let doubt: Range = pack;
    for (let death = 0; death < limits.diedSendsMax; death += 1)
      doubt = piecesOf(pack, doubt).find(({ from, to }) => from <= chunk && chunk < to) ?? pack;
    expect(doubt).toEqual({ from: chunk, to: chunk + 1 });
  }
});
