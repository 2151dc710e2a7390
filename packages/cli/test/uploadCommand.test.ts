import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadCalculations } from "../../../src/calculations/registry.ts";
import type { Client } from "../../../src/engine/client/client.ts";
import { readSpec } from "../../../src/engine/client/runDocuments.ts";
import { clientWorld, names } from "../../../test/client/clientWorld.ts";
import { builtIn } from "../../sql/builtIn.ts";
import { clientFiles } from "../connect.ts";
import { type CliWorld, cliWorld, shown } from "./cliWorld.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-upload-"));
  await mkdir(join(folder, "sales/2026"), { recursive: true });
  await writeFile(join(folder, "sales/a.csv"), "id\n1\n");
  await writeFile(join(folder, "sales/2026/b.csv"), "id\n2\n");
});
afterAll(() => rm(folder, { recursive: true }));

// Files are read in earnest, so no virtual time is waited for.
const ran = (world: CliWorld, line: string, tty = false) => world.start(line, { folder, tty }).ended;

/** A command line over the built-in calculations, some of which read files. */
async function overBuiltIn(): Promise<CliWorld> {
  const calculations = await loadCalculations([], builtIn);
  let client: Client | undefined;
  const world = await cliWorld({
    calculations: async () => calculations,
    connect: async () => ({ ...(client as Client), calculations }),
  });
  client = world.client;
  return world;
}

describe("leasefold upload", () => {
  it("prints the source alone, and everything else beside it", async () => {
    const world = await cliWorld();
    const { exitCode, out, err } = await ran(world, "upload sales");
    expect([exitCode, out]).toEqual([0, "test-inputs/sales/\n"]);
    expect(err).toMatch(/^uploading {2}0 % {2}0 B of 10 B {2}0\/2 files\n2 files of 10 B: 2 uploaded\n$/);
    const again = await ran(world, "upload sales --to other --replace", true);
    expect(shown(again.err)).toMatch(/use it: leasefold submit … --source test-inputs\/other\/\n$/);
    expect(world.storage.operator.blobNames(names.inputs)).toEqual([
      ...["other/2026/b.csv", "other/a.csv", "sales/2026/b.csv", "sales/a.csv"],
    ]);
  });

  it("takes the container before the folder, as a source has it", async () => {
    const world = await cliWorld();
    const { out } = await ran(world, "upload sales --to test-inputs/some/place");
    expect(out).toBe("test-inputs/some/place/\n");
    expect(world.storage.operator.blobNames(names.inputs)).toContain("some/place/a.csv");
  });

  it("tells what else a run over the same source would read", async () => {
    const world = await cliWorld();
    await world.storage.blobs.create(names.inputs, "sales/older.csv", "id\n1\n");
    const { err } = await ran(world, "upload sales");
    expect(err).toContain(
      ": 2 uploaded, 1 more there already: a run over test-inputs/sales/ reads them too\n",
    );
  });

  it("tells programs all of it as JSON", async () => {
    const world = await cliWorld();
    await world.storage.blobs.create(names.inputs, "sales/a.csv", "id\n1\n");
    const { out } = await ran(world, "upload sales --json");
    expect(JSON.parse(out)).toEqual({
      ...{
        source: "test-inputs/sales/",
        files: 2,
        bytes: 10,
        written: 1,
        replaced: 0,
        same: 1,
        leftOut: 0,
        others: 0,
      },
    });
  });

  it.each([
    ["upload", "missing required argument 'path'"],
    ["upload salse", "there is no file or folder salse"],
    ["upload sales sales/a.csv", "several paths need one target folder: give --to, such as --to sales"],
    ["upload sales --to a//b", "no part between slashes may be empty"],
  ])("%s is refused on one line with exit code 2", async (line, message) => {
    const { exitCode, out, err } = await ran(await cliWorld(), line);
    expect([exitCode, out, err.split("\n").length]).toEqual([2, "", 2]);
    expect(err).toContain(message);
  });

  it("refuses to overwrite with exit code 2, and overwrites when told", async () => {
    const world = await cliWorld();
    await world.storage.blobs.create(names.inputs, "sales/a.csv", "old");
    expect(await ran(world, "upload sales")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("sales/a.csv exists with other content: give --replace"),
    });
    expect((await ran(world, "upload sales --replace")).err).toMatch(/2 uploaded, 1 of them replaced\n$/);
  });
});

describe("leasefold submit --upload", () => {
  it("uploads first, and the run reads what was uploaded", async () => {
    const world = await overBuiltIn();
    const { exitCode, out } = await ran(world, "submit sql --upload sales --query select --id r1");
    expect([exitCode, out]).toEqual([0, "r1\n"]);
    const spec = (await readSpec(world.client, "r1"))?.value;
    expect(spec?.params).toMatchObject({ source: "test-inputs/sales/", query: "select" });
    expect(world.storage.operator.blobNames(names.inputs)).toHaveLength(2);
  });

  it.each([
    [
      "submit primes --to 10 --upload sales",
      "invalid --upload: primes reads no files: it has no parameter source",
    ],
    [
      "submit sql --upload sales --query select --source c/",
      "invalid --upload: it sets the source itself: leave --source out",
    ],
    ["submit sql --upload sales --query select --chunk-bytes 0", "chunk-bytes: "],
    ["submit sql --upload salse --query select", "there is no file or folder salse"],
  ])("%s is refused before anything is sent", async (line, message) => {
    const world = await overBuiltIn();
    const { exitCode, err } = await ran(world, line);
    expect([exitCode, err]).toEqual([2, expect.stringContaining(message)]);
    expect(world.storage.operator.blobNames(names.inputs)).toEqual([]);
    expect(world.storage.operator.blobNames(names.active)).toEqual([]);
  });
});

describe("the files of a command", () => {
  it("open the storage when one is asked for, and only once", async () => {
    const { client, storage } = await clientWorld();
    await storage.blobs.create(names.inputs, "a", "12345");
    let opened = 0;
    const files = clientFiles(async () => {
      opened += 1;
      return client;
    }, {});
    expect(opened).toBe(0);
    const [fact] = (await files.list(`${names.inputs}/`, undefined)).files;
    const read = await files.read(fact ?? expect.fail("nothing was listed"), 1, 3);
    expect([opened, Buffer.from(read).toString()]).toEqual([1, "23"]);
  });

  it("say why there is no storage, as any command does", async () => {
    const away = new Error("no storage to talk to");
    const files = clientFiles(() => Promise.reject(away), {});
    await expect(files.list("c/", undefined)).rejects.toBe(away);
  });
});
