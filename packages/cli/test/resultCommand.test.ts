import { hash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { submit } from "../../../src/engine/client/submit.ts";
import { fileList } from "../../../src/engine/model/fileList.ts";
import { resultBlobs } from "../../../src/engine/model/runBlobs.ts";
import { counted, names } from "../../../test/client/clientWorld.ts";
import { cliWorld } from "./cliWorld.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

describe("leasefold result", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("result prints the exact bytes to a pipe, and a line to a terminal", async () => {
    const { run, client, putResult } = await cliWorld();
    await putResult(await submit(client, request), "4950");
    expect(await run("result r1")).toEqual({ exitCode: 0, out: "4950", err: "" });
    expect((await run("result r1", { tty: true })).out).toBe("4950\n");
  });

  it("writes a file at once, and tells about it in JSON", async () => {
    const { start, client, putResult } = await cliWorld();
    await putResult(await submit(client, request), "4950");
    const first = await start("result r1 -o out.json", { folder }).ended;
    expect(first).toMatchObject({
      exitCode: 0,
      out: "",
      err: "out.json: 4 B of application/json, hash checked\n",
    });
    expect(await readFile(join(folder, "out.json"), "utf8")).toBe("4950");
    const second = await start("result r1 -o out.json --json", { folder }).ended;
    expect(JSON.parse(second.out)).toMatchObject({ bytes: 4, file: join(folder, "out.json") });
    expect(await readdir(folder)).toEqual(["out.json"]);
  });

  it("leaves no file behind when the hash is wrong, with exit code 6", async () => {
    const { start, client, storage, putResult } = await cliWorld();
    const manifest = await putResult(await submit(client, request), "4950");
    storage.operator.overwriteBlob(names.results, manifest.blob, "4951");
    const ended = await start("result r1 -o out.json", { folder }).ended;
    expect(ended).toMatchObject({ exitCode: 6, err: expect.stringContaining("SHA-256") });
    expect(await readdir(folder)).toEqual([]);
  });

  it("refuses a file that cannot be written, with exit code 2", async () => {
    const { start, client, putResult } = await cliWorld();
    await putResult(await submit(client, request), "4950");
    for (const file of ["none/out.json", "."]) {
      const ended = await start(`result r1 -o ${file}`, { folder }).ended;
      expect(ended).toMatchObject({ exitCode: 2, err: expect.stringContaining("cannot write") });
    }
    expect(await readdir(folder)).toEqual([]);
  });

  /** A run whose result lists these files, in order. */
  async function filesWorld(contents: readonly string[]) {
    const world = await cliWorld();
    const submitted = await submit(world.client, request);
    const files = contents.map((text) => ({ name: `${hash("sha256", text)}.txt`, bytes: text.length }));
    const blobs = files.map(({ name }) => resultBlobs("r1", submitted.uid).file(name));
    for (const [index, blob] of blobs.entries())
      await world.storage.blobs.create(names.results, blob, contents[index] ?? "");
    const list = fileList(files);
    const { contentType } = list;
    await world.putResult(submitted, Buffer.from(list.body).toString(), { contentType });
    return { ...world, blobs };
  }

  it("saves a result of files as a folder, by their numbers in order, with a manifest", async () => {
    const { start } = await filesWorld(["one", "two", "one"]);
    const ended = await start("result r1 -o table/", { folder }).ended;
    expect(ended).toEqual({ exitCode: 0, out: "", err: "table/: its files, hashes checked\n" });
    const there = await readdir(folder, { recursive: true });
    const numbers = ["00000000.txt", "00000001.txt", "00000002.txt"];
    expect(there.sort()).toEqual(["table", ...numbers.map((name) => `table/${name}`), "table/manifest.json"]);
    expect(await readFile(join(folder, "table/00000002.txt"), "utf8")).toBe("one");
    const { files } = JSON.parse(await readFile(join(folder, "table/manifest.json"), "utf8"));
    expect(files.map(({ name }: { name: string }) => name)).toEqual(numbers);
    const again = await start("result r1 -o table/", { folder }).ended;
    expect(again).toMatchObject({ exitCode: 2, err: expect.stringContaining("table/: it is not empty") });
  });

  it("leaves no folder behind when one of its files is gone or has another hash, with exit code 6", async () => {
    const contents = Array.from({ length: 32 }, (_, index) => `file ${index}`.repeat(10_000));
    const { start, storage, blobs } = await filesWorld(contents);
    storage.operator.overwriteBlob(names.results, blobs[1] ?? "", "too");
    const other = await start("result r1 -o table/", { folder }).ended;
    expect(other).toMatchObject({ exitCode: 6, err: expect.stringContaining("SHA-256") });
    await storage.blobs.remove(names.results, blobs[1] ?? "");
    const gone = await start("result r1 -o table/", { folder }).ended;
    expect(gone).toMatchObject({ exitCode: 6, err: expect.stringContaining("is gone") });
    expect(await readdir(folder)).toEqual([]);
  });

  it("refuses a folder for a result that is one file, with exit code 2", async () => {
    const { start, client, putResult } = await cliWorld();
    await putResult(await submit(client, request), "4950");
    const ended = await start("result r1 -o table/", { folder }).ended;
    expect(ended).toMatchObject({ exitCode: 2, err: expect.stringContaining("the result is one file") });
    expect(await readdir(folder)).toEqual([]);
  });

  it("of an unfinished run ends with exit code 3, and of a failed one with that of its failure", async () => {
    const { run, client, putState } = await cliWorld();
    const submitted = await submit(client, request);
    expect(await run("result r1")).toEqual({
      exitCode: 3,
      out: "",
      err: "leasefold: run r1 is not finished: it is waiting\n",
    });
    const ways = ["result r1", "result r1 --manifest", "result r1 --so-far", "verify r1", "watch r1"];
    for (const [code, exitCode] of [
      ["pack-failed", 7],
      ["plan-failed", 7],
      ["deadline", 1],
    ] as const) {
      await putState(submitted, { phase: "failed", error: { code, message: "pack 3 threw" } });
      for (const line of ways) {
        const ended = await run(line);
        expect([line, ended.exitCode, ended.out + ended.err]).toEqual([
          ...[line, exitCode, expect.stringContaining("pack 3 threw")],
        ]);
      }
    }
    await putState(submitted, { phase: "cancelled" });
    for (const line of ways) expect([line, (await run(line)).exitCode]).toEqual([line, 1]);
  });

  it.each([
    ["failed", "failed"],
    ["cancelled", "was cancelled"],
    ["complete", "has lost its result"],
  ] as const)("says of an older result how the newest generation ended that is %s", async (phase, word) => {
    const { run, client, putState, putResult } = await cliWorld();
    const submitted = await submit(client, request);
    await putResult(submitted, "4950");
    await putState(submitted, { ...counted, phase, generation: 2 });
    const err = `r1: this result is of generation 1; generation 2 ${word}\n`;
    expect(await run("result r1")).toEqual({ exitCode: 0, out: "4950", err });
    expect(await run("result r1 --manifest")).toMatchObject({ exitCode: 0, err });
    expect(await run("result r1 --generation 1")).toEqual({ exitCode: 0, out: "4950", err: "" });
    const { out } = await run("status r1");
    expect(out).toContain(`  note         ${err.slice(4)}`);
    expect(out).toContain("  generation   2\n");
  });

  it("result notes how many chunks are missing", async () => {
    const { run, client, putResult } = await cliWorld();
    await putResult(await submit(client, request), "1", { complete: false, folded: 8 });
    const told = { out: "1", err: "r1: 2 of 10 chunks are missing\n" };
    expect(await run("result r1")).toMatchObject({ ...told, exitCode: 8 });
    expect(await run("result r1 --allow-gaps")).toMatchObject({ ...told, exitCode: 0 });
    await putResult(await submit(client, request), "1", { complete: false, folded: 9 });
    expect((await run("result r1")).err).toBe("r1: 1 of 10 chunks is missing\n");
  });
});
