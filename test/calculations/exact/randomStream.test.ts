import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { randomStream } from "../../../src/calculations/exact/randomStream.ts";
import { blockNormals } from "../../../src/calculations/options/kernel.ts";
import { javaScriptPaths } from "../reference/paths/javaScriptPaths.ts";

const key = fc.record({ seed: fc.maxSafeNat(), chunk: fc.nat({ max: 2 ** 32 - 1 }) });

describe("randomStream", () => {
  test("the normals of a stream are those of `options` by its reference in JavaScript", () => {
    const reference = javaScriptPaths();
    fc.assert(
      fc.property(key, ({ seed, chunk }) => {
        const stream = randomStream(seed, chunk);
        for (let block = 0; block < 2; block++) {
          reference.fillNormals({ seed, chunk }, block * blockNormals, blockNormals);
          for (const normal of reference.normals) expect(stream.normal()).toBe(normal);
        }
      }),
      { numRuns: 20 },
    );
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
    for (let i = 0; i < 3_000; i++) expect(uniforms.uniform() < 0.5).toBe(normals.normal() < 0);
  });

  test("numbers of 100 streams have the mean, the variance and the even cells of their distribution", () => {
    const count = 100_000;
    const cells = new Float64Array(64);
    let [sum, sum2, sum4] = [0, 0, 0];
    for (let chunk = 0; chunk < 100; chunk++) {
      const [uniforms, normals] = [randomStream(11, chunk), randomStream(11, chunk, 1)];
      for (let i = 0; i < count / 100; i++) {
        const u = uniforms.uniform();
        expect(u > 0 && u < 1).toBe(true);
        const cell = Math.floor(64 * u);
        cells[cell] = (cells[cell] as number) + 1;
        const x = normals.normal();
        sum += x;
        sum2 += x * x;
        sum4 += x ** 4;
      }
    }
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
