import fc from "fast-check";
import { expect, test } from "vitest";
import { Marks } from "../../../../src/calculations/aggregate/reading/marks.ts";

/** Many marks and few, over more than one block of the kernel. */
const bytes = fc
  .tuple(fc.integer(), fc.oneof(fc.nat(300), fc.nat(200_000)), fc.constantFrom(4, 40, 256))
  .map(([seed, length, different]) => {
    let state = seed >>> 0;
    return Uint8Array.from({ length }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      // 44 is a comma, 34 a quote.
      return [44, 34, 10, 65][(state >>> 24) % different] ?? (state >>> 16) & 255;
    });
  });

test("the kernel finds the marks that a plain loop finds, in each class of bytes", () => {
  fc.assert(
    fc.property(bytes, fc.constantFrom(44, 9, 0x7c), fc.constantFrom(14, 32), (input, usual, limit) => {
      const marks = new Marks({ usual, special: 34, limit });
      const usuals: number[] = [];
      const specials: number[] = [];
      const before: number[] = [];
      for (const [at, byte] of input.entries()) {
        if (byte === usual) usuals.push(at);
        else if (byte === 34 || byte < limit) {
          specials.push(at);
          before.push(usuals.length);
        }
      }
      // Twice, since the second call finds what the first one left.
      for (const part of [input, input]) expect(marks.find(part)).toBe(specials.length);
      expect([...marks.usuals.subarray(0, usuals.length + 1)]).toEqual([...usuals, input.length]);
      expect([...marks.specials.subarray(0, specials.length + 1)]).toEqual([...specials, input.length]);
      expect([...marks.usualsBefore.subarray(0, specials.length)]).toEqual(before);
    }),
    { numRuns: 150 },
  );
});
