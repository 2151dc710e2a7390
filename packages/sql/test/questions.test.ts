import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Tables } from "./tables.ts";

/** Questions that people have, each answered by `sql` in many chunks and by DuckDB on the whole files. */
const tables = new Tables();

const zones = ["north", "south", "east", "west", 'the "old" town', "harbor, left"];
const quoted = (text: string): string => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

beforeAll(async () => {
  const trips = (from: number, count: number): string =>
    ["pickup,zone,total,distance", ...Array.from({ length: count }, (_, row) => trip(from + row))].join("\n");
  tables.put("trips-1.csv", trips(0, 9_000));
  tables.put("trips-2.csv", trips(9_000, 5_000));
  tables.put(
    "rates.csv",
    `zone,rate\n${zones
      .slice(0, 5)
      .map((zone, at) => `${quoted(zone)},${at + 1}`)
      .join("\n")}\n`,
  );
  const events = Array.from({ length: 4_000 }, (_, row) => ({
    user: { id: row % 37, tags: row % 3 === 0 ? ["new", `t${row % 5}`] : [] },
    time: `2024-0${(row % 9) + 1}-11T10:00:00`,
    ...(row % 2 === 0 ? { value: row / 4 } : {}),
  }));
  tables.put("events.ndjson", events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  tables.put("events.json", JSON.stringify(events));
  const money = Array.from(
    { length: 6_000 },
    (_, row) =>
      `${row % 4};"${(row * 17).toLocaleString("en-US")}.25";Jan ${String((row % 28) + 1).padStart(2, "0")} 2024`,
  );
  tables.put("money.csv", `k;amount;day\n${money.join("\n")}\n`);
  const towns = Array.from({ length: 8_000 }, (_, row) => `${["Gävle", "Århus", "Málaga"][row % 3]},${row}`);
  tables.put("towns.csv", Buffer.from(`town,n\n${towns.join("\n")}\n`, "latin1"));
  await tables.run(
    `copy (select i as id, timestamp '2024-01-01' + to_hours(i::int) as time, i % 11 as zone, (i * 7 % 1000)::decimal(18, 2) / 4 as total,
       'note ' || i as note from range(60000) t(i)) to '${tables.folder}/trips.parquet' (format parquet, row_group_size 4096)`,
  );
  tables.putBack("trips.parquet");
});
afterAll(() => tables.remove());

const trip = (row: number): string =>
  [
    `2024-${String((row % 12) + 1).padStart(2, "0")}-${String((row % 28) + 1).padStart(2, "0")} 08:15:00`,
    quoted(zones[row % 6] ?? ""),
    ((row * 37) % 1_000) / 4,
    row % 9 === 0 ? "" : (row % 50) / 10,
  ].join(",");

/** A question about `data`, and the reader with which DuckDB answers it. */
interface Question {
  readonly query: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly from: string;
}

const trips = { params: { source: "data/trips-" }, from: "read_csv([$trips-1.csv, $trips-2.csv])" };
const parquet = { params: { source: "data/trips.parquet" }, from: "read_parquet($trips.parquet)" };
const events = { params: { source: "data/events.ndjson" }, from: "read_json($events.ndjson)" };

const questions: Readonly<Record<string, Question>> = {
  "group by month": {
    ...trips,
    query:
      "select month(pickup) m, zone, count(*) n, sum(total) s from data group by all order by s desc, m, zone limit 10",
  },
  "top ten by a sum": {
    ...trips,
    query: "select zone, sum(total) as s from data group by zone order by s desc, zone limit 10",
  },
  "percent of the total": {
    ...trips,
    query:
      "with t as (select zone, sum(total) as s from data group by zone) " +
      "select zone, round(100 * s / sum(s) over (), 6) as percent from t order by zone",
  },
  "a join with a small table": {
    ...trips,
    params: { ...trips.params, table: "rates=data/rates.csv" },
    query:
      "select zone, sum(total * rate) as s from data join rates using (zone) group by zone order by zone",
  },
  "nested JSON": {
    ...events,
    query:
      "select user.id as id, count(*) as n, sum(value) as s, count(*) filter (where list_contains(user.tags, 'new')) as news " +
      "from data group by 1 order by 1",
  },
  "JSON arrays": {
    params: { source: "data/events.json" },
    from: "read_json($events.json)",
    query:
      "select month(time) as m, avg(value) as mean, max(user.id) as most from data group by all order by m",
  },
  "thousands separators and days in words": {
    params: {
      source: "data/money.csv",
      read: "thousands=',', dateformat='%b %d %Y', types={'amount': 'double'}",
    },
    from: "read_csv($money.csv, thousands=',', dateformat='%b %d %Y', types={'amount': 'double'})",
    query: "select k, sum(amount) as s, min(day) as first, max(day) as last from data group by k order by k",
  },
  "Latin-1": {
    params: { source: "data/towns.csv", read: "encoding='latin-1'" },
    from: "read_csv($towns.csv, encoding='latin-1')",
    query: "select town, count(*) as n, sum(n) as s from data group by town order by town",
  },
  Parquet: {
    ...parquet,
    query:
      "select zone, sum(total) as s, count(distinct month(time)) as months, min(time) as first, median(total) as middle " +
      "from data where time >= timestamp '2024-03-01' group by zone order by zone",
  },
  "rows without a group": {
    ...parquet,
    query: "select id, note from data where total > 240 order by id desc limit 5",
  },
  "having and an expression of aggregates": {
    ...trips,
    query:
      "select zone, avg(distance) as mean, stddev(total) as spread, sum(total) / count(distance) as ratio from data " +
      "group by zone having count(*) > 100 order by zone",
  },
};

describe("a question has the answer of DuckDB", () => {
  test.each(Object.entries(questions))("%s", async (_name, { query, params, from }) => {
    const [answer, truth] = await Promise.all([
      tables.rows({ ...params, query }),
      tables.truth(`with data as (from ${from}), rates as (from read_csv($rates.csv)) from (${query})`),
    ]);
    expect(truth.length).toBeGreaterThan(0);
    expect(answer.map(rounded)).toEqual(truth.map(rounded));
  });
});

/** Doubles that were added in another order differ in their last bits. */
const rounded = (row: Readonly<Record<string, unknown>>): unknown =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(12)) : value,
    ]),
  );

test("many chunks were computed", async () => {
  for (const { params, query } of Object.values(questions).slice(0, 2))
    expect((await tables.result({ ...params, query })).chunks).toBeGreaterThan(4);
  expect((await tables.result({ ...parquet.params, query: "select count(*) from data" })).chunks).toBe(1);
  expect(
    (await tables.result({ ...parquet.params, query: "select sum(length(note)) from data" })).chunks,
  ).toBeGreaterThan(4);
});
