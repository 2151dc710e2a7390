import { createHash } from "node:crypto";
import { appendFile, mkdir, mkdtemp, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { clientWorld, failureOf, names } from "../../../test/client/clientWorld.ts";
import { ofKind } from "../../../test/contract/accounts.ts";
import { upload } from "../upload/upload.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-upload-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function put(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(folder, name, ".."), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

async function world() {
  const { client, storage } = await clientWorld();
  return {
    ...{ client, storage },
    upload: (paths: string[], more: { to?: string; replace?: boolean } = {}) =>
      upload(client, { folder, paths, ...more }),
    there: () => storage.operator.blobNames(names.inputs),
    text: async (name: string) =>
      Buffer.from(ofKind(await storage.blobs.read(names.inputs, name), "found").body).toString(),
  };
}

describe("an upload", () => {
  test("keeps the paths below a folder, and stores a hash with each file", async () => {
    await put({ "sales/2026/b.csv": "b", "sales/a.csv": "a,b\n", "sales/none": "", "other.csv": "no" });
    const { upload, there, text, storage } = await world();
    expect(await upload(["sales"])).toEqual({
      ...{
        source: "test-inputs/sales/",
        files: 3,
        bytes: 5,
        written: 3,
        replaced: 0,
        same: 0,
        leftOut: 0,
        others: 0,
      },
    });
    expect(there()).toEqual(["sales/2026/b.csv", "sales/a.csv", "sales/none"]);
    expect(await text("sales/a.csv")).toBe("a,b\n");
    const { properties } = ofKind(await storage.blobs.head(names.inputs, "sales/a.csv"), "found");
    expect(properties.metadata).toEqual({ sha256: createHash("sha256").update("a,b\n").digest("hex") });
  });

  test("names the source of a single file, and of several paths in one folder", async () => {
    await put({ "x/a.csv": "1", "y/b.csv": "2", "c.csv": "3" });
    const { upload, there } = await world();
    expect(await upload(["c.csv"])).toMatchObject({ source: "test-inputs/c.csv", files: 1 });
    const several = await upload(["x/", "./y", "c.csv"], { to: "/all/of it/" });
    expect(several).toMatchObject({ source: "test-inputs/all/of it/", files: 3 });
    expect(there()).toEqual(["all/of it/a.csv", "all/of it/b.csv", "all/of it/c.csv", "c.csv"]);
  });

  test("tells how many other files a run over the same source would read", async () => {
    await put({ "g/y": "5", y: "5" });
    const { upload, storage } = await world();
    for (const name of ["g/x", "g/z/deep", "h/x", "y.old"])
      await storage.blobs.create(names.inputs, name, "1");
    expect(await upload(["g"])).toMatchObject({ written: 1, others: 2 });
    expect(await upload(["g"])).toMatchObject({ same: 1, others: 2 });
    expect(await upload(["y"])).toMatchObject({ written: 1, others: 0 });
  });

  test("creates the container before anything was started", async () => {
    await put({ "a.csv": "1" });
    const { client } = await clientWorld({ places: false });
    expect(await upload(client, { folder, paths: ["a.csv"] })).toMatchObject({ written: 1 });
  });

  test("skips files with the same content when repeated, also those that another tool wrote", async () => {
    await put({ "d/a": "same", "d/b": "same too" });
    const { upload, storage } = await world();
    await storage.blobs.create(names.inputs, "d/b", "same too");
    const before = storage.meter.counts().write;
    expect(await upload(["d"])).toMatchObject({ written: 1, same: 1 });
    expect(await upload(["d"])).toMatchObject({ written: 0, same: 2 });
    expect(storage.meter.counts().write - before).toBe(1);
  });

  test("compares bytes that it reads back, whatever hash the metadata of a blob states", async () => {
    await put({ "d/a": "mine" });
    const { upload, storage, text } = await world();
    const metadata = { sha256: createHash("sha256").update("mine").digest("hex") };
    await storage.blobs.create(names.inputs, "d/a", "evil", { metadata });
    expect(await failureOf(upload(["d"]))).toMatchObject({ code: "other-content" });
    expect(await upload(["d"], { replace: true })).toMatchObject({ replaced: 1 });
    expect(await text("d/a")).toBe("mine");
    // And for a blob that appears between the list and the write.
    const { upload: write } = storage.blobs;
    storage.blobs.upload = async (container, name, ...rest) => {
      await storage.blobs.create(container, name, "evil", { metadata });
      return write(container, name, ...rest);
    };
    expect(await failureOf(upload(["d"], { to: "e" }))).toMatchObject({ code: "other-content" });
    // The reverse: the same bytes under another hash are the same file.
    storage.blobs.upload = write;
    await storage.blobs.create(names.inputs, "f/a", "mine", { metadata: { sha256: "other" } });
    expect(await upload(["d"], { to: "f" })).toMatchObject({ written: 0, same: 1 });
  });

  test.each([
    ["another length", "longer"],
    ["the same length", "newer"],
  ])("never overwrites content of %s unless it is told to, and then writes nothing", async (_, now) => {
    await put({ "d/a": now, "d/b": "new" });
    const { upload, storage, text, there } = await world();
    await storage.blobs.create(names.inputs, "d/a", "older");
    const error = await failureOf(upload(["d"]));
    expect(error).toMatchObject({ reason: "conflict", code: "other-content" });
    expect((error as Error).message).toMatch(/^d\/a exists with other content: give --replace/);
    expect(there()).toEqual(["d/a"]);
    expect(await upload(["d"], { replace: true })).toMatchObject({ written: 2, replaced: 1 });
    expect(await text("d/a")).toBe(now);
  });

  test("does not overwrite what another process wrote meanwhile", async () => {
    await put({ "d/a": "mine" });
    const { upload, storage, text } = await world();
    const { upload: put_ } = storage.blobs;
    Object.assign(storage.blobs, {
      upload: (...args: Parameters<typeof put_>) => {
        storage.operator.overwriteBlob(names.inputs, "d/a", "theirs");
        return put_(...args);
      },
    });
    expect(await failureOf(upload(["d"]))).toMatchObject({ code: "other-content" });
    expect(await text("d/a")).toBe("theirs");
  });

  test("recognizes a create by an earlier try as its own", async () => {
    await put({ "d/a": "mine" });
    const { upload, storage } = await world();
    const { upload: put_ } = storage.blobs;
    Object.assign(storage.blobs, {
      upload: async (...args: Parameters<typeof put_>) => {
        await put_(...args);
        return { kind: "existed" };
      },
    });
    expect(await upload(["d"])).toMatchObject({ written: 1 });
  });

  test.each([
    ["grows", (file: string) => appendFile(file, "more")],
    ["shrinks", (file: string) => truncate(file, 7)],
    ["is written over", (file: string) => writeFile(file, "y".repeat(3_000_000))],
    ["is touched", (file: string) => utimes(file, 1, 1)],
  ])("of a file that %s meanwhile writes nothing", async (_, change) => {
    await put({ "d/a": "x".repeat(3_000_000) });
    const { upload, storage, there } = await world();
    const { upload: put_ } = storage.blobs;
    Object.assign(storage.blobs, {
      upload: (container: string, name: string, body: AsyncIterable<Uint8Array>, write: object) =>
        put_(
          container,
          name,
          changedAfterTheFirst(body, () => change(join(folder, "d/a"))),
          write,
        ),
    });
    const error = await failureOf(upload(["d"]));
    expect(error).toMatchObject({ code: "file-changing", message: expect.stringMatching(/a changed while/) });
    expect(there()).toEqual([]);
  });

  test("skips and counts links in folders, and refuses a link that is named itself", async () => {
    await put({ "d/a": "1", "far/b": "2" });
    await symlink(join(folder, "far"), join(folder, "d/link"));
    await symlink(join(folder, "d"), join(folder, "d/loop"));
    await symlink(join(folder, "nowhere"), join(folder, "d/dangling"));
    const { upload, there } = await world();
    expect(await upload(["d"])).toMatchObject({ files: 1, leftOut: 3 });
    const refused = {
      code: "bad-file",
      message: expect.stringMatching(/^d\/link is a link to .*far; name what/),
    };
    expect(await failureOf(upload(["d/link"]))).toMatchObject(refused);
    await symlink(join(folder, "far/b"), join(folder, "data.csv"));
    expect(await failureOf(upload(["data.csv"]))).toMatchObject({ code: "bad-file" });
    expect(there()).toEqual(["d/a"]);
  });

  test.each([
    ["nothing is there", ["absent"], undefined, /^there is no file or folder absent$/],
    ["a folder has no file", ["empty"], undefined, /^there is no file in empty$/],
    ["it is a device", ["/dev/null"], undefined, /^\/dev\/null is neither a file nor a folder$/],
    ["several go nowhere", ["d", "a"], undefined, /give --to, such as --to sales$/],
    ["two become one", ["d/same", "same"], "t", /^two of the files would be t\/same/],
    ["a name is no blob's", ["bad"], undefined, /^"bad\/dot\." is no name for a blob: .* dot$/],
    ["a folder is no blob's", ["d"], "../up", /is no name for a blob/],
    ["the folder is empty", ["d"], "/", /use 1 to 1000 characters/],
  ])("where %s is refused before anything is written", async (_, paths, to, message) => {
    await put({ "d/same": "1", same: "2", a: "3", "bad/dot.": "4", "bad/a": "5" });
    await mkdir(join(folder, "empty/below"), { recursive: true });
    const { upload, there } = await world();
    const error = (await failureOf(upload(paths, to === undefined ? {} : { to }))) as Error;
    expect(error).toMatchObject({ reason: "invalid", message: expect.stringMatching(message) });
    expect(there()).toEqual([]);
  });
});

async function* changedAfterTheFirst(
  body: AsyncIterable<Uint8Array>,
  change: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  let pieces = 0;
  for await (const piece of body) {
    yield piece;
    if (++pieces === 1) await change();
  }
}
