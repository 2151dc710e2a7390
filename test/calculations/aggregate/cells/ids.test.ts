import fc from "fast-check";
import { expect, test } from "vitest";
import { TextIds } from "../../../../src/calculations/aggregate/cells/textIds.ts";
import { PairIds } from "../../../../src/calculations/aggregate/rows/groupIds.ts";

/** Numbers values in the order in which they first appear, by a map. */
const numbered = () => {
  const ids = new Map<string, number>();
  return (value: string): number => ids.get(value) ?? ids.set(value, ids.size).get(value) ?? -1;
};

test("texts are numbered as by a map, wherever their bytes lie", () => {
  const text = fc.oneof(fc.string({ unit: "binary", maxLength: 40 }), fc.integer({ max: 3_000 }).map(String));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 400 }), (texts) => {
      const ids = new TextIds();
      const truth = numbered();
      for (const one of texts) {
        const bytes = Buffer.from(`(${one})`);
        const known = ids.find(bytes, 1, bytes.length - 1);
        const id = truth(Buffer.from(one).toString());
        expect([-1, id]).toContain(known);
        expect(ids.idOf(bytes, 1, bytes.length - 1)).toBe(id);
        expect(ids.find(bytes, 1, bytes.length - 1)).toBe(id);
      }
    }),
    { numRuns: 60 },
  );
});

test("a hundred thousand texts keep their numbers while the table grows", () => {
  const ids = new TextIds();
  const all = Array.from({ length: 100_000 }, (_, index) => Buffer.from(`key ${index * 7919}`));
  for (const round of [0, 1]) {
    const wrong = all.findIndex((bytes, index) => ids.idOf(bytes, 0, bytes.length) !== index);
    expect(wrong, `round ${round}`).toBe(-1);
  }
});

test("pairs are numbered as by a map", () => {
  const part = fc.oneof(fc.nat(20), fc.nat(400_000));
  fc.assert(
    fc.property(fc.array(fc.tuple(part, part), { maxLength: 600 }), (pairs) => {
      const ids = new PairIds();
      const truth = numbered();
      for (const [left, right] of pairs) expect(ids.idOf(left, right)).toBe(truth(`${left} ${right}`));
    }),
    { numRuns: 60 },
  );
});
