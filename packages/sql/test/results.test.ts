import { writeFileSync } from "node:fs";
import { tableFromIPC } from "apache-arrow";
import { afterAll, expect, test } from "vitest";
import { fileListSchema } from "../../../src/engine/model/fileList.ts";
import { Tables } from "./tables.ts";

const tables = new Tables();
tables.put(
  "t.csv",
  `i,x,t\n${Array.from({ length: 9_000 }, (_, row) => `${row},${row / 8},t ${row % 7}`).join("\n")}\n`,
);
afterAll(() => tables.remove());

/** Columns of every type that a result keeps, and of some that become texts, with nulls. */
const query = `select i, i % 2 = 0 as even, nullif(i % 5, 0)::tinyint as small, i::hugeint as wide, x, x::float as near,
    (x * 100)::decimal(18, 2) as price, (-x)::decimal(38, 3) as debt, date '2024-02-29' + i::int as day,
    timestamp '2024-02-29 10:00:00.000123' as at, timestamptz '1969-01-01 00:00:00+00' as zoned, case when i % 3 = 0 then t end as name,
    [i, null] as list, {a: t, b: [x]} as nested, interval 3 days as text, '\\xAA'::blob as bytes
  from (select i, x, t, 1 from data where i % 4 < 3)`;

test("a result in Arrow has the rows and types of the query", async () => {
  const { body, contentType } = await tables.result({
    source: "data/t.csv",
    query: `${query} order by i`,
    resultFormat: "arrow",
  });
  expect(contentType).toBe("application/vnd.apache.arrow.file");
  const table = tableFromIPC(body as Uint8Array);
  expect(table.numRows).toBe(6_750);
  expect(Object.fromEntries(table.schema.fields.map(({ name, type }) => [name, String(type)]))).toEqual({
    ...{ i: "Int64", even: "Bool", small: "Int8", wide: "Decimal[38e0]", x: "Float64", near: "Float32" },
    ...{ price: "Decimal[18e+2]", debt: "Decimal[38e+3]", day: "Date32<DAY>", at: "Timestamp<MICROSECOND>" },
    ...{
      zoned: "Timestamp<MICROSECOND, UTC>",
      name: "Utf8",
      list: "List<Int64>",
      nested: "Struct<{a:Utf8, b:List<Float64>}>",
    },
    ...{ text: "Utf8", bytes: "Binary" },
  });
  const truth = await tables.truth(
    `select * replace (list[1] as list, nested.b[1] as nested) from (${query.replace("from data", "from $t.csv")}) order by i`,
  );
  const rows = table.toArray().map(({ i, even, small, x, near, name, list, nested, text }) => ({
    ...{ i: Number(i), even, small, x, near, name, text },
    ...{ list: Number(list.get(0)), nested: nested.b.get(0) },
  }));
  expect(rows).toMatchObject(
    truth.map(({ i, even, small, x, near, name, list, nested, text }) => ({
      ...{ i, even, small, x, near, name, list, nested, text },
    })),
  );
  const units = (name: string): readonly unknown[] =>
    Array.from(table.getChild(name)?.data[0]?.values.slice(0, 4));
  expect(units("at")).toEqual(Array(4).fill(1_709_200_800_000_123n));
  expect(units("zoned")).toEqual(Array(4).fill(-31_536_000_000_000n));
  expect(units("day").slice(0, 2)).toEqual([19_782, 19_783]);
  // Row 1 is -0.125: 128 bits of two's complement.
  const [, second] = [0, 1].map((row) => table.getChild("debt")?.get(row));
  expect([...second]).toEqual([2 ** 32 - 125, 2 ** 32 - 1, 2 ** 32 - 1, 2 ** 32 - 1]);
});

test("a result in Arrow of no rows has the columns", async () => {
  const { body } = await tables.result({
    source: "data/t.csv",
    query: "select i, [t] as ts from data where i < 0",
    resultFormat: "arrow",
  });
  const table = tableFromIPC(body as Uint8Array);
  expect(String(table.schema)).toContain("ts: List<Utf8>");
  expect(table.numRows).toBe(0);
});

test("a result of files has the rows of the query in order, in a Parquet file for each chunk", async () => {
  const question = "select i, x, t as name, i::hugeint as wide from data where i % 3 = 0";
  const { body, chunks } = await tables.result({
    source: "data/t.csv",
    query: question,
    resultFormat: "files",
  });
  const { files } = fileListSchema.parse(JSON.parse(Buffer.from(body).toString()));
  expect(chunks).toBeGreaterThan(2);
  expect(files).toHaveLength(chunks);
  const names = files.map(({ name }, index) => {
    writeFileSync(`${tables.folder}/f${index}.parquet`, tables.content.get(`saved/${name}`) ?? "");
    return `$f${index}.parquet`;
  });
  const rows = await tables.truth(
    `select i, x, name, wide::bigint as wide from read_parquet([${names.join(", ")}])`,
  );
  expect(rows).toEqual(
    await tables.truth(question.replace("from data", "from $t.csv").replace("hugeint", "bigint")),
  );
});

test.each([
  ["select t, count(*) from data group by t"],
  ["select i from data order by i"],
  ["select i from data limit 3"],
  ["select distinct t from data"],
  ["select max(i) from data"],
  ["select * from (select t, count(*) n from data group by t) where n > 1"],
])("an answer that is made of all rows is not saved as files: %s", async (given) => {
  const asked = { source: "data/t.csv", query: given, resultFormat: "files" };
  await expect(tables.result(asked)).rejects.toMatchObject({
    code: "bad-query",
    message: expect.stringContaining("is one file, such as parquet"),
  });
});

test.each([
  ["json", '[\n\t{"i":0,"i_1":1,"I_2":2}\n]\n'],
  ["ndjson", '{"i":0,"i_1":1,"I_2":2}\n'],
  ["csv", "i,i_1,I_2\n0,1,2\n"],
])("columns of one name are renamed as in a subquery of DuckDB: %s", async (resultFormat, expected) => {
  const { body } = await tables.result({
    source: "data/t.csv",
    query: 'select i, (i + 1)::hugeint as i, i + 2 as "I" from data order by i limit 1',
    resultFormat,
  });
  expect(Buffer.from(body).toString()).toBe(expected);
});
