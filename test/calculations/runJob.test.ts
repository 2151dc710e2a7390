import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type AnyCalculation, defineCalculation } from "../../src/engine/calculation/contract.ts";
import { noFiles } from "../../src/engine/calculation/files.ts";
import type { CoveringPart } from "../../src/engine/calculation/foldParts.ts";
import type { GapsAllowed } from "../../src/engine/calculation/gaps.ts";
import { runCompute, runFinish, runFold, runPlan } from "../../src/engine/calculation/runJob.ts";
import { CalculationError, type FailedChunk } from "../../src/engine/model/errors.ts";
import { calculationLimits } from "../../src/engine/model/limits.ts";
import { chunkParts, computePart, foldOfChunks, foldPart } from "../support/coveringParts.ts";
import { treeText } from "../support/plainTree.ts";

/** Joins chunk indexes into text, so that order and completeness show. */
const text = defineCalculation<object, unknown, string>({
  name: "text",
  summary: "",
  params: z.object({}),
  plan: () => 3,
  compute: ({ index, input }) => `${index}${input ?? ""}`,
  merge: (a, b) => `${a},${b}`,
  zero: () => "none",
});
const but = (changed: Partial<AnyCalculation>): AnyCalculation => ({ ...text, ...changed });
const job = { params: {}, from: 2, to: 5, count: 9 };
const read = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const encode = (value: string) => new TextEncoder().encode(JSON.stringify(value));

describe("a pack", () => {
  test("a pack is computed in index order, each chunk with its input", async () => {
    const inputs = ["a", "b", "c", "d"];
    expect(read(await runCompute(text, { ...job, from: 4, to: 8, inputs }))).toBe('"4a,5b,6c,7d"');
  });

  test("a pack that is no span keeps its spans apart, and they join with those of its neighbors", async () => {
    const whole = but({ merge: (a: string, b: string) => `(${a} ${b})`, finish: (part: string) => part });
    const packs = [0, 3, 5, 11].map((from, at, all) => ({ from, to: all[at + 1] ?? 13 }));
    const parts = await Promise.all(
      packs.map((pack) => computePart(whole, { params: {}, ...pack, count: 13 })),
    );
    expect(parts.map(({ from, to }) => [from, to])).toEqual([
      [0, 3],
      [3, 5],
      [5, 11],
      [11, 16],
    ]);
    const [first, second, ...last] = parts as [CoveringPart, CoveringPart, ...CoveringPart[]];
    const node = await foldPart(whole, {}, [first, second]);
    const bodies = [parts, [node, ...last]].map(
      async (some) => (await runFinish(whole, { params: {}, parts: some, folded: 13, count: 13 })).body,
    );
    for (const body of await Promise.all(bodies))
      expect(JSON.parse(read(body))).toBe(treeText(13, () => true));
  });

  describe("where chunks may fail", () => {
    const bad = new Set([3, 6]);
    const flaky = but({
      compute({ index }) {
        if (bad.has(index)) throw new Error("boom");
        return index === 4 ? Number.NaN : `${index}`;
      },
    });
    const pack = { params: {}, from: 0, to: 8, count: 8 };
    const failedOf = async (calculation: AnyCalculation, gaps: GapsAllowed, to = 8) => {
      let failed: readonly FailedChunk[] = [];
      const onFailed = (chunks: readonly FailedChunk[]): void => {
        failed = chunks;
      };
      const bytes = await runCompute(calculation, { ...pack, to, gaps }, noFiles, { onFailed });
      return { text: read(bytes), failed: failed.map(({ chunk, code }) => `${chunk} ${code}`) };
    };

    test("the last attempt folds the others by the tree, also without chunks that cannot be stored", async () => {
      const shaped = {
        ...flaky,
        merge: (a: unknown, b: unknown) => ([a, b].includes(Number.NaN) ? Number.NaN : `(${a} ${b})`),
      };
      const { text: got, failed } = await failedOf(shaped, { most: 3, last: true });
      expect(JSON.parse(got)).toBe(treeText(8, (chunk) => ![3, 4, 6].includes(chunk)));
      expect(failed).toEqual(["3 calculation-threw", "4 not-json", "6 calculation-threw"]);
    });

    test("any other attempt ends with the first error that may pass", async () => {
      await expect(failedOf(flaky, { most: 8, last: false })).rejects.toThrow("chunk 3: boom");
      const unfit = but({
        compute({ index }) {
          if (index === 4) throw new CalculationError("file-missing", "s4.csv is missing");
          return `${index}`;
        },
      });
      const { failed } = await failedOf(unfit, { most: 1, last: false });
      expect(failed).toEqual(["4 file-missing"]);
    });

    test("more of them than the run tolerates, or all of them, fail the pack by the first", async () => {
      await expect(failedOf(flaky, { most: 1, last: true })).rejects.toThrow("chunk 3: boom");
      const all = but({ compute: ({ index }) => Promise.reject(new Error(`no ${index}`)) });
      await expect(failedOf(all, { most: 100, last: true })).rejects.toThrow("chunk 0: no 0");
    });

    test("of too many the first that may pass is named, as another send may have fewer", async () => {
      const both = but({
        compute({ index }) {
          if (index === 1) throw new CalculationError("file-missing", "s1.csv is missing");
          if (index >= 3) throw new Error(`no ${index}`);
          return `${index}`;
        },
      });
      await expect(failedOf(both, { most: 2, last: true })).rejects.toThrow("chunk 3: no 3");
    });

    test("of many the later ones keep their code and no message", async () => {
      let failed: readonly FailedChunk[] = [];
      const onFailed = (chunks: readonly FailedChunk[]): void => {
        failed = chunks;
      };
      const many = but({
        compute({ index }) {
          if (index === 0) return "0";
          throw index % 2 === 0 ? new CalculationError("file-denied", "no") : new Error(`no ${index}`);
        },
      });
      const gaps = { most: 50, last: true };
      await runCompute(many, { ...pack, to: 50, count: 50, gaps }, noFiles, { onFailed });
      expect(failed).toHaveLength(49);
      expect(failed[18]).toMatchObject({ chunk: 19, message: expect.stringMatching(/^chunk 19: no 19/) });
      expect(failed.slice(-2)).toEqual([
        { chunk: 48, code: "file-denied", message: "" },
        { chunk: 49, code: "calculation-threw", message: "" },
      ]);
    });

    test("a merge that throws fails the pack, for it is the fault of no chunk", async () => {
      const broken = but({ merge: () => Promise.reject(new Error("no merge")) });
      await expect(failedOf(broken, { most: 8, last: true })).rejects.toThrow("merge: no merge");
    });
  });

  test("bytes of another range are refused", async () => {
    const { bytes } = await computePart(text, job);
    for (const wrong of [bytes.subarray(1), bytes.subarray(0, 5), Buffer.concat([bytes, bytes]), encode("a")])
      await expect(runFold(text, {}, { ...job, parts: [{ ...job, bytes: wrong }] })).rejects.toMatchObject({
        code: "bad-partial",
      });
  });

  test.each([
    [
      "a chunk that throws",
      but({ compute: () => Promise.reject(new Error("no")) }),
      /^chunk 2: no \(runJob\.test\.ts:\d+\)$/,
    ],
    [
      "a merge that throws",
      but({
        merge: () => {
          throw new Error("no");
        },
      }),
      /^merge: no \(runJob/,
    ],
    [
      "NaN",
      but({ compute: ({ index }) => (index === 3 ? Number.NaN : index), merge: (a, b) => a + b }),
      /^chunk 3: the partial cannot be JSON: it is NaN$/,
    ],
    [
      "NaN that only a merge makes",
      but({ compute: () => 1, merge: () => Number.NaN }),
      /^chunks 2–4: the partial cannot be JSON: it is NaN$/,
    ],
    [
      "chunks that are too much together",
      but({
        compute: () => "x".repeat(calculationLimits.partialBytesMax / 2),
        merge: (a, b) => `${a}${b}`,
      }),
      /^chunks 2–4: the partial has 33554434 bytes; the limit is 33554432/,
    ],
    [
      "a codec that throws",
      but({
        codec: {
          contentType: "x",
          encode: (part) => {
            if (part.includes("4")) throw new Error("no");
            return new Uint8Array();
          },
          decode: String,
        },
      }),
      /^chunk 4: encode: no \(runJob/,
    ],
    [
      "a codec that gives no bytes",
      but({ codec: { contentType: "x", encode: () => null as never, decode: String } }),
      /^chunk 2: encode must give a Uint8Array and gave null$/,
    ],
    [
      "a file that cannot be read",
      but({ compute: ({ files }) => files.list("data/")[Symbol.asyncIterator]().next() }),
      /^chunk 2: there are no files to read here$/,
    ],
    ["a BigInt", but({ compute: () => 1n, merge: (a) => a }), /JSON/],
    [
      "a Map",
      but({ compute: () => ({ counts: new Map([["a", 1]]) }), merge: (a) => a }),
      /^chunk 2: the partial cannot be JSON: counts is a Map, which would become {}; write \[\.\.\.map\]$/,
    ],
    [
      "a Promise within",
      but({ compute: () => [Promise.resolve(1)], merge: (a) => a }),
      /\[0\] is a Promise, which would become {}/,
    ],
    [
      "a Date",
      but({ compute: () => new Date(0), merge: (a) => a }),
      /it is a Date, which would become "1970/,
    ],
    ["nothing", but({ compute: () => undefined, merge: (a) => a }), /undefined, which is not JSON/],
    [
      "too much",
      but({ compute: () => "x".repeat(calculationLimits.partialBytesMax), merge: (a) => a }),
      /the limit is/,
    ],
  ])("fails clearly on %s", async (_what, calculation, why) => {
    await expect(runCompute(calculation, job)).rejects.toThrow(why);
  });

  test("an error of a pack of one chunk names the chunk without computing it again", async () => {
    let computed = 0;
    const calculation = but({ compute: () => [++computed, Number.NaN] });
    const one = runCompute(calculation, { ...job, to: 3 });
    await expect(one).rejects.toThrow("chunk 2: the partial cannot be JSON: 1 is NaN");
    expect(computed).toBe(1);
  });

  test("an error of a pack names its range if the search for the chunk takes too long or meets another error", async () => {
    let computed = 0;
    const calculation = but({
      compute: ({ index }) => {
        computed += 1;
        if (computed > 4) throw new Error("another time");
        return index === 4 ? Number.NaN : index;
      },
      merge: (a, b) => a + b,
    });
    const range = "chunks 2–4: the partial cannot be JSON: it is NaN";
    let asked = 0;
    await expect(runCompute(calculation, job, noFiles, { searchOn: () => asked++ < 1 })).rejects.toThrow(
      range,
    );
    expect(computed).toBe(4);
    computed = 0;
    await expect(runCompute(calculation, job)).rejects.toThrow(range);
    expect(computed).toBe(5);
  });
});

describe("a plan", () => {
  const inputs = (count: number) => Array.from({ length: count }, (_, index) => index);

  test("a plan that is a count passes on no inputs", async () => {
    expect(await runPlan(text, {}, () => Promise.reject(new Error("not called")))).toEqual({
      chunks: 3,
      list: false,
    });
  });

  test("a plan that is a list passes on its inputs in batches, in order, one at a time", async () => {
    const seen: number[] = [];
    let open = 0;
    const planned = await runPlan(but({ plan: () => inputs(12_000) }), {}, async (batch) => {
      expect(++open).toBe(1);
      await Promise.resolve();
      open -= 1;
      expect(batch.length).toBeLessThanOrEqual(5_000);
      seen.push(...(batch as number[]));
    });
    expect(planned).toEqual({ chunks: 12_000, list: true });
    expect(seen).toEqual(inputs(12_000));
  });

  test.each([
    ["a negative count", -1, /whole number/],
    ["half a chunk", 1.5, /whole number/],
    ["too many chunks", calculationLimits.chunksMax + 1, /the limit is/],
    ["neither count nor list", { many: 3 }, /neither/],
    ["a text, whose characters would be the inputs", "100", /neither/],
    ["an input that is too large", ["x".repeat(calculationLimits.inputBytesMax)], /input of chunk 0/],
    ["an input that is not JSON", [() => 1], /not JSON/],
  ])("with %s is refused", async (_what, plan, why) => {
    await expect(runPlan(but({ plan: () => plan as number }), {}, async () => {})).rejects.toThrow(why);
  });

  test("a plan of large inputs passes them on in batches of a few megabytes", async () => {
    const sizes: number[] = [];
    const plan = () => Array.from({ length: 200 }, () => "x".repeat(60_000));
    await runPlan(but({ plan }), {}, async (batch) => void sizes.push(JSON.stringify(batch).length));
    expect(sizes).toHaveLength(3);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(calculationLimits.batchBytesMax);
  });

  test("a plan that throws half-way fails", async () => {
    const calculation = but({
      *plan() {
        yield 1;
        throw new Error("half-way");
      },
    });
    await expect(runPlan(calculation, {}, async () => {})).rejects.toThrow("plan: half-way");
  });
});

describe("a fold", () => {
  test("a fold keeps the order of its partials; that of none has no bytes, and its result is zero", async () => {
    expect(read(await runFold(text, {}, foldOfChunks(["a", "b", "c"].map(encode))))).toBe('"a,b,c"');
    expect(await runFold(text, {}, foldOfChunks([]))).toHaveLength(0);
    const { body } = await runFinish(text, { params: {}, parts: [], folded: 0, count: 3 });
    expect(read(body)).toBe('"none"\n');
  });

  test("a fold of bytes that cannot be decoded fails with the code's error", async () => {
    await expect(runFold(text, {}, foldOfChunks([Buffer.from("{")]))).rejects.toThrow(/^decode: /);
  });

  test("the result is JSON of the partial, or what finish makes of it", async () => {
    const finished = await runFinish(text, {
      params: {},
      parts: chunkParts([encode("a")]),
      folded: 1,
      count: 1,
    });
    expect({ ...finished, body: read(finished.body) }).toEqual({
      body: '"a"\n',
      contentType: "application/json",
      extension: "json",
    });
    const counted = but({ finish: (() => ({ counts: new Map([["a", 1]]) })) as never });
    await expect(
      runFinish(counted, { params: {}, parts: chunkParts([encode("a")]), folded: 1, count: 1 }),
    ).rejects.toThrow("the result cannot be JSON: counts is a Map, which would become {}; write [...map]");
    const dated = but({ finish: (() => ({ at: new Date(0), seen: new Set() })) as never });
    await expect(
      runFinish(dated, { params: {}, parts: chunkParts([encode("a")]), folded: 1, count: 1 }),
    ).rejects.toThrow("seen is a Set, which would become {}");
    const textual = but({ finish: () => ({ body: "a", contentType: "text/plain", extension: "txt" }) });
    await expect(
      runFinish(textual, { params: {}, parts: chunkParts([encode("a")]), folded: 1, count: 1 }),
    ).rejects.toThrow("finish gave a body of text: give new TextEncoder().encode(text)");
    const csv = but({
      finish: (part: string) => ({
        body: Buffer.from(`${part};`),
        contentType: "text/csv",
        extension: "csv",
      }),
    });
    const other = await runFinish(csv, { params: {}, parts: chunkParts([encode("a")]), folded: 1, count: 1 });
    expect({ ...other, body: read(other.body) }).toEqual({
      body: "a;",
      contentType: "text/csv",
      extension: "csv",
    });
  });
});
