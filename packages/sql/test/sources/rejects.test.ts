import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Tables } from "../tables.ts";

const tables = new Tables();
const good = Array.from({ length: 5_000 }, (_, row) => `${row % 3},${row}`);
const csv = ["k,x", ...good, "1,secret-4711", "2", ...good, '0,"a",b', "1,7"]
  .map((line) => `${line}\n`)
  .join("");
const bad = ["1,secret-4711\n", "2\n", '0,"a",b\n'].map((line) => csv.indexOf(`\n${line}`) + 1);
const objects = good.map((line) => `{"k":${line.replace(",", ',"x":')}}`);
const ndjson = [...objects, "{secret-4711", ...objects, '["a"]', '{"k":1,"x":7}']
  .map((line) => `${line}\n`)
  .join("");

beforeAll(() => {
  tables.put("a/a.csv", csv);
  tables.put("b/b.ndjson", ndjson);
  tables.put("c/c.ndjson", '{"k":1,"x":7}\n{"k":2,"x":"secret-4711"}\n');
  tables.put("other/a.csv", "k,x\n1,2\n");
  tables.put("other/b.csv", "k,y\n1,2\n");
  tables.put("many/a.csv", "k,x\n1,2\n");
  tables.put("many/b.parquet", "x");
});
afterAll(() => tables.remove());

const query = "select count(*) as n, sum(x) as s from data";
const answer = { n: 2 * good.length + 1, s: 2 * good.reduce((sum, _, row) => sum + row, 0) + 7 };
const typed = { query, read: "types={'x': 'bigint'}" };

describe("records that do not fit", () => {
  test("fail the run by default, with file and byte of the first and without a cell", async () => {
    const error = await tables.result({ source: "data/a/", ...typed }).catch((one: unknown) => one);
    expect(error).toMatchObject({ code: "bad-record" });
    expect(String(error)).toContain(`data/a/a.csv: the record at byte ${bad[0]}: the value of column "x"`);
    expect(String(error)).not.toContain("secret");
  });

  test.each([
    ["2024-01-01", "2024-01-01 13:00:00", "TIMESTAMP"],
    ["2024-01-01", "soon", "VARCHAR"],
  ])(
    "a late value of a column of days is told with the type that holds all: %s, %s",
    async (early, late, type) => {
      tables.putLate("late", "csv", `k,day\n1,${early}\n`, `2,${late}`);
      const asked = { source: "data/late/", query: "select max(day)::varchar as d from data" };
      await expect(tables.result(asked)).rejects.toThrow(
        `does not fit DATE, which the first files suggested; say --types day=${type}`,
      );
      expect(await tables.rows({ ...asked, types: `day=${type}` })).toEqual([{ d: late }]);
    },
  );

  test("are left out up to --rejects-max, and the result says how many and which, in every format", async () => {
    for (const resultFormat of ["json", "csv", "ndjson", "parquet", "arrow"]) {
      const { notes = [] } = await tables.result({
        source: "data/a/",
        ...typed,
        rejectsMax: 3,
        resultFormat,
      });
      expect(notes[0]).toBe("3 records are left out because they do not fit the columns");
      expect(notes.slice(1).map((note) => Number(/byte (\d+)/.exec(note)?.[1]))).toEqual(bad);
    }
    expect(await tables.rows({ source: "data/a/", ...typed, rejectsMax: 3 })).toEqual([answer]);
    await expect(tables.result({ source: "data/a/", ...typed, rejectsMax: 2 })).rejects.toThrow(/and 2 more/);
  });

  test.each(["b.ndjson", "marked.ndjson", "packed.ndjson.gz", "packed.ndjson.zst"])(
    "are lines of %s that are no objects",
    async (name) => {
      const mark = name === "b.ndjson" ? "" : "\uFEFF";
      const packed = name.endsWith("gz") ? gzipSync : name.endsWith("zst") ? zstdCompressSync : Buffer.from;
      tables.put(`b/${name}`, packed(Buffer.from(`${mark}${ndjson}`)));
      const source = `data/b/${name}`;
      await expect(tables.result({ source, query })).rejects.toThrow(
        `${source}: the record at byte ${Buffer.byteLength(mark) + ndjson.indexOf("{secret")}: the line is not a JSON object`,
      );
      const { notes, body } = await tables.result({ source, query, rejectsMax: 2 });
      expect(notes).toHaveLength(3);
      expect(JSON.parse(Buffer.from(body).toString())).toEqual([answer]);
    },
  );

  test("count once, however often a query reads data", async () => {
    const twice =
      "select (select count(x) from data) as n, (select sum(x) from data where k >= 0) as s, (select max(x) from data) as m";
    const { notes = [] } = await tables.result({ source: "data/a/", ...typed, query: twice, rejectsMax: 3 });
    expect(notes[0]).toMatch(/^3 records/);
  });

  test("are not looked for where no row is read", async () => {
    const none = { ...typed, query: "select count(*) as n, sum(x) as s from data where 1 = 0" };
    expect(await tables.rows({ source: "data/a/", ...none, rejectsMax: 3 })).toEqual([{ n: 0, s: null }]);
  });

  test("are JSON values of another type, which are named by file and byte and not shown", async () => {
    const source = "data/c/";
    const error = await tables
      .result({ source, query, read: "types={'x': 'bigint'}" })
      .catch((one: unknown) => one);
    expect(String(error)).toMatch(
      /data\/c\/c\.ndjson: the record at byte 14: the value of column "x" does not fit BIGINT/,
    );
    expect(String(error)).not.toContain("secret");
  });

  test("are told in order with their bytes, whether a field or a value does not fit", async () => {
    const line = (row: number): string => (row === 500 ? "7,8,9" : row === 700 ? "700,0.5" : `${row},${row}`);
    const text = `id,x\n${Array.from({ length: 1_000 }, (_, row) => `${line(row)}\n`).join("")}`;
    tables.put("both/a.csv", text);
    const asked = {
      source: "data/both/",
      query: "select count(*) as n from data where x >= 0",
      types: "x=BIGINT",
    };
    const { body, notes = [] } = await tables.result({ ...asked, rejectsMax: 2 });
    expect(JSON.parse(Buffer.from(body).toString())).toEqual([{ n: 998 }]);
    const bytes = notes.slice(1).map((note) => Number(/byte (\d+)/.exec(note)?.[1]));
    expect(bytes).toEqual([text.indexOf("7,8,9"), text.indexOf("700,0.5")]);
  });

  test("are never so many that DuckDB's records of them, which it counts nowhere, fill the memory", async () => {
    const good = `${"k".repeat(400)},2\n`.repeat(2_700);
    const bad = "a\n".repeat(250_000);
    tables.put("flood/lines.csv", `k,x\n${good}${bad}`);
    tables.put("flood/quote.csv", `k,x\n${good}"${bad}`);
    tables.put("flood/packed.csv.gz", gzipSync(`k,x\n${good}${bad}`));
    for (const name of ["lines.csv", "quote.csv", "packed.csv.gz"])
      for (const rejectsMax of [0, 2_000_000])
        await expect(
          tables.result({ source: `data/flood/${name}`, query, rejectsMax, chunkBytes: 2 ** 26 }),
        ).rejects.toThrow(new RegExp(`data/flood/${name}: some 25000\\d lines are no records of the source`));
  });

  test("are few in a file of many lines that belong to values or are empty", async () => {
    const rows = `1,"${"\n".repeat(50)}"\n${"\n".repeat(50)}`.repeat(5_000);
    tables.put("breaks/a.csv", `k,x\n${rows}1\n`);
    const { notes = [] } = await tables.result({
      ...{
        source: "data/breaks/",
        query: "select count(x) as n from data",
        rejectsMax: 1,
        chunkBytes: 2 ** 26,
      },
    });
    expect(notes[0]).toMatch(/^1 record is left out/);
  });

  test("a result of clean files has no notes", async () => {
    expect((await tables.result({ source: "data/other/a.csv", query, rejectsMax: 5 })).notes).toBeUndefined();
  });
});

test("files with other columns are refused with the name of the file", async () => {
  await expect(tables.result({ source: "data/other/", query })).rejects.toThrow(
    /data\/other\/b\.csv has a column "y" that the first files have not; --read "union_by_name=true" reads it as null/,
  );
  const rows = await tables.rows({
    source: "data/other/",
    query: "select sum(x) as x, sum(y) as y from data",
    read: "union_by_name=true",
  });
  expect(rows).toEqual([{ x: 2, y: 2 }]);
});

describe("text in another encoding than UTF-8 is refused with the name of the file", () => {
  const rows = (count: number): string =>
    Array.from({ length: count }, (_, row) => `${row},some more text`).join("\n");
  test.each([
    ["early.csv", `k,x\n1,Gävle\n${rows(9)}`, "name its encoding, such as --read \"encoding='latin-1'\""],
    ["late.csv", `k,x\n${`1,${"y".repeat(400)}\n`.repeat(3_000)}1,Gävle\n`, "name its encoding"],
    ["lines.ndjson", '{"k":1,"x":"Gävle"}\n', "JSON must be"],
  ])("%s", async (name, text, advice) => {
    tables.put(`encoded/${name}`, Buffer.from(text, "latin1"));
    await expect(
      tables.result({
        source: `data/encoded/${name}`,
        query: "select max(x) as x from data",
      }),
    ).rejects.toThrow(`data/encoded/${name} is not UTF-8: ${advice}`);
  });
});

const wide = (text: string): Buffer => Buffer.from(text, "utf16le");
const named = "name its encoding, such as --read \"encoding='utf-16'\"";
const bigEndian = "it is UTF-16 in big-endian order, which DuckDB does not read; save it as UTF-8";

test.each([
  ["a mark", wide("\uFEFFk,x\n1,a\n"), "", named],
  ["no mark", wide("k,x\n1,a\n"), "", named],
  ["big-endian order", wide("\uFEFFk,x\n1,a\n").swap16(), "", bigEndian],
  ["big-endian order and its option", wide("k,x\n1,三\n").swap16(), "encoding='utf-16'", bigEndian],
  ["big-endian order, packed", gzipSync(wide("k,x\n1,a\n").swap16()), "encoding='utf-16'", bigEndian],
])("UTF-16 with %s is refused with what to do", async (_, bytes, read, advice) => {
  tables.put("wide/a.csv", bytes);
  const asked = tables.result({ source: "data/wide/", query: "select max(x) as x from data", read });
  await expect(asked).rejects.toThrow(`data/wide/a.csv is not UTF-8: ${advice}`);
});

test("a file of UTF-16 among others that were sampled is refused with its encoding", async () => {
  for (let file = 10; file < 30; file += 1)
    tables.put(`sampled/${file}.csv`, file === 20 ? wide("k,x\n1,2\n") : "k,x\n1,2\n");
  await expect(tables.result({ source: "data/sampled/", query })).rejects.toThrow(
    `data/sampled/20.csv is not UTF-8: ${named}`,
  );
});

test("a file in big-endian order among others that were sampled is refused", async () => {
  for (let file = 10; file < 30; file += 1) {
    const text = wide(`\uFEFFk,x\n1,${file}\n`);
    tables.put(`orders/${file}.csv`, file === 20 ? text.swap16() : text);
  }
  const asked = { source: "data/orders/", query: "select sum(x) as s from data", read: "encoding='utf-16'" };
  await expect(tables.result(asked)).rejects.toThrow(`data/orders/20.csv is not UTF-8: ${bigEndian}`);
});

describe("JSON that nests so deeply that DuckDB would end the process is refused with the name of the file", () => {
  const deep = (levels: number): string => `${'{"a":['.repeat(levels / 2)}1${"]}".repeat(levels / 2)}`;
  const tail = `{"a":"${'[{\\"'.repeat(2_000)}"}\n`;
  test.each([
    ["first.ndjson", `${deep(200_000)}\n`],
    ["last.ndjson", `{"a":1}\n${'{"a":[[1]]}\n'.repeat(100_000)}${deep(200_000)}\n`],
    ["packed.ndjson.gz", gzipSync(`{"a":1}\n${deep(200_000)}\n`)],
    ["array.json", `[{"a":1},${deep(200_000)}]`],
    ["open.json", '{"a":['.repeat(100_000)],
  ])("%s", async (name, text) => {
    tables.put(`deep/${name}`, text);
    const asked = { query: "select count(a) as n from data", source: `data/deep/${name}` };
    await expect(tables.result(asked)).rejects.toThrow(
      `data/deep/${name}: a value has more than 1000 levels of arrays and objects`,
    );
  });

  test("as a table that each chunk has", async () => {
    tables.put("deep/table.json", `[${deep(200_000)}]`);
    const asked = { query: "select count(*) as n from data, t", source: "data/other/a.csv" };
    await expect(tables.result({ ...asked, table: "t=data/deep/table.json" })).rejects.toThrow(
      /deep\/table\.json: a value has more than 1000 levels/,
    );
  });

  test("and brackets within texts, in many lines and of fewer levels, are none", async () => {
    tables.put("flat/a.ndjson", `${tail.repeat(3)}${deep(900)}\n`);
    const asked = { query: "select count(a) as n from data", source: "data/flat/", types: "a=JSON" };
    expect(await tables.rows(asked)).toEqual([{ n: 4 }]);
  });
});

test("files of two formats are refused", async () => {
  await expect(tables.result({ source: "data/many/", query })).rejects.toThrow(
    /a\.csv is csv and data\/many\/b\.parquet is not/,
  );
});

test.each([
  ["skip=1) --", "must be options"],
  ["skip=1); drop table x; select (1", "must be options"],
  ["skip=(select 1)", "must be a constant"],
  ["filename='/etc/passwd'", "filename is none of"],
  ["store_rejects=false", "store_rejects is none of"],
  ["dateformat=getenv('HOME')", "must be a constant"],
  ["1", "each option is name=value"],
])("options of the reader %s are refused", async (read, why) => {
  await expect(tables.result({ source: "data/a/", query, read })).rejects.toThrow(why);
});
