import { describe, expect, test } from "vitest";
import { primes } from "../../src/calculations/primes.ts";
import { noFiles } from "../../src/engine/calculation/files.ts";

type Params = Parameters<typeof primes.zero>[0];

function run(raw: unknown): { chunks: number; partials: number[]; result: unknown } {
  const params = primes.params.parse(raw);
  const count = primes.plan(params, { files: noFiles }) as number;
  const partials = Array.from(
    { length: count },
    (_, index) => primes.compute({ index, count, input: undefined, params, files: noFiles }) as number,
  );
  const folded = partials.reduce((a, b) => primes.merge(a, b, params) as number, primes.zero(params));
  return { chunks: count, partials, result: primes.finish?.(folded, { params, folded: count, count }) };
}
const chunksOf = (params: Params): number => primes.plan(params, { files: noFiles }) as number;

describe("primes", () => {
  test("both ends of the range are included", () => {
    expect(run({ to: 29 })).toMatchObject({ chunks: 1, result: { primes: 10, from: 0, to: 29 } });
    expect(run({ from: 29, to: 31 }).result).toEqual({ primes: 2, from: 29, to: 31 });
    expect(run({ from: 31, to: 31 }).result).toEqual({ primes: 1, from: 31, to: 31 });
    expect(run({ to: 0 })).toMatchObject({ chunks: 1, result: { primes: 0 } });
  });

  test("a result of some of the chunks names their number and that of all", () => {
    const params = primes.params.parse({ to: 1e9 });
    expect(primes.finish?.(7, { params, folded: 3, count: 20 })).toEqual({
      ...{ primes: 7, from: 0, to: 1e9 },
      ...{ chunks: 3, ofChunks: 20 },
    });
  });

  test("several chunks add up to the published count", () => {
    const { chunks, result } = run({ to: 1e8 });
    expect(chunks).toBe(2);
    expect(result).toEqual({ primes: 5_761_455, from: 0, to: 1e8 });
  });

  test("a range that begins anywhere is cut without gap or overlap", () => {
    expect(run({ from: 12_345_678, to: 1e8 }).result).toMatchObject({ primes: 5_761_455 - 809_227 });
  });

  test("a range of one number counts that number", () => {
    expect(run({ from: 11, to: 11 })).toMatchObject({ result: { primes: 1, from: 11, to: 11 } });
    expect(run({ from: 10, to: 10 })).toMatchObject({ result: { primes: 0, from: 10, to: 10 } });
  });

  test("numbers may come as text, as a command line gives them", () => {
    expect(primes.params.parse({ to: "1e11" })).toEqual({ to: 100_000_000_000, from: 0 });
    expect(primes.params.parse({ to: "100000000000", from: "7" })).toEqual({ to: 1e11, from: 7 });
    expect(primes.params.parse({})).toEqual({ to: 1e9, from: 0 });
  });

  test.each([-1, 1.5, 1e14 + 1, "many", Number.NaN])("the upper end %j is refused", (to) => {
    expect(primes.params.safeParse({ to }).success).toBe(false);
  });

  test("chunks are a few thousand at most up to 10^13, and never tiny or huge", () => {
    expect(chunksOf({ from: 0, to: 1e6 })).toBe(1);
    expect(chunksOf({ from: 0, to: 1e10 })).toBe(159);
    expect(chunksOf({ from: 0, to: 1e11 })).toBe(1_590);
    expect(chunksOf({ from: 0, to: 1e12 })).toBe(3_974);
    expect(chunksOf({ from: 0, to: 1e13 })).toBe(3_999);
    expect(chunksOf({ from: 0, to: 1e14 })).toBeLessThan(50_000);
    expect(chunksOf({ from: 1e14 - 1e9, to: 1e14 })).toBe(2);
  });
});
