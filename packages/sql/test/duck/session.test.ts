import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { withinAttempt } from "../../../../src/engine/calculation/attempt.ts";
import { type Session, textLiteral, withSession } from "../../duck/session.ts";

const rows = (sql: string) => withSession((session) => session.rows(sql));
const run = (sql: string) => withSession((session) => session.run(sql));

/** It takes days, and hardly any memory. */
const endless = "select count(*) from range(10000000000000) t(x) where hash(x) = 1";

describe("a session refuses what is not its task's", () => {
  const outside = textLiteral(join(tmpdir(), "leasefold-outside.csv"));
  test.each([
    ...[
      "from read_text('/etc/hostname')",
      "from '/etc/passwd'",
      "from glob('/etc/*')",
      "from read_blob('/proc/self/environ')",
    ],
    ...[`copy (select 1) to ${outside}`, `attach ${outside}`, `export database ${outside}`],
    ...["install httpfs", "load httpfs", "from 'https://127.0.0.1:1/x.parquet'", "from 's3://bucket/x.csv'"],
    ...[
      "set enable_external_access = true",
      "set threads = 8",
      "set memory_limit = '9GB'",
      "reset memory_limit",
    ],
    ...[
      "set allowed_directories = ['/']",
      "set lock_configuration = false",
      "pragma threads = 8",
      "set temp_directory = '/tmp'",
    ],
    ...["select getenv('HOME')"],
  ])("%s", async (sql) => {
    await expect(run(sql)).rejects.toMatchObject({ code: "query-failed" });
    expect(existsSync(join(tmpdir(), "leasefold-outside.csv"))).toBe(false);
  });

  test("a path that climbs out of its folder", async () => {
    const climbing = withSession((session) =>
      session.rows(`from read_text('${session.folder}/../../etc/hostname')`),
    );
    await expect(climbing).rejects.toMatchObject({ code: "query-failed" });
  });
});

test("a session reads and writes files of its folder, which is empty for the next use", async () => {
  const read = await withSession(async (session) => {
    const path = join(session.folder, session.nextName());
    await writeFile(path, "a\n1\n2\n");
    await session.run(`copy (from read_csv('${path}')) to '${session.folder}/copy.parquet'`);
    return session.rows(`select sum(a)::int as s from '${session.folder}/copy.parquet'`);
  });
  expect(read).toEqual([{ s: 3 }]);
  expect(await withSession((session) => readdir(session.folder))).toEqual([]);
});

test("a new session removes the folders of processes that are gone, and no others", async () => {
  const gone = spawnSync(process.execPath, ["--version"]).pid;
  const folder = (pid: number) => mkdtempSync(join(tmpdir(), `leasefold-sql-${hostname()}-${pid}-`));
  const [left, running] = [folder(gone), folder(process.ppid)];
  writeFileSync(join(left, "f1"), "a\n1\n");
  await expect(run("from nothing")).rejects.toThrow();
  await run("select 1");
  expect([existsSync(left), existsSync(running)]).toEqual([false, true]);
  rmSync(running, { recursive: true });
});

test("nothing that one use made is there for the next", async () => {
  await run("create temp table rates as select 'another run' as a");
  await run("create or replace temp macro sum(x) as 42");
  await expect(rows("from rates")).rejects.toMatchObject({ code: "query-failed" });
  expect(await rows("select sum(x)::int as s from range(3) t(x)")).toEqual([{ s: 3 }]);
});

test("several statements in one text are none", async () => {
  await expect(run("select 1; create macro main.sum(x) as 42")).rejects.toMatchObject({
    code: "query-failed",
  });
});

test("a session has one thread, UTC and no place to spill to", async () => {
  const settings =
    "select current_setting('threads')::int t, current_setting('timezone') z, current_setting('temp_directory') d";
  expect(await rows(settings)).toEqual([{ t: 1, z: "UTC", d: "" }]);
});

test("uses of a session follow each other", async () => {
  const order: string[] = [];
  const use = (name: string) =>
    withSession(async (session: Session) => {
      order.push(`${name} begins`);
      await session.rows("select count(*) from range(100000)");
      order.push(`${name} ends`);
    });
  await Promise.all([use("a"), use("b")]);
  expect(order).toEqual(["a begins", "a ends", "b begins", "b ends"]);
});

describe("an endless query ends", () => {
  test("at its time limit", async () => {
    const ended = withSession((session) => session.rows(endless), { timeMs: 100 });
    await expect(ended).rejects.toMatchObject({
      code: "query-too-long",
      message: expect.stringContaining("0.1 s"),
    });
  });

  test("shortly before the time limit of its attempt", async () => {
    const time = { limitMs: 1_000, spentMs: () => 0, ending: AbortSignal.timeout(100) };
    const ended = withinAttempt(time, () => withSession((session) => session.rows(endless)));
    await expect(ended).rejects.toMatchObject({
      code: "query-too-long",
      message: expect.stringContaining("shortly before the time limit of its attempt, 1 s"),
    });
  });

  test("when its signal has fired before it begins", async () => {
    const ended = withSession((session) => session.rows("select 1"), { signal: AbortSignal.abort() });
    await expect(ended).rejects.toMatchObject({ code: "query-too-long" });
  });

  test("when its time is over before DuckDB has begun with it", async () => {
    for (const timeMs of [1, 2, 3, 1, 2, 3, 1, 2, 3, 1]) {
      const ended = withSession((session) => session.rows(endless), { timeMs });
      await expect(ended).rejects.toMatchObject({ code: "query-too-long" });
    }
  });

  test("and the next use of the thread works", async () => {
    expect(await rows("select 42 as a")).toEqual([{ a: 42 }]);
  });
});

/** Texts of some 900 bytes, without an end: they fill the memory with few rows. */
const wide = "(select repeat('y', 900) || i as x from range(1000000000) r(i))";

describe("a query that needs too much memory ends, and the next works", () => {
  test.each([
    `select len(list(x)) from ${wide}`,
    `select length(string_agg(x, ',')) from ${wide}`,
    `select count(*) from (select x, count(*) from ${wide} group by x)`,
    `select count(distinct x) from ${wide}`,
    `select x from ${wide} order by hash(x) desc limit 100000000`,
    "with recursive t as (select repeat('y', 900) || 1 as x union all select x || y from t, range(9) r(y)) select count(*) from t",
    // Of these, a state or a value is outside of the buffers that DuckDB counts.
    "with recursive t as (select 'x' as x union all select replace(x, 'x', 'xxxx') from t) select count(*) from t",
    "select median(x) from range(1000000000) t(x)",
  ])("%s", async (sql) => {
    await expect(rows(sql)).rejects.toMatchObject({
      code: "query-too-large",
      message: expect.stringContaining("384 MB"),
    });
    expect(await rows("select 1 as a")).toEqual([{ a: 1 }]);
  });
});

test.each([
  "select cast(x as int) from (select unnest(['1', 'secret''s 4711']) as x)",
  "select strptime(x, '%Y') from (select unnest(['2020', 'secret 4711']) as x)",
  "select x::tinyint * x::tinyint from (select unnest([1, 47, 11]) as x)",
  "select cast(x as tinyint) from (select unnest([1, 4711]) as x)",
  "select json_extract(x, '$.a') from (select unnest(['{}', '{secret 4711']) as x)",
  "select cast(x as decimal(3, 1)) from (select unnest([1, 4711.5]) as x)",
  "select x::date from (select unnest(['2020-01-01', 'secret 4711']) as x)",
  "select x::int from (select unnest(['1', 'secret\n4711']) as x)",
  "select regexp_matches('a', x) from (select unnest(['1', '[secret']) as x)",
  "select timezone(x, timestamp '2020-01-01') from (select unnest(['UTC', 'secret']) as x)",
  "select json_extract('{}'::json, x) from (select unnest(['$.a', '$.[secret']) as x)",
  "select x::blob from (select unnest(['00', '\\xsecret']) as x)",
  "select x::bit from (select unnest(['1', '4711secret']) as x)",
  "select unhex(x) from (select unnest(['00', 'secret']) as x)",
  "select get_bit('101'::bit, x) from (select unnest([1, 4711]) as x)",
  "select x::int from (select unnest(['1', 'a when casting from source column se' || 'cret']) as x)",
])("an error of a query tells no cell: %s", async (sql) => {
  const error = await rows(sql).catch(String);
  expect(error).toMatch(/^CalculationError: sql: \w+/);
  expect(error).not.toMatch(/secret|4711|47|11/);
});

test("an error of a cell tells the column that the query names", async () => {
  const failed = rows("select cast(x as int) from (select unnest(['1', 'secret']) as x)");
  await expect(failed).rejects.toThrow("sql: Conversion Error: Could not convert string in column x");
});

test("an error of a query's text quotes the text", async () => {
  await expect(rows("select pirce from (select 1 as price)")).rejects.toThrow(/Binder Error: .*"pirce"/);
});
