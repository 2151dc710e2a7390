import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sortedList } from "../../src/engine/storage/memory/sortedList.ts";

const numbers = () => sortedList<number>((a, b) => a - b);

describe("a sorted list", () => {
  it("holds what a set holds, in order, from any index on", () => {
    const changes = fc.array(fc.nat(3000), { minLength: 4000, maxLength: 6000 });
    fc.assert(
      fc.property(changes, fc.nat(3000), (items, place) => {
        const list = numbers();
        const set = new Set<number>();
        for (const item of items) {
          if (set.delete(item)) list.remove(item);
          else {
            set.add(item);
            list.insert(item);
          }
        }
        const sorted = [...set].toSorted((a, b) => a - b);
        expect([...list.from(() => false)]).toEqual(sorted);
        expect([...list.from((item) => item < place)]).toEqual(sorted.filter((item) => item >= place));
      }),
      { numRuns: 20 },
    );
  });

  it("does not change when an item that it does not hold is removed", () => {
    const list = numbers();
    list.remove(1);
    for (const item of [3, 1, 2]) list.insert(item);
    for (const item of [0, 1.5, 4]) list.remove(item);
    expect([...list.from(() => false)]).toEqual([1, 2, 3]);
  });

  it("is empty when every item was removed", () => {
    const list = numbers();
    const items = Array.from({ length: 2000 }, (_, index) => (index * 7) % 2000);
    for (const item of items) list.insert(item);
    for (const item of items) list.remove(item);
    expect([...list.from(() => false)]).toEqual([]);
    list.insert(5);
    expect([...list.from((item) => item < 5)]).toEqual([5]);
  });
});
