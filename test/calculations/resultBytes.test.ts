import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type AnyCalculation, type Codec, defineCalculation } from "../../src/calculations/contract.ts";
import { brokenLaws } from "../../src/calculations/laws/checkLaws.ts";
import { runCompute, runFinish } from "../../src/calculations/runJob.ts";

const sum = defineCalculation<object, unknown, number>({
  name: "sum",
  summary: "",
  params: z.object({}),
  plan: () => 3,
  compute: ({ index }) => index,
  merge: (a, b) => a + b,
  zero: () => 0,
});
const right = { body: new Uint8Array(8), contentType: "text/csv", extension: "csv" };
const giving = (result: object): AnyCalculation => ({
  ...sum,
  finish: () => ({ ...right, ...result }) as never,
});
const encoding = (encode: () => unknown): AnyCalculation => ({
  ...sum,
  codec: { contentType: "application/octet-stream", encode, decode: () => 0 } as unknown as Codec<number>,
});
const finish = (calculation: AnyCalculation) =>
  runFinish(calculation, { params: {}, parts: [], folded: 0, count: 0 });

describe("the bytes that finish returns", () => {
  test.each([
    ["no content type", { contentType: undefined }, /finish gave the contentType undefined/],
    [
      "a content type with a line end",
      { contentType: "text/csv\r\nx: y" },
      /contentType "text\/csv\\r\\nx: y": a content type is/,
    ],
    ["no extension", { extension: undefined }, /finish gave the extension undefined/],
    [
      "an extension with a path",
      { extension: "/../../x" },
      /extension "\/\.\.\/\.\.\/x": an extension has 1 to 16/,
    ],
    ["a Float64Array", { body: new Float64Array(2) }, /a body that is a Float64Array: give new Uint8Array/],
    ["an ArrayBuffer", { body: new ArrayBuffer(2) }, /a body that is an ArrayBuffer: give new Uint8Array/],
  ])("finish that returns %s fails with the fix, also in a check", async (_what, result, why) => {
    await expect(finish(giving(result))).rejects.toMatchObject({
      code: "bad-result",
      message: expect.stringMatching(why),
    });
    expect(await brokenLaws(giving(result), {}, { chunks: 2, runs: 2 })).toEqual([
      expect.stringMatching(why),
    ]);
  });

  test("the body, content type and extension of finish are the result, and no other field", async () => {
    expect(await finish(giving({ more: 1 }))).toEqual(right);
  });
});

describe("the bytes that encode returns", () => {
  test.each([
    ["a Float64Array", () => new Float64Array([1, 2]), /gave a Float64Array: give new Uint8Array/],
    ["an ArrayBuffer", () => new ArrayBuffer(8), /gave an ArrayBuffer: give new Uint8Array/],
    ["text", () => "1", /gave a string$/],
    ["nothing", () => undefined, /gave undefined$/],
  ])("encode that returns %s fails with the fix, also in a check", async (_what, encode, why) => {
    const job = { params: {}, from: 0, to: 1, count: 3 };
    await expect(runCompute(encoding(encode), job)).rejects.toMatchObject({
      code: "not-bytes",
      message: expect.stringMatching(why),
    });
    const [first] = await brokenLaws(encoding(encode), {}, { chunks: 2, runs: 2 });
    expect(first).toContain("encode must give a Uint8Array");
  });
});
