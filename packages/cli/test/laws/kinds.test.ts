import { describe, expect, test } from "vitest";
import pi from "../../../../examples/pi/pi.ts";
import piPython from "../../../../examples/pi/pi-python.ts";
import { defineConcatCalculation } from "../../../../src/engine/calculation/concat.ts";
import { type AnyCalculation, defineCalculation } from "../../../../src/engine/calculation/contract.ts";
import { sound } from "../../../../test/fixtures/lawFixtures.ts";
import { hasPython } from "../../../../test/support/python.ts";
import { brokenLaws } from "../../check/laws/checkLaws.ts";

/** The laws on calculations of each kind: with a setup, of bytes that follow one another, and in another language. */
const rows = (
  compute: (chunk: { readonly index: number }) => Uint8Array | string,
  count = 13,
): AnyCalculation =>
  defineConcatCalculation<object, unknown>({
    ...{ name: "rows", summary: "", params: sound.params, plan: () => count, compute },
    output: { contentType: "text/plain", extension: "txt", head: "head\n" },
  });

test("few chunks are tried where each is large, for they are kept", async () => {
  const computed = new Set<number>();
  const large = rows(({ index }) => {
    computed.add(index);
    return new Uint8Array(20 * 1024 * 1024).fill(index);
  }, 40);
  expect(await brokenLaws(large, { chunks: 40 })).toEqual([]);
  expect(computed.size).toBeLessThan(12);
});

test("chunks of bytes that are others each time are found, and nothing is wrong with those that are not", async () => {
  let calls = 0;
  const params = { chunks: 13 };
  expect(
    await brokenLaws(
      rows(({ index }) => `${index}`),
      params,
    ),
  ).toEqual([]);
  const broken = await brokenLaws(
    rows(() => `${calls++}`),
    params,
  );
  expect(broken).toEqual([expect.stringMatching(/^compute is deterministic: chunk/)]);
});

test("a setup that gives another value each time is found", async () => {
  let calls = 0;
  const shared = (value: () => number) =>
    defineCalculation({
      ...{ name: "own", summary: "", params: sound.params, plan: () => 3, zero: () => 0 },
      setup: () => ({ value: value() }),
      compute: ({ index, shared: { value } }) => index * value,
      merge: (a: number, b: number) => a + b,
    });
  expect(
    await brokenLaws(
      shared(() => 5),
      { chunks: 3 },
    ),
  ).toEqual([]);
  const broken = await brokenLaws(
    shared(() => ++calls),
    { chunks: 3 },
  );
  expect(broken).toEqual([expect.stringMatching(/setup/)]);
});

describe("what would fail a run is told with its fix", () => {
  test.each([
    ["finish", { finish: () => new Float64Array(2) }, /finish gave a Float64Array: give \{ body, /],
    [
      "encode",
      { codec: { contentType: "text/plain", encode: () => "1", decode: () => 0 } },
      /encode must give a Uint8Array/,
    ],
  ])("by %s", async (_call, change, why) => {
    const [first] = await brokenLaws({ ...sound, ...change } as unknown as AnyCalculation, { chunks: 2 });
    expect(first).toMatch(why);
  });
});

test.skipIf(!hasPython)("a program in Python keeps the laws as the same in TypeScript does", async () => {
  const params = { terms: 420_001 };
  expect(await brokenLaws(piPython, params)).toEqual([]);
  expect(await brokenLaws(pi, params)).toEqual([]);
});
