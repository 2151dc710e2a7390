import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import { expect, test } from "vitest";
import { verify } from "../../src/engine/client/questions/verify.ts";
import { findManifest } from "../../src/engine/client/result.ts";
import { readState } from "../../src/engine/client/runDocuments.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { totalCalls } from "../../src/engine/model/calls.ts";
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

  /** Submits and waits; what the run computed, and what it cost. */
  async function ran(id: string, reuse?: string | true) {
    await submit(client, { calculation: "inventory", params, packSize: 1, id, ...(reuse ? { reuse } : {}) });
    const view = await until(id, ({ active }) => !active, 120_000);
    expect(view.word).toBe("complete");
    const state = await readState(client, id, view.uid);
    const manifest = await findManifest(client, id);
    const { computeMs = 0 } = state?.value ?? {};
    return { manifest, calls: totalCalls(view.calls), computeMs };
  }
  const first = await ran("first", true);
  const again = await ran("again", true);
  expect(again.manifest).toMatchObject({
    reused: { packs: files, runs: ["first"] },
    sha256: first.manifest.sha256,
  });

  // Storage's times are whole seconds, and the newest of two runs is the one of the later second.
  await sleep(1_000);
  await blobs.remove(client.names.inputs, "many/000007");
  await put(7);
  const changed = await ran("changed", "again");
  expect(changed.manifest.reused).toEqual({ packs: files - 1, runs: ["first"] });
  await put("000100-added");
  const added = await ran("added", true);
  expect(added.manifest.reused).toEqual({ packs: files, runs: ["first", "changed"] });
  const plain = await ran("plain");
  expect(added.manifest.sha256).toBe(plain.manifest.sha256);
  expect(plain.manifest.reused).toBeUndefined();
  // A run has calls of its own that do not depend on its packs: 126 of 1,659 with 300 packs.
  expect(changed.calls).toBeLessThan(plain.calls / 5);
  expect(changed.computeMs).toBeLessThan(plain.computeMs / 20);
  expect(await app.result("added")).toBe(await app.result("plain"));

  const verified = await verify(client, "added", { sample: { packs: 20 } });
  expect(verified).toMatchObject({ allEqual: true, packs: { equal: 20 } });
}, 300_000);
