import { describe, expect, test } from "vitest";
import * as z from "zod";
import { runSerially } from "../../src/calculations/leasefold.ts";
import {
  type ConcatDefinition,
  defineConcatCalculation,
  keepingSaved,
} from "../../src/engine/calculation/concat.ts";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { filesOver, noAccess, noFiles } from "../../src/engine/calculation/files.ts";
import { runCompute, runFinish, runFold } from "../../src/engine/calculation/runJob.ts";
import { coverOf } from "../../src/engine/model/foldTree.ts";
import { powerFrom } from "../../src/engine/model/packs.ts";

const textOf = (index: number): string => `${"row ".repeat(index % 3)}${index}\n`;
const chunks = 13;
const expected = `head\n${Array.from({ length: chunks }, (_, index) => textOf(index)).join("")}`;
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

const define = (
  compute: ConcatDefinition<object, unknown>["compute"],
  count = chunks,
): AnyCalculation & { readonly params: z.ZodType<object> } =>
  defineConcatCalculation<object, unknown>({
    name: "rows",
    summary: "",
    params: z.object({}),
    plan: () => count,
    compute,
    output: { contentType: "text/plain", extension: "txt", head: "head\n" },
  });

/** Computes packs of this size, folds each two neighbors, and gives the result; counts the files. */
async function inPacks(calculation: AnyCalculation, size: number, count = chunks) {
  const { files, whole } = keepingSaved(calculation, noFiles);
  const parts = [];
  for (let from = 0; from < count; from += size) {
    const pack = { from, to: Math.min(from + size, count), count };
    const bytes = await runCompute(calculation, { params: {}, ...pack }, files);
    parts.push({ ...coverOf(pack, count), bytes });
  }
  const to = powerFrom(count);
  const bytes = await runFold(calculation, {}, { from: 0, to, parts });
  const made = await runFinish(calculation, {
    ...{ params: {}, parts: [{ from: 0, to, bytes }], folded: count, count },
  });
  return { body: whole(made).body, joins: made.joins ?? [] };
}

describe("a result that is what the chunks give, one behind the other", () => {
  test.each([1, 2, 3, 4, 5, 8, 16])("is the same in packs of %i chunks", async (size) => {
    const { body, joins } = await inPacks(
      define(({ index }) => textOf(index)),
      size,
    );
    expect(text(body)).toBe(expected);
    expect(joins).toHaveLength(Math.ceil(chunks / size));
  });

  test("may be bytes in a memory that the next chunk fills again", async () => {
    const memory = new Uint8Array(2);
    const pairs = define(({ index }) => memory.fill(65 + index));
    const { body } = await runSerially(pairs, {});
    expect(text(body)).toBe(`head\n${"ABCDEFGHIJKLM".replace(/./g, "$&$&")}`);
    expect(body).toEqual((await inPacks(pairs, 4)).body);
  });

  test("has nothing of chunks that give nothing, and is its head alone where all do", async () => {
    const odd = define(({ index }) => (index % 2 === 0 ? "" : `${index},`));
    expect(text((await inPacks(odd, 4)).body)).toBe("head\n1,3,5,7,9,11,");
    const none = await inPacks(
      define(() => ""),
      4,
    );
    expect([text(none.body), none.joins]).toEqual(["head\n", []]);
    expect(
      text(
        (
          await runSerially(
            define(() => "", 0),
            {},
          )
        ).body,
      ),
    ).toBe("head\n");
  });

  test("leaves out what a chunk that failed would have given", async () => {
    const broken = define(({ index }) => {
      if (index === 1) throw new Error("no");
      return textOf(index);
    }, 4);
    const { files, whole } = keepingSaved(broken, noFiles);
    const pack = { params: {}, from: 0, to: 4, count: 4, gaps: { most: 2, last: true } };
    const parts = [{ from: 0, to: 4, bytes: await runCompute(broken, pack, files) }];
    const made = await runFinish(broken, { params: {}, parts, folded: 3, count: 4 });
    expect(text(whole(made).body)).toBe(`head\n${[0, 2, 3].map(textOf).join("")}`);
  });
});

test("files have at most 16 MB, however large a chunk is, and a pack closes one before the next chunk would overfill it", async () => {
  const mb = 1024 * 1024;
  const sizes = [5 * mb, 10 * mb, 2 * mb, 40 * mb, 1];
  const large = define(({ index }) => new Uint8Array(sizes[index] ?? 0).fill(index), sizes.length);
  const saved: number[] = [];
  const save = async (_name: string, body: Uint8Array): Promise<void> => void saved.push(body.length);
  const pack = { params: {}, from: 0, to: 5, count: 5, coverTo: 8 };
  await runCompute(large, pack, filesOver({ ...noAccess, save }));
  expect(saved.map((bytes) => bytes / mb)).toEqual([15, 2, 16, 16, 8, 1 / mb]);
  const { body } = await inPacks(large, 8, 5);
  expect(body.length).toBe(5 + sizes.reduce((sum, bytes) => sum + bytes, 0));
  expect([body[5], body[5 + 15 * mb], body[5 + 57 * mb - 1], body.at(-1)]).toEqual([0, 2, 3, 4]);
});

test.each([
  [{ rows: 1 }, "object"],
  [["a"], "a list"],
  [undefined, "undefined"],
  [new Uint16Array(3), "object"],
])("a chunk that gives %j is refused by its number", async (made, what) => {
  const wrong = define(({ index }) => (index === 2 ? (made as never) : "x"));
  const message = `chunk 2: compute gave ${what}; give a Uint8Array or text`;
  await expect(runSerially(wrong, {})).rejects.toMatchObject({ code: "not-bytes", message });
});
