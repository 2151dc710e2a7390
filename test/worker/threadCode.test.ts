import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import { OtherCodeError } from "../../src/engine/worker/attempt/rightCode.ts";

let folder: string;
let file: string;
const write = (gives: number): Promise<void> =>
  writeFile(
    file,
    `import { defineCalculation, z } from "leasefold";
    export default defineCalculation({ name: "gives", summary: "", params: z.object({}),
      plan: () => 1, compute: () => ${gives}, merge: (a, b) => a + b, zero: () => 0 });`,
  );

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
  file = join(folder, "gives.mjs");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a thread that starts after the file was changed computes nothing for a process that loaded it before", async () => {
  await write(1);
  const { versionOf } = await loadCalculations([file]);
  const pool = () =>
    threadPool({
      ...{ threads: 1, memoryMb: 64, files: [file], access: noAccess, versionOf },
      onIdleCrash: () => {},
    });
  const job = { calculation: "gives", params: {}, from: 0, to: 1, count: 1 };
  const task = { urgent: false, limitMs: 20_000 };
  const before = pool();
  const after = pool();
  try {
    expect(Buffer.from((await before.compute(job, task)).bytes).toString()).toBe("1");
    await write(10);
    // Its threads have the file as it was.
    expect(Buffer.from((await before.compute(job, task)).bytes).toString()).toBe("1");
    const refused = await after.compute(job, task).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OtherCodeError);
    expect(refused).toMatchObject({
      needed: versionOf("gives"),
      theirs: expect.stringMatching(/^gives@sha256:/),
    });
  } finally {
    await Promise.all([before.stop(), after.stop()]);
  }
});
