import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { normalQuantile } from "../../../src/calculations/exact/normalQuantile.ts";
import { randomStream } from "../../../src/calculations/exact/randomStream.ts";
import { threefry4x32, type Words } from "../../../src/calculations/exact/threefry.ts";

const key = fc.record({ seed: fc.maxSafeNat(), chunk: fc.nat({ max: 2 ** 32 - 1 }) });

const words = (text: string): Words => text.split(" ").map((word) => Number.parseInt(word, 16)) as never;

// The known answers of Random123 for Threefry-4x32-20, file tests/kat_vectors.
test.each([
  [
    "00000000 00000000 00000000 00000000",
    "00000000 00000000 00000000 00000000",
    "9c6ca96a e17eae66 fc10ecd4 5256a7d8",
  ],
  [
    "ffffffff ffffffff ffffffff ffffffff",
    "ffffffff ffffffff ffffffff ffffffff",
    "2a881696 57012287 f6c7446e a16a6732",
  ],
  [
    "243f6a88 85a308d3 13198a2e 03707344",
    "a4093822 299f31d0 082efa98 ec4e6c89",
    "59cd1dbb b8879579 86b5d00c ac8b6d84",
  ],
])("the block of counter %s and key %s is the published one", (counter, key, answer) => {
  const block = threefry4x32(words(key), words(counter));
  expect(block.map((word) => word >>> 0)).toEqual(words(answer));
});

// mpmath 1.3 with 30 digits; those at 0.25 and 0.001 are the check values that Wichura gives for PPND16.
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
])("the normal quantile of 1/2 + %d is %d", (q, expected) => {
  expect(normalQuantile(q)).toBeCloseTo(expected, 13);
  expect(normalQuantile(-q)).toBe(-normalQuantile(q));
});

describe("randomStream", () => {
  test("the numbers of a key are the same bits for ever", () => {
    const hash = createHash("sha256");
    const keys = [
      [1, 0, 0],
      [2 ** 53 - 1, 2 ** 32 - 1, 7],
      [2 ** 32 + 1, 5, 2 ** 32 - 1],
    ] as [number, number, number][];
    for (const key of keys) {
      const [normals, uniforms] = [randomStream(...key), randomStream(...key)];
      for (let i = 0; i < 50_001; i++) hash.update(Float64Array.of(normals.normal(), uniforms.uniform()));
    }
    expect(hash.digest("hex")).toBe("916cd7047436018dbaf2d18436be847bcdfb75bf5edcb9472ec2b25c42eb0957");
  });

  test("a draw has the same value whichever kinds were drawn before it", () => {
    fc.assert(
      fc.property(
        key,
        fc.array(fc.boolean(), { minLength: 1_020, maxLength: 2_060 }),
        ({ seed, chunk }, kinds) => {
          const [mixed, uniforms, normals] = [0, 0, 0].map(() => randomStream(seed, chunk, 7));
          for (const isNormal of kinds) {
            const [uniform, normal] = [uniforms?.uniform(), normals?.normal()];
            expect(isNormal ? mixed?.normal() : mixed?.uniform()).toBe(isNormal ? normal : uniform);
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  test("a normal is negative where the uniform number of its place is below one half", () => {
    const [uniforms, normals] = [randomStream(5, 6), randomStream(5, 6)];
    const apart = Array.from({ length: 3_000 }, () => uniforms.uniform() < 0.5 !== normals.normal() < 0);
    expect(apart).not.toContain(true);
  });

  test("numbers of 100 streams have the mean, the variance and the even cells of their distribution", () => {
    const count = 100_000;
    const cells = new Float64Array(64);
    let [sum, sum2, sum4, inside] = [0, 0, 0, true];
    for (let chunk = 0; chunk < 100; chunk++) {
      const [uniforms, normals] = [randomStream(11, chunk), randomStream(11, chunk, 1)];
      for (let i = 0; i < count / 100; i++) {
        const u = uniforms.uniform();
        inside &&= u > 0 && u < 1;
        const cell = Math.floor(64 * u);
        cells[cell] = (cells[cell] as number) + 1;
        const x = normals.normal();
        sum += x;
        sum2 += x * x;
        sum4 += x ** 4;
      }
    }
    expect(inside).toBe(true);
    // Five standard errors each; the seed is fixed, so that they hold or do not.
    expect(Math.abs(sum / count)).toBeLessThan(5 / Math.sqrt(count));
    expect(Math.abs(sum2 / count - 1)).toBeLessThan(5 * Math.sqrt(2 / count));
    expect(Math.abs(sum4 / count - 3)).toBeLessThan(5 * Math.sqrt(96 / count));
    const chi2 = cells.reduce((all, found) => all + (found - count / 64) ** 2 / (count / 64), 0);
    expect(Math.abs(chi2 - 63)).toBeLessThan(5 * Math.sqrt(2 * 63));
  });

  test("streams with another seed, chunk or number differ", () => {
    const firsts = [
      randomStream(1, 2, 3),
      randomStream(2 ** 32 + 1, 2, 3),
      randomStream(2, 1, 3),
      randomStream(1, 3, 2),
      randomStream(1, 2),
    ].map((stream) => stream.uniform());
    expect(new Set(firsts).size).toBe(firsts.length);
  });

  test.each([
    [-1, 0, 0],
    [2 ** 53, 0, 0],
    [0.5, 0, 0],
    [0, 2 ** 32, 0],
    [0, 0, Number.NaN],
  ])("a key of seed %s, chunk %s, stream %s is refused", (...given) => {
    expect(() => randomStream(...(given as [number, number, number]))).toThrow(/of random numbers is 0 to/);
  });
});
