import { afterAll, expect, test } from "vitest";
import { threadPool } from "../../../src/app/threadPool.ts";
import { type FileAccess, noAccess } from "../../../src/engine/calculation/files.ts";
import { parseParams } from "../../../src/engine/calculation/params.ts";
import type { LeasefoldError } from "../../../src/engine/model/errors.ts";
import type { TaskOptions } from "../../../src/engine/worker/threads/userCode.ts";
import { repeated } from "../../../test/support/generatedFiles.ts";
import { syntheticFiles } from "../../../test/support/syntheticFiles.ts";
import { threadEntry } from "../app/threadEntry.ts";
import { sql } from "../sql.ts";

const task: TaskOptions = { urgent: false, limitMs: 20_000 };
let current: FileAccess = noAccess;
const access: FileAccess = {
  list: (...args) => current.list(...args),
  read: (...args) => current.read(...args),
};
const onIdleCrash = (error: unknown) => expect.fail(`a thread crashed: ${error}`);
const pool = threadPool({ threads: 1, memoryMb: 128, files: [], access, onIdleCrash }, threadEntry);
afterAll(() => pool.stop());

const mb = 1024 * 1024;
const bytesAt = repeated("key,text,value\n", "some key,a text without quotes,12.5\n");
const query = "select key, sum(value) from data group by key";
const plan = { calculation: "sql", params: parseParams(sql, { source: "data/", query }) };

test("a plan reads a small share of a large file without quotes, and holds little of it", async () => {
  const large = { path: "data/large.csv", bytes: 2 ** 30, bytesAt };
  const { access: synthetic, use } = syntheticFiles([large]);
  current = synthetic;
  const planned = await pool.plan(plan, async () => {}, { ...task, limitMs: 60_000 });
  expect(planned).toEqual({ chunks: 16, list: true, byInput: true });
  expect(use.bytesAtOnce).toBeLessThanOrEqual(32 * mb);
  expect(use.bytes).toBeLessThan(0.08 * large.bytes);
});

test("a plan ends at its time limit, however long a read takes", async () => {
  const files = [{ path: "data/large.csv", bytes: 2 ** 29, bytesAt }];
  current = syntheticFiles(files, () => new Promise(() => {})).access;
  const ended = pool.plan(plan, async () => {}, { ...task, limitMs: 2_000 });
  const error = await ended.then(
    () => undefined,
    (one: LeasefoldError) => one,
  );
  expect(error).toMatchObject({ code: "time-limit" });
});
