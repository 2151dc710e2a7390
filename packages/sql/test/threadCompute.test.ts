import { afterAll, expect, test } from "vitest";
import { threadPool } from "../../../src/app/threadPool.ts";
import type { FileAccess } from "../../../src/engine/calculation/files.ts";
import { parseParams } from "../../../src/engine/calculation/params.ts";
import { threadEntry } from "../app/threadEntry.ts";
import { sql } from "../sql.ts";

const bytes = Buffer.from("a\n1\n2\n");
const file = { path: "data/a.csv", bytes: bytes.length, etag: "1" };
const access: FileAccess = {
  list: async () => ({ files: [file] }),
  read: async (_file, from, to) => bytes.subarray(from, to).slice(),
};
const pool = threadPool({ threads: 1, memoryMb: 512, files: [], access, onIdleCrash() {} }, threadEntry);
afterAll(() => pool.stop());

const taskOf = (query: string) => ({
  calculation: "sql",
  params: parseParams(sql, { source: "data/", query }),
});

/** Computes the only chunk of a query, planned in the same thread. */
async function compute(query: string, limitMs: number) {
  const inputs: unknown[] = [];
  const sink = async (some: readonly unknown[]) => void inputs.push(...some);
  const work = taskOf(query);
  await pool.plan(work, sink, { urgent: false, limitMs: 20_000 });
  return pool.compute({ ...work, from: 0, to: 1, count: 1, inputs }, { urgent: false, limitMs });
}

// A thread in which DuckDB works does not end: without an interrupt, its core would be busy for days.
test("a query that never ends is interrupted before its thread has to be ended, which then takes other work", async () => {
  const many = "(select unnest(range(99999)) as x)";
  const endless = `(select count(*) from ${many} a, ${many} b, ${many} c where hash(a.x, b.x, c.x) = 1)`;
  const ended = compute(`select max(a + ${endless}) as n from data`, 6_000);
  await expect(ended).rejects.toMatchObject({ code: "query-too-long" });
  await expect(compute("select count(*) as n from data", 20_000)).resolves.toHaveProperty("bytes");
});

test("a recursive query that never ends fails the finish shortly before its time limit, and says so", async () => {
  const query =
    "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t, data";
  const { bytes } = await compute(query, 20_000);
  const parts = [{ from: 0, to: 1, bytes }];
  const ended = pool.finish(
    { ...taskOf(query), parts, folded: 1, count: 1 },
    { urgent: false, limitMs: 6_000 },
  );
  await expect(ended).rejects.toMatchObject({
    code: "query-too-long",
    message: expect.stringContaining("shortly before the time limit of its attempt, 6 s"),
  });
});
