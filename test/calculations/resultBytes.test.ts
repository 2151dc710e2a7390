import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type AnyCalculation, type Codec, defineCalculation } from "../../src/engine/calculation/contract.ts";
import { runCompute, runFinish } from "../../src/engine/calculation/runJob.ts";
import { calculationLimits } from "../../src/engine/model/limits.ts";

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

/** A list in a list in a list. */
const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
};

describe("the JSON that finish returns", () => {
  const round: { self?: unknown } = {};
  round.self = round;
  test.each([
    ["a value that holds itself", round, /^the result cannot be JSON: Converting circular structure to JSON/],
    ["a value that is nested too deep", nested(100_000), /^the result cannot be JSON: Maximum call stack/],
  ])("%s fails with an error that names the result", async (_what, result, message) => {
    await expect(finish({ ...sum, finish: () => result as never })).rejects.toMatchObject({
      code: "not-json",
      message: expect.stringMatching(message),
    });
  });
});

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
    [
      "a DataView",
      { body: new DataView(new ArrayBuffer(2)) },
      /a body that is a DataView: give new Uint8Array/,
    ],
    ["a list as its body", { body: [1, 2] }, /a body that is an Array: give a Uint8Array/],
    ["no body", { body: undefined }, /a body that is undefined: give a Uint8Array/],
    [
      "what only looks like a Uint8Array",
      { body: Object.create(Uint8Array.prototype) },
      /a body that is a Uint8Array: give a/,
    ],
  ])("finish that returns %s fails with the fix", async (_what, result, why) => {
    await expect(finish(giving(result))).rejects.toMatchObject({
      code: "bad-result",
      message: expect.stringMatching(why),
    });
  });

  const bare = (result: unknown): AnyCalculation => ({ ...sum, finish: () => result as never });
  test.each([
    ["a Uint8Array", new Uint8Array(2), /finish gave a Uint8Array: give \{ body, contentType, extension \}/],
    ["a Float64Array", new Float64Array(2), /finish gave a Float64Array: give \{ body, /],
    ["an ArrayBuffer", new ArrayBuffer(2), /finish gave an ArrayBuffer: give \{ body, /],
    ["a content type alone", { contentType: "text/csv", extension: "csv" }, /a body that is undefined: give/],
    [
      "JSON with a Float64Array in it",
      { rows: [{ sums: new Float64Array(2) }] },
      /the result cannot be JSON: rows\[0\]\.sums is a Float64Array, which would become an object of bytes/,
    ],
    [
      "JSON with a Buffer in it",
      { hash: Buffer.from("a") },
      /hash is a Buffer, which would become an object/,
    ],
  ])("finish that returns %s fails with the fix", async (_what, result, why) => {
    await expect(finish(bare(result))).rejects.toThrow(why);
  });

  test("JSON with a field of the name body or contentType is a result", async () => {
    for (const json of [
      { body: "a", rows: 1 },
      { contentType: "text/csv", rows: 1 },
    ])
      expect(JSON.parse(Buffer.from((await finish(bare(json))).body).toString())).toEqual(json);
  });

  test("a body of resultBytesMax is a result, and one byte more fails with the limit", async () => {
    const { resultBytesMax } = calculationLimits;
    const most = new Uint8Array(resultBytesMax);
    expect((await finish(giving({ body: most }))).body).toBe(most);
    const over = giving({ body: new Uint8Array(resultBytesMax + 1) });
    const why = "the result has 536870913 bytes; the limit is 536870912 (resultBytesMax)";
    await expect(finish(over)).rejects.toMatchObject({ code: "result-too-large", message: why });
  });

  test("a body that is a small part of a large buffer leaves the rest of it behind", async () => {
    const large = new Uint8Array(1024 * 1024).fill(7);
    const { body } = await finish(giving({ body: large.subarray(3, 5) }));
    expect([body, body.buffer.byteLength]).toEqual([new Uint8Array([7, 7]), 2]);
    const shared = new Uint8Array(new SharedArrayBuffer(2));
    expect((await finish(giving({ body: shared }))).body.buffer).toBeInstanceOf(ArrayBuffer);
  });

  test("JSON that is longer than a text can be fails in words", async () => {
    const long = "x".repeat(2 ** 28);
    await expect(finish(bare([long, long]))).rejects.toThrow(
      "the result cannot be JSON: its text has more than 536870888 characters, the most that JavaScript allows",
    );
  });

  test("the body, content type and extension of finish are the result, and no other field", async () => {
    expect(await finish(giving({ more: 1 }))).toEqual(right);
  });
});

describe("the bytes that encode returns", () => {
  test.each([
    ["a Float64Array", () => new Float64Array([1, 2]), /gave a Float64Array: give new Uint8Array/],
    ["an ArrayBuffer", () => new ArrayBuffer(8), /gave an ArrayBuffer: give new Uint8Array/],
    ["a Float32Array", () => new Float32Array([1, 2]), /gave a Float32Array: give new Uint8Array/],
    ["a Uint8ClampedArray", () => new Uint8ClampedArray(2), /gave a Uint8ClampedArray: give new Uint8Array/],
    ["what only looks like a Uint8Array", () => Object.create(Uint8Array.prototype), /gave a Uint8Array$/],
    ["text", () => "1", /gave a string$/],
    ["nothing", () => undefined, /gave undefined$/],
  ])("encode that returns %s fails with the fix", async (_what, encode, why) => {
    const job = { params: {}, from: 0, to: 1, count: 3 };
    await expect(runCompute(encoding(encode), job)).rejects.toMatchObject({
      code: "not-bytes",
      message: expect.stringMatching(why),
    });
  });
});
