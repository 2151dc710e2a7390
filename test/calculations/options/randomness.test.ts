import { describe, expect, test } from "vitest";
import * as kernel from "../../../src/calculations/options/kernel.ts";
import { cumulative } from "../../../src/calculations/options/law.ts";
import * as elementary from "../reference/paths/elementary.ts";
import { quantileFromMiddle, quantilesFromMiddle } from "../reference/paths/quantiles.ts";
import { threefry4x32 } from "../reference/paths/threefry.ts";
import { threefryAnswers } from "./threefryAnswers.ts";

type Words = readonly [number, number, number, number];
const parse = (text: string): Words => text.split(" ").map((word) => Number.parseInt(word, 16)) as never;
const block = (key: Words, counter: Words, blocks = 1): string[] => {
  const words = new Int32Array(4 * blocks);
  threefry4x32(words, blocks, key, counter);
  return Array.from(words, (word) => (word >>> 0).toString(16).padStart(8, "0"));
};
/** Distance in units of the last place of what is expected. */
const apart = (x: number, expected: number): number =>
  Math.abs(x - expected) / 2 ** (Math.floor(Math.log2(Math.abs(expected))) - 52);

describe("Threefry-4x32-20", () => {
  test.each(threefryAnswers)(
    "the block of counter %s and key %s is the published one",
    (counter, key, answer) => {
      expect(block(parse(key), parse(counter))).toEqual(answer.split(" "));
    },
  );

  test("any block is made without those before it, also where the counter wraps", () => {
    const key = parse("00000001 00000002 00000003 00000004");
    const many = block(key, [0xfffffffe, 7, 8, 9], 4);
    for (let i = 0; i < 4; i++) {
      expect(block(key, [(0xfffffffe + i) >>> 0, 7, 8, 9])).toEqual(many.slice(4 * i, 4 * i + 4));
    }
  });
});

const implementations = [
  { name: "the WebAssembly kernel", ...kernel },
  { name: "the reference in JavaScript", ...elementary, quantileFromMiddle },
];

// Expected values in this file without another source: mpmath 1.3 with 30 digits.
describe.each(implementations)("normal quantiles by $name", ({ quantileFromMiddle }) => {
  // The check values that Wichura gives for PPND16 are those at 0.25 and 0.001.
  test.each([
    [0.25 - 0.5, -0.6744897501960817],
    [0.001 - 0.5, -3.090232306167813],
    [1e-10, 2.5066282746310006e-10],
    [0.1, 0.2533471031357998],
    [0.4249, 1.43882539275254],
    [0.4251, 1.4402382675279635],
    [0.49, 2.326347874040841],
    [0.4999999, 5.199337582187471],
    [0.49999999999, 6.706023143414748],
  ])("the quantile of 1/2 + %d is %d", (q, expected) => {
    expect(quantileFromMiddle(q)).toBeCloseTo(expected, 13);
    expect(quantileFromMiddle(-q)).toBe(-quantileFromMiddle(q));
  });

  test("the distribution function inverts the quantiles", () => {
    for (let q = -0.4999; q < 0.5; q += 0.0137) {
      expect(cumulative(quantileFromMiddle(q)), `${q}`).toBeCloseTo(0.5 + q, 14);
    }
  });
});

test("the reference makes the same normal quantiles one by one and many at once", () => {
  const values = Float64Array.from({ length: 999 }, (_, i) => (i - 499) / 1000 + 0.0003);
  const each = values.map(quantileFromMiddle);
  quantilesFromMiddle(values, 999);
  expect(values).toEqual(each);
});

describe("the normal distribution", () => {
  test.each([
    [-9, 1.12858840595384e-19],
    [-5, 2.866515718791939e-7],
    [-4.0001, 3.16578614868134e-5],
    [-3.9999, 3.168462753263553e-5],
    [-1.5, 0.06680720126885807],
    [0, 0.5],
    [0.3, 0.6179114221889526],
    [2, 0.9772498680518208],
    [6, 0.9999999990134123],
    [Number.POSITIVE_INFINITY, 1],
    [Number.NEGATIVE_INFINITY, 0],
  ])("the distribution function Φ(%d) is %d", (x, expected) => {
    expect(cumulative(x)).toBeCloseTo(expected, 14);
    if (x < -4 && expected > 0) expect(Math.abs(cumulative(x) / expected - 1)).toBeLessThan(1e-13);
  });
});

describe.each(implementations)("exponential and logarithm by $name", ({ exp, ln }) => {
  test("exp and ln are within 2.5 units in the last place of Math.exp and Math.log", () => {
    for (let i = -7000; i <= 7000; i++) {
      const x = i / 10 + i / 1e5;
      expect(apart(exp(x), Math.exp(x)), `exp ${x}`).toBeLessThanOrEqual(x > 700 || x < -700 ? 5 : 2.5);
      const y = Math.exp(x);
      if (i !== 0) expect(apart(ln(y), Math.log(y)), `ln ${y}`).toBeLessThanOrEqual(2.5);
      const near = 1 + i / 20_000;
      if (i !== 0) expect(apart(ln(near), Math.log(near)), `ln ${near}`).toBeLessThanOrEqual(2.5);
    }
  });

  test.each([
    [exp(0), 1],
    [exp(-0), 1],
    [exp(1000), Number.POSITIVE_INFINITY],
    [exp(709.79), Number.POSITIVE_INFINITY],
    [exp(Number.POSITIVE_INFINITY), Number.POSITIVE_INFINITY],
    [exp(-746), 0],
    [exp(Number.NEGATIVE_INFINITY), 0],
    [exp(-745), 5e-324],
    [ln(1), 0],
  ])("exp and ln have the right limits: %d is %d", (value, expected) => expect(value).toBe(expected));
});

test("the reference's logarithm of the smallest double is right", () => {
  expect(elementary.ln(5e-324)).toBe(-744.4400719213812);
});
