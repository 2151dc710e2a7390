import { DuckDBInstance } from "@duckdb/node-api";
import { describe, expect, test } from "vitest";
import { names } from "../../../test/client/clientWorld.ts";
import { type CliWorld, cliWorld } from "./cliWorld.ts";

/** A world with two files of trips, 12,000 rows in all. */
async function tripsWorld(): Promise<CliWorld> {
  const world = await cliWorld();
  const row = (i: number): string => `${i},z${i % 3},${i / 4},note ${"x".repeat(i % 50)}\n`;
  for (const [index, name] of ["a", "b"].entries()) {
    const lines = Array.from({ length: 6_000 }, (_one, i) => row(6_000 * index + i));
    await world.storage.blobs.create(
      names.inputs,
      `trips/${name}.csv`,
      `id,zone,total,note\n${lines.join("")}`,
    );
  }
  return world;
}

// DuckDB reads files in earnest, so no virtual time is waited for.
const ran = (world: CliWorld, line: string) => world.start(line).ended;

const query = "--query select\tzone,avg(total)\ta\tfrom\tdata\tgroup\tby\tzone\torder\tby\tzone";

describe("leasefold sql --explain", () => {
  test("prints the way, the steps, the columns, files, bytes and chunks", async () => {
    const world = await tripsWorld();
    const { exitCode, out, err } = await ran(world, `sql --explain --source ${names.inputs}/trips/ ${query}`);
    expect([exitCode, err]).toEqual([0, ""]);
    expect(out).toMatch(/^ *way +aggregate$/m);
    expect(out).toMatch(/^ *chunk +SELECT .*sum\(t1\."total"\).* FROM "data" AS t1 GROUP BY 1$/m);
    expect(out).toMatch(/^ *merge +SELECT .*sum\(s0\) AS s0, .* FROM parts GROUP BY 1/m);
    expect(out).toMatch(/^ *answer0 +SELECT .* FROM parts GROUP BY 1/m);
    expect(out).toMatch(/^ *finish +SELECT .* FROM answer0 .*ORDER BY/m);
    expect(out).toMatch(/^ *columns +2 of 4: zone, total$/m);
    expect(out).toMatch(/^ *files +2 of 2 files, ([\d.]+ KB) of \1$/m);
    expect(out).toMatch(/^ *chunks +1$/m);
  });

  test("its statements are DuckDB's answer when they are run one after the other", async () => {
    const world = await tripsWorld();
    const { out } = await ran(world, `sql --explain --json --source ${names.inputs}/trips/ ${query}`);
    const explained = JSON.parse(out);
    const connection = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
    const whole =
      "create view data as select i as id, 'z' || i % 3 as zone, i / 4.0::double as total from range(12000) t(i)";
    await connection.run(whole);
    const [{ chunk, answer, name }] = explained.steps;
    await connection.run(`create table parts as ${chunk}`);
    await connection.run(`create table ${name} as ${answer}`);
    const rows = (await connection.runAndReadAll(explained.finish)).getRowsJson();
    const truth = await connection.runAndReadAll(
      "select zone, avg(total) from data group by zone order by zone",
    );
    expect(rows).toEqual(truth.getRowsJson());
    expect(explained).toMatchObject({
      columns: ["zone", "total"],
      columnsThere: 4,
      files: 2,
      filesRead: 2,
      chunks: 1,
    });
    expect(explained.bytesRead).toBe(explained.fileBytes);
  });

  test("says why rows are carried to the finish, and how many bytes it expects of how many", async () => {
    const world = await tripsWorld();
    const asked = "--query select\tid,sum(total)\tover\t(order\tby\tid)\tfrom\tdata";
    const { exitCode, out, err } = await ran(world, `sql --explain --source ${names.inputs}/trips/ ${asked}`);
    expect([exitCode, err]).toEqual([0, ""]);
    expect(out).toMatch(/^ *way +rows: the rows of a window function$/m);
    expect(out).toMatch(/^ *carried +about [\d.]+ KB of at most 33\.6 MB$/m);
  });

  test("refuses a query that is not taken, and says why", async () => {
    const world = await tripsWorld();
    const asked = "--query select\trandom()\tfrom\tdata";
    const { exitCode, out, err } = await ran(world, `sql --explain --source ${names.inputs}/trips/ ${asked}`);
    expect([exitCode, out]).toEqual([7, ""]);
    expect(err).toMatch(
      /^leasefold: query: random\(\) has another answer each time\. Write the value itself/,
    );
  });

  test("needs --explain, and names a parameter that is wrong", async () => {
    const world = await cliWorld();
    expect(await ran(world, `sql --source a/b ${query}`)).toMatchObject({ exitCode: 2, out: "" });
    const { exitCode, err } = await ran(world, "sql --explain --source a/b --qeury x");
    expect([exitCode, err]).toEqual([2, expect.stringContaining("did you mean --query?")]);
  });
});
