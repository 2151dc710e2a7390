import { describe, expect, test } from "vitest";
import { queens } from "../../src/calculations/queens.ts";
import { noFiles } from "../../src/engine/calculation/files.ts";
import { parseParams } from "../../src/engine/calculation/params.ts";

type Input = Parameters<typeof queens.compute>[0]["input"];

function solve(n: number): { inputs: Input[]; partials: number[]; result: unknown } {
  const params = { n };
  const inputs = [...(queens.plan(params, { files: noFiles }) as Iterable<Input>)];
  const count = inputs.length;
  const partials = inputs.map(
    (input, index) => queens.compute({ index, count, input, params, files: noFiles }) as number,
  );
  const folded = partials.reduce((a, b) => queens.merge(a, b, params) as number, queens.zero(params));
  return { inputs, partials, result: queens.finish?.(folded, { params, folded: count, count }) };
}

describe("queens", () => {
  // https://oeis.org/A000170
  test.each([
    [1, 1],
    [2, 0],
    [3, 0],
    [4, 2],
    [5, 10],
    [6, 4],
    [7, 40],
    [8, 92],
    [9, 352],
    [10, 724],
    [11, 2_680],
  ])("finds the published number of solutions for %i queens", (n, solutions) => {
    expect(solve(n).result).toEqual({ n, solutions });
  });

  test.runIf(process.env["LEASEFOLD_FULL"] === "1").each([
    [12, 14_200],
    [13, 73_712],
    [14, 365_596],
    [15, 2_279_184],
    [16, 14_772_512],
  ])(
    "finds the published number of solutions for %i queens too",
    (n, solutions) => {
      expect(solve(n).result).toEqual({ n, solutions });
    },
    300_000,
  );

  test("a board without solutions in its first rows has no chunks", () => {
    expect(solve(2).inputs).toEqual([]);
  });

  test("planning twice lists the same inputs, which survive JSON", () => {
    const { inputs } = solve(9);
    expect(solve(9).inputs).toEqual(inputs);
    expect(JSON.parse(JSON.stringify(inputs))).toEqual(inputs);
  });

  test("the chunks of queens differ in cost", () => {
    expect(new Set(solve(9).partials).size).toBeGreaterThan(3);
  });

  test("a board of 30 is refused with the limit", () => {
    expect(() => parseParams(queens, { n: "30" })).toThrow(/n: .*18/);
  });

  test.each([0, 19, 2.5, "x"])("the board size %j is refused", (n) => {
    expect(queens.params.safeParse({ n }).success).toBe(false);
  });
});
