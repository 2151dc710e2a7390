import { createHash } from "node:crypto";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type PortableMath, portableMath } from "../../../src/calculations/exact/portableMath.ts";

type Name = keyof PortableMath;
const names = Object.keys(portableMath) as Name[];
const twoNumbers: readonly Name[] = ["atan2", "hypot", "pow"];
const call = (from: object, name: Name, ...given: number[]): number =>
  (from as Record<Name, (...given: number[]) => number>)[name](...given);

/** Doubles between two of equal sign, as whole numbers that count up with them. */
const bits = new BigInt64Array(1);
const double = new Float64Array(bits.buffer);
function rankOf(x: number): bigint {
  double[0] = x;
  const whole = bits[0] as bigint;
  return whole < 0n ? -(whole & 0x7fffffffffffffffn) : whole;
}
function unitsApart(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Object.is(a, b) ? 0 : Number.POSITIVE_INFINITY;
  const apart = rankOf(a) - rankOf(b);
  return Number(apart < 0n ? -apart : apart);
}

/** Of every size, and densely where most functions are used. */
const numbers = fc.oneof(
  fc.double(),
  fc.double({ min: -1, max: 1, noNaN: true }),
  fc.double({ min: -700, max: 700, noNaN: true }),
  fc.constantFrom(
    0,
    -0,
    1,
    -1,
    2,
    0.5,
    1e300,
    -1e300,
    5e-324,
    2 ** 52,
    Number.MAX_VALUE,
    Math.PI,
    Math.PI / 2,
  ),
);

describe("portableMath", () => {
  test("portableMath has every function of Math whose last bit the language leaves to the engine", () => {
    // Those of the specification's table of functions that are not "implementation-approximated".
    const exact = "abs ceil clz32 f16round floor fround imul max min random round sign sqrt sumPrecise trunc";
    // Of a new realm: in this process the compiler of the kernels may have given Math functions of its own.
    const engine: Record<string, unknown> = runInNewContext("Math");
    const left = Object.getOwnPropertyNames(engine).filter(
      (name) => typeof engine[name] === "function" && !exact.split(" ").includes(name),
    );
    expect(names.toSorted()).toEqual(left.toSorted());
  });

  test.each(names)("%s is within two units in the last place of that of the engine", (name) => {
    const check = (...given: number[]): void => {
      const [own, engine] = [call(portableMath, name, ...given), call(Math, name, ...given)];
      expect(unitsApart(own, engine), `${name}(${given}): ${own}, ${engine}`).toBeLessThanOrEqual(2);
    };
    const given = twoNumbers.includes(name) ? fc.tuple(numbers, numbers) : fc.tuple(numbers);
    fc.assert(
      fc.property(given, (numbers) => check(...numbers)),
      { numRuns: 3_000, seed: 1 },
    );
  });

  test("exp and log are right where the answer is known by other means", () => {
    // Constants of the language, and e^10 to 50 digits.
    expect(portableMath.exp(1)).toBe(Math.E);
    expect(portableMath.exp(10)).toBe(Number("22026.465794806716516957900645284244366353512618557"));
    expect(portableMath.log(2)).toBe(Math.LN2);
    expect(portableMath.log(10)).toBe(Math.LN10);
    for (let n = 0; n < 53; n++) {
      expect(portableMath.pow(2, n)).toBe(2 ** n);
      expect(portableMath.log2(2 ** n)).toBe(n);
    }
    for (let n = 0; n <= 15; n++) expect(portableMath.pow(10, n)).toBe(Number(10n ** BigInt(n)));
  });

  test("the bits of 22,000 answers are those that every machine has given so far", () => {
    const hash = createHash("sha256");
    let state = 1;
    const draw = (): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return (state / 2 ** 32 - 0.5) * 2 ** ((state % 13) - 3);
    };
    for (const name of names) {
      const answers = Float64Array.from({ length: 1_000 }, () => call(portableMath, name, draw(), draw()));
      // The bits of a NaN are not promised.
      hash.update(answers.map((x) => (Number.isNaN(x) ? 0 : x)));
    }
    expect(hash.digest("hex")).toBe("45facd02c051343dece9df081d238e145878781f6aa41ac6206da6a2e1a6a97c");
  });
});
