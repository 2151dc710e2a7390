import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { defineCalculation, runSerially, z } from "../../src/calculations/leasefold.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import type { UserCode } from "../../src/engine/worker/threads/userCode.ts";

let folder: string;
let pool: UserCode;

/** A chunk's partial is how often `setup` was called in its thread, with what it was given. */
const source = `import { defineCalculation, z } from "leasefold";
  let calls = 0;
  export default defineCalculation({ name: "shared", summary: "", params: z.object({ by: z.number() }),
    plan: () => 4,
    setup({ params: { by } }) { calls += 1; if (by < 0) throw new Error("no table below 0"); return { calls, by }; },
    compute: ({ index, shared }) => "c" + index + ":" + shared.calls + "*" + shared.by,
    merge: (a, b, params, shared) => a + "+" + shared.calls + b, zero: () => "",
    finish: (part, { shared }) => part + "=" + shared.calls });`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
  const file = join(folder, "shared.mjs");
  await writeFile(file, source);
  const onIdleCrash = () => expect.fail();
  pool = threadPool({ threads: 1, memoryMb: 64, files: [file], access: noAccess, onIdleCrash });
});
afterAll(async () => {
  await pool?.stop();
  await rm(folder, { recursive: true, force: true });
});

const compute = async (run: string | undefined, from: number, by = 2): Promise<string> => {
  const task = { calculation: "shared", params: { by }, from, to: from + 2, count: 4 };
  const { bytes } = await pool.compute(task, { urgent: false, limitMs: 20_000, run });
  return JSON.parse(Buffer.from(bytes).toString());
};

test("setup is called once for each run in a thread, and compute, merge and finish get what it gave", async () => {
  expect(await compute("one", 0)).toBe("c0:1*2+1c1:1*2");
  expect(await compute("one", 2)).toBe("c2:1*2+1c3:1*2");
  expect(await compute("two", 0, 7)).toBe("c0:2*7+2c1:2*7");
  // Two runs that take turns set up once each; a third one takes the place of the one that waited longest.
  expect(await compute("one", 0)).toBe("c0:1*2+1c1:1*2");
  expect(await compute("three", 0)).toBe("c0:3*2+3c1:3*2");
  expect(await compute("one", 0)).toBe("c0:1*2+1c1:1*2");
  expect(await compute("two", 0, 7)).toBe("c0:4*7+4c1:4*7");
  const params = { by: 2 };
  const parts = [{ from: 0, to: 4, bytes: Buffer.from('"all"') }];
  const finished = { calculation: "shared", params, parts, folded: 4, count: 4 };
  const { body } = await pool.finish(finished, { urgent: true, limitMs: 20_000, run: "two" });
  expect(Buffer.from(body).toString()).toBe('"all=4"\n');
});

test("a setup that throws fails its attempt by name, and the next attempt calls it again", async () => {
  await expect(compute("below", 0, -1)).rejects.toThrow(/^setup: no table below 0/);
  expect(await compute("below", 0, 3)).toMatch(/^c0:\d\*3/);
});

test("a serial run calls setup", async () => {
  const calculation = defineCalculation({
    name: "own",
    summary: "",
    params: z.object({}),
    plan: () => 3,
    setup: () => ({ value: 5 }),
    compute: ({ index, shared: { value } }) => index * value,
    merge: (a: number, b: number) => a + b,
    zero: () => 0,
  });
  const { body } = await runSerially(calculation, {});
  expect(Buffer.from(body).toString()).toBe("15\n");
});
