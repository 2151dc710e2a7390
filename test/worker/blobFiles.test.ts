import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type FileFact, filesOver } from "../../src/engine/calculation/files.ts";
import { CalculationError, StorageError } from "../../src/engine/model/errors.ts";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import type { BlobStore } from "../../src/engine/storage/ports.ts";
import { storageErrorOfCode } from "../../src/engine/storage/storageErrors.ts";
import { blobFiles } from "../../src/engine/worker/blobFiles.ts";
import { virtualWorld } from "../support/virtualClock.ts";

async function account() {
  const world = virtualWorld();
  const storage = memoryStorage({ clock: world.clock(), random: world.random });
  await storage.blobs.ensureContainer("data");
  const { blobs, operator } = storage;
  const access = blobFiles(blobs);
  return {
    ...{ blobs, operator, access, files: filesOver(access) },
    put: (name: string, body: string, metadata: Record<string, string> = {}) =>
      blobs.create("data", name, body, { metadata }),
    /** In-memory storage with calls of the test's own. */
    over: (changed: Partial<BlobStore>) => filesOver(blobFiles({ ...blobs, ...changed })),
  };
}
type Account = Awaited<ReturnType<typeof account>>;

async function listed(files: Account["files"], source: string): Promise<FileFact[]> {
  const facts: FileFact[] = [];
  for await (const fact of files.list(source)) facts.push(fact);
  return facts;
}

async function text(files: Account["files"], fact: FileFact, range = {}): Promise<string> {
  let read = "";
  for await (const piece of files.read(fact, range)) read += Buffer.from(piece).toString();
  return read;
}

const only = async ({ files }: Account, source: string): Promise<FileFact> => {
  const [fact] = await listed(files, source);
  return fact ?? expect.fail(`nothing under ${source}`);
};

const sha256 = (body: string): string => createHash("sha256").update(body).digest("hex");

describe("the files of a calculation", () => {
  test("are the blobs under a prefix, with all that a read needs", async () => {
    const world = await account();
    const { put, files } = world;
    for (const name of ["a/1", "a/2", "ab", "b"]) await put(name, `in ${name}`);
    const paths = async (source: string) => (await listed(files, source)).map(({ path }) => path);
    expect(await paths("data/a/")).toEqual(["data/a/1", "data/a/2"]);
    expect(await paths("data/a")).toEqual(["data/a/1", "data/a/2", "data/ab"]);
    expect(await paths("data")).toHaveLength(4);
    expect(await paths("data/none/")).toEqual([]);
    const fact = await only(world, "data/a/2");
    expect(fact).toEqual({ path: "data/a/2", bytes: 6, etag: expect.stringMatching(/^0x/) });
    expect(JSON.parse(JSON.stringify(fact))).toEqual(fact);
    expect(await text(files, fact)).toBe("in a/2");
    expect(await text(files, fact, { from: 3, to: 5 })).toBe("a/");
  });

  test("are one file where the source is its name, whatever else begins with that", async () => {
    const { put, files, blobs, over } = await account();
    for (const name of ["s.csv", "s.csv.old.csv", "s.csv/x"]) await put(name, "x");
    const paths = async (of: typeof files) => (await listed(of, "data/s.csv")).map(({ path }) => path);
    expect(await paths(files)).toEqual(["data/s.csv"]);
    const list: typeof blobs.list = (container, prefix, options) =>
      blobs.list(container, prefix, { ...options, pageSize: 1 });
    expect(await paths(over({ list }))).toEqual(["data/s.csv"]);
    expect((await listed(files, "data/s.")).map(({ path }) => path)).toHaveLength(3);
  });

  test("are listed over all pages", async () => {
    const { blobs, put, over } = await account();
    for (const name of ["1", "2", "3", "4", "5"]) await put(name, "x");
    const files = over({
      list: (container, prefix, options) => blobs.list(container, prefix, { ...options, pageSize: 2 }),
    });
    expect((await listed(files, "data/")).map(({ path }) => path).join()).toBe(
      "data/1,data/2,data/3,data/4,data/5",
    );
  });

  test("do not include folders, where the account lists folders as blobs", async () => {
    const { put, files } = await account();
    await put("d", "", { hdi_isfolder: "true" });
    await put("d/a", "1");
    expect((await listed(files, "data/")).map(({ path }) => path)).toEqual(["data/d/a"]);
  });

  test.each(["some text", ""])("that are deleted or changed (%j) fail with their name", async (body) => {
    const world = await account();
    await world.put("a", body);
    const fact = await only(world, "data/a");
    world.operator.overwriteBlob("data", "a", "other");
    const changed = { code: "file-changed", message: "data/a was changed after the run was planned" };
    await expect(text(world.files, fact)).rejects.toEqual(expect.objectContaining(changed));
    world.operator.deleteBlob("data", "a");
    const missing = { code: "file-missing", message: "data/a is no longer there" };
    const error = await text(world.files, fact).catch((one: unknown) => one);
    expect(error).toMatchObject(missing);
    expect(error).toBeInstanceOf(CalculationError);
  });

  test.each([
    ["other bytes under the hash of the old ones", "same size"],
    ["the same bytes", "some text"],
  ])("that were written again with %s fail", async (_what, body) => {
    const world = await account();
    const metadata = { sha256: sha256("some text") };
    await world.put("a", "some text", metadata);
    const fact = await only(world, "data/a");
    await world.blobs.replace("data", "a", body, { ifMatch: fact.etag, metadata });
    for (const range of [{}, { from: 5, to: 7 }])
      await expect(text(world.files, fact, range)).rejects.toMatchObject({ code: "file-changed" });
    // A plan of an older version may hold the hashes that were stated.
    const older = { ...fact, hashes: [`sha256:${sha256("some text")}`] };
    await expect(text(world.files, older)).rejects.toMatchObject({ code: "file-changed" });
  });

  test("are not read without an ETag", async () => {
    const world = await account();
    await world.put("a", "some text");
    const { etag: _etag, ...fact } = await only(world, "data/a");
    await expect(text(world.files, fact as FileFact)).rejects.toMatchObject({ code: "file-changed" });
  });

  test.each([
    ["absent/x", "no-container", /^absent\/x is in no container that is there$/],
    ["", "no-container", /"" begins with no container; a source is container\/prefix/],
    ["/x", "no-container", /begins with no container/],
    ["No_Good/x", "no-container", /begins with no container/],
    ["a--b/x", "no-container", /begins with no container/],
  ])("have no source %j", async (source, code, message) => {
    const { files } = await account();
    const error = await listed(files, source).catch((one: unknown) => one);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(error).toBeInstanceOf(CalculationError);
    await expect(text(files, { path: source, bytes: 1, etag: "1" })).rejects.toMatchObject({ code });
  });

  test.each([
    [403, "AuthorizationPermissionMismatch", "file-denied", /^data\/a may not be read by this app: /],
    [409, "BlobArchived", "file-refused", /^data\/a cannot be read: .*BlobArchived/],
  ])("that storage refuses with %i say why", async (status, storageCode, code, message) => {
    const { over, put } = await account();
    await put("a", "1");
    const refuse = () => Promise.reject(storageErrorOfCode("blob", storageCode, status, "Get Blob data/a"));
    const files = over({ stream: refuse, list: refuse });
    const fact = { path: "data/a", bytes: 1, etag: "1" };
    await expect(text(files, fact)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    await expect(listed(files, "data/a")).rejects.toMatchObject({ code });
  });

  test("pass on the error of busy storage, which is no failure of the calculation", async () => {
    const { over } = await account();
    const busy = () => Promise.reject(storageErrorOfCode("blob", "ServerBusy", 503, ""));
    const files = over({ stream: busy, list: busy });
    const errors = [
      await text(files, { path: "data/a", bytes: 1, etag: "1" }).catch((error: unknown) => error),
      await listed(files, "data/").catch((error: unknown) => error),
    ];
    for (const error of errors) {
      expect(error).toBeInstanceOf(StorageError);
      expect(error).toMatchObject({ kind: "busy", retry: "later" });
    }
  });

  test.each(["too short", "a bit too long"])(
    "never come as other bytes than were asked for (%s)",
    async (came) => {
      const world = await account();
      await world.put("a", "0123456789");
      const files = world.over({
        stream: async (...args) => {
          const found = await world.blobs.stream(...args);
          async function* body() {
            yield Buffer.from(came);
          }
          return found.kind === "found" ? { ...found, body: body() } : found;
        },
      });
      const read = text(files, await only(world, "data/a"));
      await expect(read).rejects.toMatchObject({
        code: "file-refused",
        message: expect.stringMatching(/10 bytes/),
      });
    },
  );
});
