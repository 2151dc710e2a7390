import fc from "fast-check";
import { expect, test } from "vitest";
import {
  clearBit,
  countBits,
  decodeBitmap,
  emptyBitmap,
  encodeBitmap,
  hasBit,
  setBit,
} from "../../src/engine/model/bitmap.ts";

test("a bitmap is the set of what was set and not cleared, also after encoding", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1000 }).chain((size) => {
        const index = fc.integer({ min: 0, max: size - 1 });
        return fc.record({ size: fc.constant(size), set: fc.array(index), cleared: fc.array(index) });
      }),
      ({ size, set, cleared }) => {
        const bits = emptyBitmap(size);
        const expected = new Set<number>();
        for (const index of set) {
          expect(setBit(bits, index)).toBe(!expected.has(index));
          expected.add(index);
        }
        for (const index of cleared) {
          clearBit(bits, index);
          expected.delete(index);
        }
        const read = decodeBitmap(encodeBitmap(bits), size);
        for (let index = 0; index < size; index += 1) expect(hasBit(read, index)).toBe(expected.has(index));
        expect(countBits(read)).toBe(expected.size);
      },
    ),
  );
});

test("a bit outside of the bitmap cannot be set", () => {
  expect(() => setBit(emptyBitmap(8), 8)).toThrow(RangeError);
});
