import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { deleteInputs, inputs, uploadBytes } from "../../src/engine/client/inputs.ts";
import { clientWorld, failureOf, names } from "./clientWorld.ts";

async function uploadedWorld() {
  const world = await clientWorld();
  const { blobs } = world.storage;
  for (const name of ["sales", "sales-2025/a", "sales/2026/a", "sales/2026/b", "sales/c", "z"])
    await blobs.create(names.inputs, name, name, { metadata: { sha256: `of ${name}` } });
  const sources = async (path?: string) =>
    (await inputs(world.client, path)).map(({ source, files }) => [source, files]);
  return { ...world, sources };
}

test("folders count all that is in them, and a single file tells its hash", async () => {
  const { client, sources } = await uploadedWorld();
  expect(await sources()).toEqual([
    ["test-inputs/sales", 1],
    ["test-inputs/sales-2025/", 1],
    ["test-inputs/sales/", 3],
    ["test-inputs/z", 1],
  ]);
  expect(await sources("test-inputs/sales/")).toEqual([
    ["test-inputs/sales/2026/", 2],
    ["test-inputs/sales/c", 1],
  ]);
  expect(await sources("sales")).toEqual([
    ["test-inputs/sales", 1],
    ["test-inputs/sales/", 3],
  ]);
  expect(await inputs(client, "sales/c")).toMatchObject([{ files: 1, bytes: 7, sha256: "of sales/c" }]);
});

test("a folder is deleted with all that is in it, and nothing whose name only begins as it does", async () => {
  const { client, sources } = await uploadedWorld();
  expect(await deleteInputs(client, "sales/2026/")).toEqual({ files: 2, bytes: 24 });
  expect(await deleteInputs(client, "test-inputs/sales")).toEqual({ files: 2, bytes: 12 });
  expect(await sources()).toEqual([
    ["test-inputs/sales-2025/", 1],
    ["test-inputs/z", 1],
  ]);
});

test("what is not there is told, and everything at once is not deleted", async () => {
  const { client } = await uploadedWorld();
  for (const asked of [inputs(client, "sale"), deleteInputs(client, "sales/2027/")])
    expect(await failureOf(asked)).toMatchObject({ code: "unknown-input" });
  expect(await failureOf(deleteInputs(client, "test-inputs/"))).toMatchObject({ code: "bad-path" });
});

test("the container's name counts where it leads, and not within a path", async () => {
  const { client, storage } = await uploadedWorld();
  await storage.blobs.create(names.inputs, "z/test-inputs/a", "own");
  await storage.blobs.create(names.inputs, "z/a", "another");
  expect(await deleteInputs(client, "z/test-inputs/a")).toEqual({ files: 1, bytes: 3 });
  expect(storage.operator.blobNames(names.inputs)).toContain("z/a");
});

test("an account without uploads has none", async () => {
  const { client } = await clientWorld({ places: false });
  expect(await inputs(client)).toEqual([]);
});

test("an upload compares bytes that it reads back, whatever hash the metadata of a blob states", async () => {
  const { client, storage } = await uploadedWorld();
  const mine = Buffer.from("mine");
  const metadata = { sha256: hash("sha256", mine) };
  await storage.blobs.create(names.inputs, "planted", "evil", { metadata });
  expect(await failureOf(uploadBytes(client, "planted", mine, { replace: false }))).toMatchObject({
    code: "other-content",
  });
  expect(await uploadBytes(client, "planted", mine, { replace: true })).toMatchObject(metadata);
  const now = await storage.blobs.read(names.inputs, "planted");
  expect(now.kind === "found" && Buffer.from(now.body).toString()).toBe("mine");
  // The same bytes under another hash are no change.
  await storage.blobs.create(names.inputs, "same", mine, { metadata: { sha256: "other" } });
  expect(await uploadBytes(client, "same", mine, { replace: false })).toMatchObject(metadata);
  // A blob that appears between the first look and the write.
  const { create } = storage.blobs;
  storage.blobs.create = async (container, name, body, write) => {
    await create(container, name, "evil", { metadata });
    return create(container, name, body, write);
  };
  expect(await failureOf(uploadBytes(client, "late", mine, { replace: false }))).toMatchObject({
    code: "other-content",
  });
});
