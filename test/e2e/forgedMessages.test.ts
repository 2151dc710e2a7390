import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { submit } from "../../src/engine/client/submit.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { type RealApp, startRealApp } from "../support/realApp.ts";

const names = namesOf("leasefold");
let app: RealApp;

beforeAll(async () => {
  app = await startRealApp({ instances: 1 });
});
afterAll(async () => {
  await app?.stop();
});

const common = { v: 1, uid: "u", gen: 1, send: 1, turn: 0 };
const sofar = { ...common, kind: "sofar", tag: "abc", nodes: "", open: [] };
const forged = [
  `${'{"a":'.repeat(8_000)}1${"}".repeat(8_000)}`,
  "[".repeat(20_000) + "]".repeat(20_000),
  JSON.stringify({ ...sofar, run: ".." }),
  JSON.stringify({ ...sofar, run: "../leasefold-active" }),
  JSON.stringify({ ...sofar, run: "ghost" }),
  JSON.stringify({ ...common, kind: "verify", run: "ghost", tag: "../..", pack: 0 }),
  "no JSON at all",
];

async function blobsIn(container: string): Promise<string[]> {
  const { blobs } = await app.client.storage.blobs.list(container, "");
  return blobs.map(({ name }) => name);
}

async function waiting(): Promise<number> {
  const counts = await Promise.all(
    [names.packs, names.urgent].map(async (queue) => {
      const stats = await app.client.storage.queues.stats(queue);
      return stats.kind === "found" ? stats.approximateCount : 0;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

test("forged messages end in real instances and leave only records of what was dropped", async () => {
  await submit(app.client, { calculation: "primes", params: { to: 1_000_000 }, id: "mine" });
  const { uid } = await app.until("mine", (view) => !view.active);
  const { queues } = app.client.storage;
  for (const text of forged) await queues.send(names.urgent, text);
  for (let tries = 0; (await waiting()) > 0 && tries < 200; tries += 1) await sleep(100);
  expect(await waiting()).toBe(0);

  const own = `mine/${uid}/`;
  const strangers = [...(await blobsIn(names.runs)), ...(await blobsIn(names.results))].filter(
    (name) => !name.startsWith(own) && !name.startsWith("_") && name !== "mine/spec.json",
  );
  expect(strangers).toEqual([]);
  expect(await blobsIn(names.active)).toEqual([]);
  expect((await blobsIn(names.runs)).filter((name) => name.startsWith("_dropped/")).length).toBeGreaterThan(
    3,
  );
});
