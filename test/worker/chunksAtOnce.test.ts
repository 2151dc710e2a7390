import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import { ThreadEndedError } from "../../src/engine/model/chunkErrors.ts";
import type { PrintedLine } from "../../src/engine/model/printed.ts";
import type { UserCode } from "../../src/engine/worker/threads/userCode.ts";

/** Several chunks of a pack at the same time in one real thread. */

const file = join(import.meta.dirname, "..", "fixtures", "waiting.calculation.ts");
const task = { urgent: false, limitMs: 60_000 };
let pool: UserCode;
let defaults: object;
beforeAll(async () => {
  const known = await loadCalculations([file]);
  defaults = known.parseParams(known.get("waiting"), {}) as object;
  pool = threadPool({ threads: 1, memoryMb: 128, files: [file], access: noAccess, onIdleCrash: () => {} });
});
afterAll(() => pool.stop());

const pack = (params: object, to = 96) => ({
  ...{ calculation: "waiting", params: { ...defaults, ...params } },
  ...{ from: 0, to, count: to },
});
const partOf = ({ bytes }: { readonly bytes: Uint8Array }) => Buffer.from(bytes).toString();

describe("chunks that wait", () => {
  test("are computed at the same time, and folded in their order", async () => {
    const alone = await pool.compute({ ...pack({ waitMs: 2 }), atOnceMax: 1 }, task);
    const made = await pool.compute(pack({ waitMs: 400 }), task);
    expect(partOf(made)).toBe(partOf(alone));
    // One after the other they wait for 29 s.
    expect(made.ms).toBeLessThan(29_000 / 4);
    expect(made.busyMs).toBeLessThan(made.ms);
  });

  test("print under their own index", async () => {
    const lines: PrintedLine[] = [];
    const onPrint = (line: PrintedLine | undefined): void => void (line && lines.push(line));
    await pool.compute(pack({ waitMs: 10 }, 32), { ...task, onPrint });
    expect(lines).toHaveLength(64);
    for (const { chunk, text } of lines) expect(text).toMatch(new RegExp(`^chunk ${chunk} `));
  });

  test("are named where one throws", async () => {
    const computed = pool.compute(pack({ waitMs: 10, throws: 40 }), task);
    await expect(computed).rejects.toThrow(/^chunk 40: it was told to throw/);
  });

  test.each(["hangs", "loops"])("are named where one %s until the time limit", async (how) => {
    const computed = pool.compute(pack({ waitMs: 10, [how]: 40 }), { ...task, limitMs: 1_000 });
    const error = await computed.catch((failed: unknown) => failed);
    expect(error).toBeInstanceOf(ThreadEndedError);
    expect(error).toMatchObject({ code: "time-limit", chunk: 40 });
  });
});
