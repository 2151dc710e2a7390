import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runSerially } from "../../../../src/calculations/leasefold.ts";
import { parseParams } from "../../../../src/engine/calculation/params.ts";
import { memoryFiles } from "../../../../test/support/memoryFiles.ts";
import { sql } from "../../sql.ts";
import { Tables } from "../tables.ts";

const tables = new Tables();
const query = "select k, count(*) as n, sum(x) as s from data group by k order by k";
const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, row) => `${(from + row) % 3},${from + row}\n`).join("");
const csv = `k,x\n${lines(0, 20_000)}`;
const ndjson = csv
  .trimEnd()
  .split("\n")
  .slice(1)
  .map((line) => line.split(","))
  .map(([k, x]) => `{"k":${k},"x":${x}}\n`)
  .join("");
/** What `query` gives for rows 0 to 20,000: an independent sum. */
const expected = [0, 1, 2].map((k) => {
  const rows = Array.from({ length: 20_000 }, (_, row) => row).filter((row) => row % 3 === k);
  return { k, n: rows.length, s: rows.reduce((a, b) => a + b, 0) };
});

beforeAll(async () => {
  tables.put("gzip/a.csv.gz", gzipSync(csv));
  tables.put("zstd/a.csv.zst", zstdCompressSync(csv));
  tables.put("tabs/a.tsv", csv.replaceAll(",", "\t"));
  tables.put("ndjson/a.ndjson", ndjson);
  tables.put("packed/a.ndjson.gz", gzipSync(ndjson));
  tables.put("array/a.json", `[${ndjson.trimEnd().replaceAll("\n", ",")}]`);
  tables.put("crlf/a.csv", csv.replaceAll("\n", "\r\n"));
  tables.put("mark/a.csv", `\uFEFF${csv}`);
  tables.put("order/a.csv", `k,x\n${lines(0, 12_000)}`);
  tables.put("order/b.csv", `x,k\n${lines(12_000, 20_000).replace(/^(\d+),(\d+)$/gm, "$2,$1")}`);
  for (let file = 0; file < 200; file += 1)
    tables.put(`many/${1_000 + file}.csv`, `k,x\n${lines(file * 100, file * 100 + 100)}`);
  tables.put("many/_SUCCESS", "");
  tables.put("many/_note.txt", "not a table");
  for (const k of [0, 1, 2]) {
    const own = lines(0, 20_000).replace(/^(\d+),(\d+)\n/gm, (_, one, x) =>
      Number(one) === k ? `${x}\n` : "",
    );
    tables.put(`hive/k=${k}/a.csv`, `x\n${own}`);
  }
  await tables.run(
    `copy (select i % 3 as k, i as x, concat_ws('', md5(i::varchar), md5('a' || i), md5('b' || i), md5('c' || i), md5('d' || i), md5('e' || i)) as note from range(20000) t(i))
     to '${tables.folder}/parquet~a.parquet' (format parquet, row_group_size 4096)`,
  );
  tables.putBack("parquet/a.parquet");
  const notes = "array_to_string([md5((20 * i + j)::varchar) for j in range(20)], '') as note";
  for (const [name, columns] of [
    ["mixed/a", "i as x, i % 3 as k"],
    ["mixed/b", "(i % 3)::tinyint as k, i::smallint as x"],
    ["folders/k=0/a", "i as x"],
    ["folders/k=1/a", "i as x"],
    ["numbered/a", "i as x, i as file_row_number"],
  ]) {
    await tables.run(
      `copy (select ${columns}, ${notes} from range(3000) t(i))
       to '${tables.folder}/${name?.replaceAll("/", "~")}.parquet' (format parquet)`,
    );
    tables.putBack(`${name}.parquet`);
  }
});
afterAll(() => tables.remove());

test.each([..."gzip zstd tabs ndjson packed array crlf mark order many hive parquet".split(" ")])(
  "files of %s have the rows that were written",
  async (source) => {
    expect(await tables.rows({ source: `data/${source}/`, query })).toEqual(expected);
  },
);

test("files with carriage returns before line feeds are cut, and those with carriage returns alone are not", async () => {
  const chunksOf = async (source: string) =>
    (await tables.result({ source: `data/${source}/`, query })).chunks;
  expect(await chunksOf("crlf")).toBeGreaterThan(1);
  tables.put("cr/a.csv", csv.replaceAll("\n", "\r"));
  expect(await chunksOf("cr")).toBe(1);
  expect(await tables.rows({ source: "data/cr/", query })).toEqual(expected);
});

test("wildcards choose files", async () => {
  const count = async (source: string) =>
    (await tables.rows({ source, query: "select count(*) as n from data" }))[0];
  expect(await count("data/many/10?0.csv")).toEqual({ n: 1_000 });
  expect(await count("data/many/{1000,1001}.csv")).toEqual({ n: 200 });
  expect(await count("data/**/1199.csv")).toEqual({ n: 100 });
});

test.each(["data/many/{1000", "data/many/1000}{1001", "data/many/*}"])(
  "braces that do not match, as in %s, are refused",
  async (source) => {
    await expect(tables.rows({ source, query })).rejects.toMatchObject({
      code: "bad-source",
      message: expect.stringContaining(source),
    });
  },
);

/** The rows of a run, and the bytes that it read of each file. */
async function counted(params: Readonly<Record<string, unknown>>) {
  const files = memoryFiles(tables.content);
  const read = new Map<string, number>();
  const counting: typeof files = {
    ...files,
    async *read(file, range) {
      for await (const piece of files.read(file, range)) {
        read.set(file.path, (read.get(file.path) ?? 0) + piece.length);
        yield piece;
      }
    },
  };
  const result = await runSerially(sql, parseParams(sql, { chunkBytes: 65_536, ...params }), counting);
  return { rows: JSON.parse(Buffer.from(result.body).toString()), chunks: result.chunks, read };
}

describe("what a query does not need is not read", () => {
  test("files of other folders, by a condition on their names", async () => {
    const { rows, read } = await counted({
      source: "data/hive/",
      query: "select k, count(*) as n from data d where d.k > 1 and x % 2 < 2 group by k",
    });
    expect(rows).toEqual([{ k: 2, n: 6_666 }]);
    const bytesOf = (k: number) => read.get(`data/hive/k=${k}/a.csv`) ?? 0;
    const size = tables.content.get("data/hive/k=0/a.csv")?.length ?? 0;
    // Each was read once for its types.
    expect(bytesOf(0)).toBe(size);
    expect(bytesOf(2)).toBeGreaterThan(1.9 * size);
  });

  test("columns of Parquet that it does not name", async () => {
    const size = tables.content.get("data/parquet/a.parquet")?.length ?? 0;
    const few = await counted({ source: "data/parquet/", query: "select sum(x) as s from data" });
    expect(few.rows).toEqual([{ s: 199_990_000 }]);
    const all = await counted({
      source: "data/parquet/",
      query: "select sum(x + length(note)) as s from data",
    });
    const [read = 0, whole = 0] = [...few.read.values(), ...all.read.values()];
    expect(whole).toBeGreaterThan(size);
    expect(read).toBeLessThan(whole / 3);
  });

  test("row groups of Parquet whose statistics exclude them", async () => {
    const some = "select max(length(note)) as most, count(*) as n from data where 18500 <= x";
    const { rows, chunks } = await counted({ source: "data/parquet/", query: some, chunkBytes: 65_536 });
    expect(rows).toEqual([{ most: 192, n: 1_500 }]);
    const whole = await counted({ source: "data/parquet/", query: some.replace("18500", "0") });
    expect(chunks).toBeLessThan(whole.chunks);
  });

  test.each([
    ["with other types", "mixed", "select sum(x) as s, count(*) as n, max(k) as k from data"],
    ["of several folders", "folders", "select sum(x) as s, count(*) as n, max(k) as k from data"],
    [
      "that are counted only",
      "folders",
      "select 8997000 as s, count(*) as n, 1 + 0 * count(*) as k from data",
    ],
  ])("columns that Parquet files %s do not share a chunk for", async (_, source, asked) => {
    const { rows, chunks, read } = await counted({
      source: `data/${source}/`,
      query: asked,
      chunkBytes: 2 ** 30,
    });
    expect(rows).toEqual([{ s: 8_997_000, n: 6_000, k: source === "mixed" ? 2 : 1 }]);
    expect(chunks).toBe(1);
    for (const [path, bytes] of read) expect(bytes).toBeLessThan((tables.content.get(path)?.length ?? 0) / 2);
  });

  test.each([
    "select x, length(note) as l from data order by x desc limit 3",
    "select x from data limit 2 offset 9000",
    "select count(*) as n, sum(x) as s, min(note) as least from data",
    "select k, max(x) as most, list(x)[2100] as some from data where x <> 77 group by k order by k",
  ])("other row groups than those of its chunk: %s", async (asked) => {
    const cut = await counted({ source: "data/parquet/", query: asked });
    const whole = await counted({ source: "data/parquet/", query: asked, chunkBytes: 2 ** 30 });
    expect([cut.chunks > 1, whole.chunks]).toEqual([true, 1]);
    expect(cut.rows).toEqual(whole.rows);
  });

  test("nothing twice of a Parquet file that has a column of DuckDB's name for row numbers", async () => {
    const { rows, chunks } = await counted({
      source: "data/numbered/",
      query: "select sum(x) as x, sum(file_row_number) as f from data",
    });
    expect(rows).toEqual([{ x: 4_498_500, f: 4_498_500 }]);
    expect(chunks).toBe(1);
  });

  test("a run of which no file is left gives the answer of no rows", async () => {
    const { rows } = await counted({
      source: "data/hive/",
      query: "select count(*) as n, sum(x) as s from data where k = 7",
    });
    expect(rows).toEqual([{ n: 0, s: null }]);
  });

  test.each([
    ["count(none) as n", /column "none" not found.* "(k|x)"$/],
    ["data.none", /does not have a column named "none"|column "none" not found/],
    ["k, xx", /column "xx" not found.* "x"$/],
  ])("%s, where no file has such a column: refused, with one that is there", async (columns, why) => {
    const params = { source: "data/hive/", chunkBytes: 1e6, query: `select ${columns} from data` };
    await expect(counted(params)).rejects.toThrow(why);
  });
});
