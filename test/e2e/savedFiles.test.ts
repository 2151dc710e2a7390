import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { saveResult } from "../../packages/cli/saveResult.ts";
import { printed } from "../../packages/cli/test/cliWorld.ts";
import { command } from "../../src/engine/client/commands/command.ts";
import { verify } from "../../src/engine/client/questions/verify.ts";
import { findManifest } from "../../src/engine/client/result.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { resultBlobs } from "../../src/engine/model/runBlobs.ts";
import { startRealApp } from "../support/realApp.ts";

const rowsEach = 20_000;
const filesThere = 6;
const params = {
  source: "leasefold-inputs/trips/",
  query: "select id, total * 2 as twice, 'z' || zone as zone from data where id % 3 > 0",
  resultFormat: "files",
  chunkBytes: 65_536,
};

test("the rows of a query become a Parquet file for each chunk, which DuckDB reads in order from a saved folder; a deletion leaves none", async () => {
  const app = await startRealApp({ instances: 2 });
  const folder = await mkdtemp(join(tmpdir(), "leasefold-saved-"));
  await using _ = {
    async [Symbol.asyncDispose]() {
      await app.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
  const { client, until } = app;
  const { blobs } = client.storage;
  await blobs.ensureContainer(client.names.inputs);
  for (let file = 0; file < filesThere; file += 1) {
    const rows = Array.from({ length: rowsEach }, (_row, index) => {
      const id = file * rowsEach + index;
      return `${id},${id / 4},${id % 7}`;
    });
    await blobs.create(client.names.inputs, `trips/${file}.csv`, `id,total,zone\n${rows.join("\n")}\n`);
  }
  await submit(client, { calculation: "sql", params, id: "saved" });
  const { word, uid } = await until("saved", ({ active }) => !active);
  expect(word).toBe("complete");
  const manifest = await findManifest(client, "saved");
  expect(manifest.chunks).toBeGreaterThan(2 * filesThere);

  const { clock } = client;
  const cli = { folder, signal: new AbortController().signal, err: printed(), clock };
  const saved = await saveResult(cli, client, manifest, "table/");
  const names = (await readdir(saved)).sort();
  expect(names).toHaveLength(manifest.chunks + 1);
  expect(names.slice(-2)).toEqual([
    `${String(manifest.chunks - 1).padStart(8, "0")}.parquet`,
    "manifest.json",
  ]);
  expect(JSON.parse(await readFile(join(saved, "manifest.json"), "utf8"))).toMatchObject({
    run: "saved",
    files: { length: manifest.chunks },
  });
  const connection = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
  const differing = `with there as (select *, row_number() over () as n from read_parquet('${saved}/*.parquet')),
      truth as (select i as id, i / 2.0::double as twice, 'z' || i % 7 as zone, row_number() over () as n
        from range(${rowsEach * filesThere}) t(i) where i % 3 > 0)
    select count(*) as rows, count(*) filter (there.id is distinct from truth.id or there.twice <> truth.twice
      or there.zone <> truth.zone) as others from there full join truth using (n)`;
  const [answer] = (await connection.runAndReadAll(differing)).getRowObjectsJson();
  expect(answer).toEqual({ rows: String((rowsEach * filesThere * 2) / 3), others: "0" });

  const verified = await verify(client, "saved", { sample: { packs: 5 } });
  expect(verified.allEqual).toBe(true);
  await expect(saveResult(cli, client, manifest, "table/")).rejects.toThrow("it is not empty");
  await command(client, "saved", { kind: "delete" });
  const left = async () =>
    (await blobs.list(client.names.results, resultBlobs("saved", uid).root)).blobs.length;
  await expect.poll(left).toBe(0);
});
