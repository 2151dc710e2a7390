import { expect, test } from "vitest";
import { runSerially } from "../../../../src/calculations/leasefold.ts";
import { parseParams } from "../../../../src/engine/calculation/params.ts";
import { drawnSeed } from "../../../../test/support/drawnSeed.ts";
import { fuzzRuns } from "../../../../test/support/fuzzRuns.ts";
import { memoryFiles } from "../../../../test/support/memoryFiles.ts";
import type { SqlParams } from "../../params.ts";
import { sql } from "../../sql.ts";
import { type Draw, drawFrom } from "../randomQueries.ts";
import { Tables } from "../tables.ts";

const formats = ["csv", "ndjson", "json", "parquet", "csv.gz"] as const;
type Format = (typeof formats)[number];

const copyOptions: Readonly<Record<Format, string>> = {
  csv: "format csv, header true",
  "csv.gz": "format csv, header true, compression gzip",
  ndjson: "format json",
  json: "format json, array true",
  parquet: "format parquet, row_group_size 2048",
};
const readers: Readonly<Record<Format, (list: string) => string>> = {
  csv: (list) => `read_csv(${list}, sample_size=-1)`,
  "csv.gz": (list) => `read_csv(${list}, sample_size=-1)`,
  ndjson: (list) => `read_json(${list}, sample_size=-1, format='newline_delimited')`,
  json: (list) => `read_json(${list}, sample_size=-1)`,
  parquet: (list) => `read_parquet(${list})`,
};

/** Values that a reader could take for others: numbers that look like texts and the reverse, quotes, line breaks. */
const columns: readonly ((draw: Draw) => string)[] = [
  (draw) => `(hash(i, ${draw(99)}) % ${1 + draw(2_000)})::bigint - ${draw(20)}`,
  (draw) => `case when hash(i, ${draw(99)}) % ${2 + draw(9)} > 0 then (hash(i, 5) % 90)::bigint end`,
  (draw) => `(hash(i, ${draw(99)}) % 100000) / ${["4.0", "10.0", "7.0"][draw(3)]}::double`,
  (draw) =>
    `['a', 'b', 'é', 'x,y', 'say "hi"', 'two\nlines', ' led', ''][(1 + hash(i, ${draw(99)}) % ${1 + draw(8)})::bigint]`,
  (draw) => `lpad((hash(i, ${draw(99)}) % 500)::varchar, ${1 + draw(4)}, '0')`,
  () => "date '2024-01-28' + (hash(i, 3) % 90)::int",
  (draw) =>
    `timestamp '2024-02-27' + to_${["minutes", "seconds", "days"][draw(3)]}((hash(i, 4) % 9999)::int)`,
  () => "hash(i, 8) % 2 = 0",
  (draw) => `case when i < ${draw(400)} then 'only early' end`,
];
const nested: readonly ((draw: Draw) => string)[] = [
  (draw) =>
    `{'k': (hash(i, ${draw(99)}) % 9)::bigint, 'v': ['p', 'q'][(1 + hash(i, 3) % 2)::bigint], 'l': [i, (hash(i, 2) % 5)::bigint]}`,
  () => "list_transform(range((hash(i, 7) % 4)::bigint), lambda q: q + i)",
];

/** Questions whose words any table understands. */
const general = [
  "select count(*) as n, count(c0) as a, count(c1) as b, count(distinct c1) as d from data",
  "select c1, count(*) as n, min(c0) as a, max(c2) as b from data group by c1 order by all",
  "select * from data order by all limit 7",
  "select c0, c2 from data where c0 is not null order by all limit 5 offset 3",
  "select count(*) as n from (select distinct c0, c1 from data)",
  "select typeof(c0) as a, typeof(c1) as b, typeof(c2) as c, count(*) as n from data group by all order by all",
  "select max(c0::varchar) as a, min(c1::varchar) as b, sum(length(c2::varchar)) as l from data",
  "select max(columns(*)) from data",
  "select c0, row_number() over (order by c0, c1, c2) as r from data order by all limit 9",
];

test("random files, cut at small borders, have the rows that DuckDB reads from them whole", async () => {
  const draw = drawFrom(drawnSeed ?? 7);
  const { numRuns = 0 } = fuzzRuns(5, 20);
  const seen: Record<string, number> = {};
  for (let run = 0; run < numRuns; run += 1) {
    const tables = new Tables();
    try {
      const format = formats[draw(formats.length)] ?? "csv";
      const kinds = /json|parquet/.test(format) ? [...columns, ...nested] : columns;
      const chosen = Array.from(
        { length: 3 + draw(3) },
        (_, index) => `${kinds[draw(kinds.length)]?.(draw)} as c${index}`,
      );
      const count = 1 + draw(3);
      const rows = 50 + draw(format === "parquet" ? 9_000 : 900);
      const names: string[] = [];
      for (let file = 0; file < count; file += 1) {
        const name = `f${file}.${format}`;
        const list = draw(2) === 0 ? chosen : chosen.toReversed();
        const [from, to] = [Math.floor((file * rows) / count), Math.floor(((file + 1) * rows) / count)];
        await tables.run(
          `copy (select ${(/csv/.test(format) || format === "parquet" ? list : chosen).join(", ")} from range(${from}, ${to}) r(i)) to '${tables.folder}/${name}' (${copyOptions[format]})`,
        );
        tables.putBack(name);
        names.push(`$${name}`);
      }
      // DuckDB itself takes the columns of other orders by place, without this.
      const read = readers[format](`[${names.join(", ")}]`).replace(/\)$/, ", union_by_name=true)");
      for (const query of Array.from({ length: 2 }, () => general[draw(general.length)] ?? "")) {
        const order =
          format === "parquet" || format.startsWith("csv") ? chosen.map((_, index) => `c${index}`) : [];
        const data = order.length > 0 ? `select ${order.join(", ")} from ${read}` : `from ${read}`;
        const whole = await tables.truth(`with data as (${data}) from (${query})`).catch(String);
        const params = parseParams(sql, {
          source: "data/",
          query: query.replace("select *", `select ${order.join(", ") || "*"}`),
        }) as SqlParams;
        const small = { ...params, chunkBytes: 1_500 + draw(9_000) };
        const answer = await runSerially(sql, small, memoryFiles(tables.content, 1_000 + draw(9_000))).then(
          ({ body }) => JSON.parse(Buffer.from(body).toString()),
          String,
        );
        const shown = JSON.stringify(
          { run, format, chosen, query, chunkBytes: small.chunkBytes, whole, answer },
          undefined,
          1,
        ).slice(0, 4_000);
        expect(typeof answer === "string", shown).toBe(typeof whole === "string");
        expect(rounded(answer), shown).toEqual(rounded(whole));
        seen[format] = (seen[format] ?? 0) + 1;
      }
    } finally {
      tables.remove();
    }
  }
  expect(Object.keys(seen).length).toBeGreaterThan(3);
});

/** What a column has in most files, and values of one file whose types are others. */
const claims: readonly (readonly [usual: string, others: readonly string[]])[] = [
  [
    "1",
    [
      "0.4",
      "2.50",
      "007",
      "true",
      "x",
      "1e3",
      "12345678901234567890",
      "2024-01-01",
      "-0",
      "+5",
      "-007",
      "\t4",
      "0x10",
    ],
  ],
  ["0.5", ["1", "x", "true", "00.5", "12345678901234567891", "1e400", "nan", "-00.5", "\t00.5"]],
  [
    "2024-01-05",
    ["2024-01-05 10:30:00", "2024", "05.01.2024", "x", "2024-02-30", "-2024-01-05", "-2024-1-05", "epoch"],
  ],
  ["2024-01-05 10:30:00", ["2024-01-05", "2024-01-05 10:30:00.123456789", "2024-01-05 10:30:00+02", "x"]],
  ["true", ["1", "0", "yes", "x", "0.5"]],
  ["10:30:00", ["10:30:00.5", "25:00:00", "x", "2024-01-05 10:30:00"]],
];

test("values of a file that no sample had are read as DuckDB does, or refused with file and column", async () => {
  const draw = drawFrom(drawnSeed ?? 3);
  const { numRuns = 0 } = fuzzRuns(10, 70);
  const seen = { refused: 0, same: 0 };
  for (let run = 0; run < numRuns; run += 1) {
    const tables = new Tables();
    try {
      const [usual, others] = claims[run % claims.length] ?? ["1", []];
      const other = others[draw(others.length)] ?? "";
      const isJson = draw(2) === 0;
      const json = (value: string): string =>
        /^(-?[1-9]\d*(\.\d+)?|0(\.\d+)?|true|1e3)$/.test(value) ? value : JSON.stringify(value);
      const line = (id: number, value: string): string =>
        isJson ? `{"id":${id},"v":${json(value)}}\n` : `${id},${value}\n`;
      // Every second file is sampled.
      for (let file = 0; file < 10; file += 1) {
        const rows = Array.from({ length: 5 }, (_, row) =>
          line(file * 5 + row, file === 3 && row === 3 ? other : usual),
        );
        tables.put(`f${file}.${isJson ? "ndjson" : "csv"}`, (isJson ? "" : "id,v\n") + rows.join(""));
      }
      const query =
        draw(2) === 0
          ? "select v::varchar as v, count(*) as n from data group by all order by all"
          : "select min(v)::varchar as a, max(v)::varchar as b, count(distinct v) as d from data";
      const read = isJson
        ? "read_json($f*.ndjson, sample_size=-1, format='newline_delimited')"
        : "read_csv($f*.csv, sample_size=-1)";
      const whole = await tables.truth(`with data as (from ${read}) from (${query})`).catch(String);
      const answer = await tables.rows({ source: "data/f", query }).catch(String);
      const shown = JSON.stringify({ usual, other, isJson, query, whole, answer });
      if (typeof answer === "string") {
        seen.refused += 1;
        expect(answer, shown).toMatch(/f3\.(csv|ndjson).*"v"/);
      } else {
        seen.same += 1;
        expect(answer, shown).toEqual(whole);
      }
    } finally {
      tables.remove();
    }
  }
  expect(seen.refused).toBeGreaterThan(numRuns / 4);
});

const rounded = (value: unknown): unknown =>
  typeof value === "string"
    ? ""
    : JSON.parse(JSON.stringify(value), (_name, one) =>
        typeof one === "number" ? Number(one.toPrecision(10)) : one,
      );
