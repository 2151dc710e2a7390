import { randomBytes } from "node:crypto";
import { join } from "node:path";
import pMap from "p-map";
import { expect, test } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { verify } from "../../src/engine/client/questions/verify.ts";
import { findManifest } from "../../src/engine/client/result.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { startRealApp } from "../support/realApp.ts";

const files = 300;
const params = { source: "leasefold-inputs/many/" };
const inventory = join(import.meta.dirname, "../../examples/inventory/inventory.ts");

test("of many files one changes and one is added: only their packs are computed, and the bytes are those of a run without reuse", async () => {
  const app = await startRealApp({ instances: 2, calculations: [inventory] });
  await using _ = { [Symbol.asyncDispose]: () => app.stop() };
  const { client, until } = app;
  const { blobs } = client.storage;
  await blobs.ensureContainer(client.names.inputs);
  const put = (index: number | string) =>
    blobs.create(client.names.inputs, `many/${String(index).padStart(6, "0")}`, randomBytes(20_000));
  await pMap(
    Array.from({ length: files }, (_, index) => index),
    put,
    { concurrency: 16 },
  );

  /** Submits and waits. */
  async function ran(id: string, more: { readonly reuse?: string; readonly keepPartials?: true } = {}) {
    await submit(client, { calculation: "inventory", params, packSize: 1, id, ...more });
    const view = await until(id, ({ active }) => !active);
    expect(view.word).toBe("complete");
    return findManifest(client, id);
  }
  const first = await ran("first", { keepPartials: true });
  expect(first.attempts).toBeGreaterThanOrEqual(files);
  // Nothing is attempted of a pack that is copied.
  const again = await ran("again", { reuse: "first" });
  expect(again).toMatchObject({ attempts: 0, sha256: first.sha256 });
  await command(client, "first", { kind: "delete" });

  await blobs.remove(client.names.inputs, "many/000007");
  await put(7);
  expect(await ran("changed", { reuse: "again" })).toMatchObject({ attempts: 1 });
  await put("000100-added");
  const added = await ran("added", { reuse: "changed" });
  expect(added).toMatchObject({ attempts: 1, folded: files + 1 });
  const plain = await ran("plain");
  expect(added.sha256).toBe(plain.sha256);
  expect(await app.result("added")).toBe(await app.result("plain"));

  const verified = await verify(client, "added", { sample: { packs: 20 } });
  expect(verified).toMatchObject({ allEqual: true, packs: { equal: 20 } });
});
