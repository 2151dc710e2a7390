import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { coverOf, type Span, spansOf, TreeFold } from "../../src/engine/model/foldTree.ts";
import { powerFrom, type Range } from "../../src/engine/model/packs.ts";
import { treeText, wholeTree } from "../support/plainTree.ts";

/** Shows its own parenthesis, so that any other grouping or order gives another text. */
const merge = async (a: string, b: string): Promise<string> => `(${a} ${b})`;

/** What a stored partial is: the range that it covers, and the text of each of its spans that has one. */
interface Stored extends Range {
  readonly spans: readonly (Span & { readonly part?: string })[];
}

async function folded(cover: Range, parts: readonly Stored[]): Promise<Stored> {
  const tree = new TreeFold(cover.from, merge);
  for (const { spans } of parts)
    for (const { part, ...span } of spans) if (part !== undefined) await tree.add(span, part);
  return { ...cover, spans: await tree.end(cover.to) };
}

/** A run of some chunks, cut anywhere; the packs that start at some of the cuts are gaps. */
const runs = fc.integer({ min: 1, max: 90 }).chain((chunks) =>
  fc.record({
    chunks: fc.constant(chunks),
    cuts: fc.uniqueArray(fc.integer({ min: 1, max: chunks }), { maxLength: 12 }),
    gaps: fc.array(fc.boolean(), { minLength: 13, maxLength: 13 }),
    groups: fc.infiniteStream(fc.integer({ min: 1, max: 4 })),
  }),
);

describe("the tree of spans", () => {
  test("any cuts into packs, gaps and levels of nodes give the text of the plain recursion", async () => {
    await fc.assert(
      fc.asyncProperty(runs, async ({ chunks, cuts, gaps, groups }) => {
        const ends = [...new Set([...cuts, chunks])].sort((a, b) => a - b);
        const packs = ends.map((to, at) => ({ from: ends[at - 1] ?? 0, to }));
        const kept = packs.filter((_, at) => gaps[at] !== true);
        const has = (chunk: number): boolean => kept.some(({ from, to }) => chunk >= from && chunk < to);

        let level: Stored[] = [];
        for (const pack of packs) {
          const cover = coverOf(pack, chunks);
          const tree = new TreeFold(pack.from, merge);
          for (let chunk = pack.from; chunk < pack.to; chunk += 1)
            if (has(chunk)) await tree.add({ from: chunk, size: 1 }, `${chunk}`);
          level.push({ ...cover, spans: await tree.end(cover.to) });
        }
        while (level.length > 1) {
          const above: Stored[] = [];
          for (let at = 0; at < level.length; ) {
            const some = level.slice(at, at + (groups.next().value as number));
            at += some.length;
            const cover = { from: (some[0] as Stored).from, to: (some.at(-1) as Stored).to };
            above.push(await folded(cover, some));
          }
          level = above;
        }
        const root = await folded({ from: 0, to: powerFrom(chunks) }, level);
        expect(root.spans.map(({ part }) => part)).toEqual([treeText(chunks, has)]);
      }),
      { numRuns: 400 },
    );
  });

  test("sums of doubles have the same bits for any cut, and not those of a plain loop", async () => {
    const values = Array.from({ length: 1_000 }, (_, index) => Math.sin(index) * 10 ** (index % 17));
    const add = async (a: number, b: number): Promise<number> => a + b;
    const sumOf = async (packSize: number): Promise<number> => {
      const run = new TreeFold<number>(0, add);
      for (let from = 0; from < values.length; from += packSize) {
        const pack = { from, to: Math.min(from + packSize, values.length) };
        const tree = new TreeFold<number>(from, add);
        for (let chunk = pack.from; chunk < pack.to; chunk += 1)
          await tree.add({ from: chunk, size: 1 }, values[chunk] as number);
        for (const { part, ...span } of await tree.end(coverOf(pack, values.length).to))
          if (part !== undefined) await run.add(span, part);
      }
      return (await run.end(powerFrom(values.length)))[0]?.part as number;
    };
    const all = [1, 3, 7, 64, 100, 999, 1_000].map(sumOf);
    const plain = wholeTree<number>({
      ...{ chunks: values.length, has: () => true, leaf: (chunk) => values[chunk] as number },
      merge: (a, b) => a + b,
    });
    for (const sum of await Promise.all(all)) expect(sum).toBe(plain);
    expect(values.reduce((sum, value) => sum + value)).not.toBe(plain);
  });

  test("a run without any folded chunk has no part", async () => {
    const tree = new TreeFold<string>(0, merge);
    expect(await tree.end(8)).toEqual([{ from: 0, size: 8 }]);
  });

  test("a part that comes twice or out of order is refused", async () => {
    const tree = new TreeFold<string>(0, merge);
    await tree.add({ from: 0, size: 4 }, "a");
    await expect(tree.add({ from: 2, size: 2 }, "b")).rejects.toThrow(/chunk 2 comes where 4 is next/);
    await expect(tree.add({ from: 0, size: 4 }, "a")).rejects.toThrow(RangeError);
  });

  test("a fold of chunks that follow each other holds no more than the logarithm of them", async () => {
    let held = 0;
    let most = 0;
    const tree = new TreeFold<number>(0, async (a, b) => {
      held -= 1;
      return a + b;
    });
    for (let chunk = 0; chunk < 5_000; chunk += 1) {
      held += 1;
      await tree.add({ from: chunk, size: 1 }, 1);
      most = Math.max(most, held);
    }
    expect(most).toBe(12);
  });
});

describe("spans of a range", () => {
  const ranges = fc
    .tuple(fc.integer({ min: 0, max: 10_000_000 }), fc.integer({ min: 1, max: 10_000 }))
    .map(([from, size]) => ({ from, to: from + size }));

  test("they tile it, each is aligned, and there are few of them", () => {
    fc.assert(
      fc.property(ranges, (range) => {
        const spans = spansOf(range);
        let at = range.from;
        for (const { from, size } of spans) {
          expect([from, from % size, Math.log2(size) % 1]).toEqual([at, 0, 0]);
          at += size;
        }
        expect(at).toBe(range.to);
        expect(spans.length).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(range.to - range.from + 1)));
      }),
    );
  });

  test.each([
    { from: 0, to: 4, chunks: 21, cover: [0, 4], spans: 1 },
    { from: 20, to: 21, chunks: 21, cover: [20, 24], spans: 1 },
    { from: 16, to: 21, chunks: 21, cover: [16, 32], spans: 1 },
    { from: 0, to: 10, chunks: 10, cover: [0, 16], spans: 1 },
    { from: 7, to: 14, chunks: 21, cover: [7, 14], spans: 3 },
    { from: 14, to: 21, chunks: 21, cover: [14, 32], spans: 2 },
    { from: 0, to: 1, chunks: 1, cover: [0, 1], spans: 1 },
  ])("chunks $from to $to of $chunks cover $cover, in $spans spans", ({ from, to, chunks, cover, spans }) => {
    const covered = coverOf({ from, to }, chunks);
    expect([covered.from, covered.to]).toEqual(cover);
    expect(spansOf(covered)).toHaveLength(spans);
  });
});
