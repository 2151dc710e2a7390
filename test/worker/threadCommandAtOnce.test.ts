import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { defineCommandCalculation, runSerially, z } from "../../src/calculations/leasefold.ts";
import type { FileAccess } from "../../src/engine/calculation/files.ts";
import type { FailedChunk } from "../../src/engine/model/errors.ts";
import type { PrintedLine } from "../../src/engine/model/printed.ts";
import type { TaskOptions, UserCode } from "../../src/engine/worker/threads/userCode.ts";
import { hasPython } from "../support/python.ts";

const file = join(import.meta.dirname, "..", "fixtures", "waits.calculation.ts");
const access: FileAccess = {
  list: async () => ({ files: [{ path: "in/a", bytes: 8, etag: "1" }] }),
  read: async (_file, from, to) => new TextEncoder().encode("abcdefgh".slice(from, to)),
};
const own = { threads: 1, memoryMb: 64, files: [file], access, onIdleCrash: () => expect.fail() };
const task: TaskOptions = { urgent: false, limitMs: 60_000 };
const retry = { attempt: 1, attemptsMax: 3, pausesS: [0], limitMs: 60_000 };
const pack = (does: string, at = -1) => ({
  calculation: "waits",
  params: { does, at, chunks: 8 },
  ...{ from: 0, to: 8, count: 8, retry },
});
const text = ({ bytes }: { readonly bytes: Uint8Array }): unknown =>
  JSON.parse(Buffer.from(bytes).toString());
const all = "0,1,2,3,4,5,6,7,";
const failedOf = (failed: readonly FailedChunk[] = []) =>
  failed.map(({ chunk, message }) => `${chunk}: ${message}`);

describe.skipIf(!hasPython)("a program that takes several calls at the same time", () => {
  let pool: UserCode;
  beforeAll(() => {
    pool = threadPool(own);
  });
  afterAll(() => pool.stop());

  test("computes as many chunks at once, and folds them in their order, whichever ends first", async () => {
    expect(text(await pool.compute(pack("together"), task))).toBe(all);
  });

  test("has the same bytes one after the other", async () => {
    expect(text(await pool.compute({ ...pack("sum"), atOnceMax: 1 }, task))).toBe(all);
  });

  test("answers each question to the chunk that asked it", async () => {
    expect(text(await pool.compute(pack("reads"), task))).toBe("abcdefgh");
  });

  test("loses the one chunk that throws, and no other is computed again", async () => {
    const lines: (PrintedLine | undefined)[] = [];
    const options = { ...task, onPrint: (line: PrintedLine | undefined) => void lines.push(line) };
    const gaps = { most: 1, last: true };
    const made = await pool.compute({ ...pack("raises", 3), gaps }, options);
    expect(text(made)).toBe("0,1,2,4,5,6,7,");
    expect(failedOf(made.failed)).toEqual([
      expect.stringMatching(/^3: chunk 3: KeyError: 'no such rate' \(waits\.py:\d+\)/),
    ]);
    const begins = lines.flatMap((line) => / (\d) begins$/.exec(line?.text ?? "")?.[1] ?? []);
    expect(begins.toSorted()).toEqual(["0", "1", "2", "3", "3", "3", "4", "5", "6", "7"]);
  });

  test.each([
    ["exits", /^5: chunk 5: .*it ended with code 3/],
    ["dies", /^5: chunk 5: .*it ended with code 4/],
  ])("that %s at a chunk loses that chunk alone: the others beside it are not blamed", async (does, why) => {
    const gaps = { most: 1, last: true };
    const made = await pool.compute({ ...pack(does, 5), gaps }, task);
    expect(failedOf(made.failed)).toEqual([expect.stringMatching(why)]);
    expect(text(made)).toBe("0,1,2,3,4,6,7,");
    expect(text(await pool.compute(pack("sum"), task))).toBe(all);
  });

  test("names the chunk that never ends once the others have", async () => {
    const hanging = pool.compute(pack("hangs", 2), { ...task, limitMs: 3_000 });
    await expect(hanging).rejects.toMatchObject({ code: "time-limit", message: /^chunk 2: / });
    expect(text(await pool.compute(pack("sum"), task))).toBe(all);
  });

  test.each(["0", "257", "1.5", '"8"'])("is refused where it greets with concurrency %s", async (many) => {
    const greeting = `{"leasefold":1,"calls":["plan"],"concurrency":${many}}`;
    const given = { name: "odd", summary: "", params: z.object({}), folder: import.meta.dirname, files: [] };
    const odd = defineCommandCalculation({ ...given, command: ["echo", greeting] });
    await expect(runSerially(odd, {})).rejects.toThrow("it greets with concurrency");
  });
});
