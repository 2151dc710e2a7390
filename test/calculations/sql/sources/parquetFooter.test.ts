import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { withRowGroups } from "../../../../src/calculations/sql/sources/parquetFooter.ts";
import { CalculationError } from "../../../../src/model/errors.ts";
import { fuzzRuns } from "../../../support/fuzzRuns.ts";
import { Tables } from "../tables.ts";

const tables = new Tables();
const groups = 20;
const file = { path: "data/a.parquet", bytes: 0, etag: "" };
let bytes: Buffer;
let metadata: Buffer;

beforeAll(async () => {
  await tables.run(
    `copy (select i, i % 7 = 0 as b, 'text ' || i as t, [i, i + 1] as l, {x: i / 3, y: null} as s, i::decimal(12, 3) as d
       from range(${groups * 2048}) t(i)) to '${tables.folder}/a.parquet' (format parquet, row_group_size 2048)`,
  );
  bytes = readFileSync(join(tables.folder, "a.parquet"));
  const length = bytes.readUInt32LE(bytes.length - 8);
  metadata = bytes.subarray(bytes.length - 8 - length, bytes.length - 8);
});
afterAll(() => tables.remove());

test.each([
  [0, groups],
  [0, 1],
  [3, 4],
  [2, 17],
  [4, 20],
  [19, 20],
  [5, 5],
])("with row groups from %i to %i alone, DuckDB reads their rows and no others", async (from, to) => {
  const chosen = withRowGroups(metadata, { from, to }, file);
  const end = Buffer.alloc(8, "....PAR1");
  end.writeUInt32LE(chosen.length);
  const name = `${from}-${to}.parquet`;
  const head = bytes.subarray(0, bytes.length - 8 - metadata.length);
  writeFileSync(join(tables.folder, name), Buffer.concat([head, chosen, end]));
  const sums =
    "count(*) as n, sum(i) as i, count(*) filter (b) as b, sum(length(t)) as t, sum(s.x) as x, sum(l[2]) as l, sum(d) as d";
  const [own] = await tables.truth(`select ${sums} from read_parquet($${name})`);
  const [all] = await tables.truth(
    `select ${sums} from read_parquet($a.parquet) where i >= ${from * 2048} and i < ${to * 2048}`,
  );
  expect(own).toEqual(all);
  expect(own?.["n"]).toBe((to - from) * 2048);
  const [told] = await tables.truth(
    `select num_rows as n, num_row_groups as g from parquet_file_metadata($${name})`,
  );
  expect(told).toEqual({ n: (to - from) * 2048, g: to - from });
});

test("metadata of any bytes give bytes or an error that names the file", () => {
  const damaged = fc
    .array(fc.tuple(fc.nat({ max: 5_000 }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 8 })
    .map((changes) => {
      const copy = Buffer.from(metadata);
      for (const [at, byte] of changes) copy[at % copy.length] = byte;
      return copy;
    });
  const property = fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 200 })), (some) => {
    try {
      withRowGroups(some, { from: 1, to: 3 }, file);
    } catch (error) {
      expect(error).toBeInstanceOf(CalculationError);
      expect(String(error)).toContain("data/a.parquet");
    }
  });
  fc.assert(property, fuzzRuns(500));
});
