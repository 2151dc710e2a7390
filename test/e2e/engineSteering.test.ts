import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { workers } from "../../src/engine/client/inspection/workers.ts";
import { findManifest } from "../../src/engine/client/result.ts";
import { status } from "../../src/engine/client/status.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { runBlobs, specBlob } from "../../src/engine/model/runBlobs.ts";
import { chainFile, serialChain } from "../support/chain.ts";
import { patienceMs } from "../support/patience.ts";
import { type RealApp, startRealApp } from "../support/realApp.ts";

/** Runs are steered while they work, in real processes; what they left behind is read from storage itself. */
let app: RealApp;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-steering-"));
  // Two deliveries are enough to see that a pack fails.
  const env = { AzureFunctionsJobHost__extensions__queues__maxDequeueCount: "2" };
  app = await startRealApp({ instances: 2, calculations: [chainFile], env });
});
afterAll(async () => {
  await app?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Names and ETags below a prefix. */
async function blobsBelow(container: string, prefix: string): Promise<Map<string, string>> {
  const { blobs } = await app.client.storage.blobs.list(container, prefix);
  return new Map(blobs.map(({ name, etag }) => [name, etag]));
}

/** Packs that the leaders sent, as they logged it. */
const packsSent = (run: string): number =>
  app.events
    .flatMap((event) => (event.kind === "log" && event.message.includes('"packs-sent"') ? event.message : []))
    .map((line) => JSON.parse(line) as { run: string; packs: number })
    .filter((sent) => sent.run === run)
    .reduce((sum, { packs }) => sum + packs, 0);

/** Messages of work, also those that a worker has in hand. */
async function messagesLeft(): Promise<number> {
  const { queues } = app.client.storage;
  const { packs, urgent } = app.client.names;
  const found = await Promise.all([packs, urgent].map((queue) => queues.stats(queue)));
  return found.reduce((sum, one) => sum + (one.kind === "found" ? one.approximateCount : 0), 0);
}

const answered = (run: string) =>
  app.until(run, (view) => view.command !== undefined && view.command.answer !== "pending");

test("a pause stops sending, a resume goes on, and the result is exact", async () => {
  const chunks = 40;
  const params = { chunks, ms: 150 };
  const { run, uid } = await submit(app.client, { calculation: "chain", params, packSize: 1, cap: 8 });
  await app.until(run, (view) => (view.packs?.done ?? 0) >= 6);
  await command(app.client, run, { kind: "pause" });
  expect((await answered(run)).command).toMatchObject({ want: "paused", answer: "done" });
  // Workers end what they compute and drop the rest; from then on nothing may come any more.
  const sentAtPause = packsSent(run);
  await expect.poll(messagesLeft, { interval: 100 }).toBe(0);
  const parts = await blobsBelow(app.client.names.runs, runBlobs(run, uid).parts);
  await sleep(2_000);
  expect(await blobsBelow(app.client.names.runs, runBlobs(run, uid).parts)).toEqual(parts);
  expect(parts.size).toBeLessThan(chunks);
  expect(packsSent(run)).toBe(sentAtPause);
  expect(await status(app.client, run)).toMatchObject({ paused: true, active: true });

  await command(app.client, run, { kind: "resume" });
  const view = await app.until(run, (one) => !one.active);
  expect(view).toMatchObject({ phase: "complete", chunks: { total: chunks, done: chunks, failed: 0 } });
  expect(packsSent(run)).toBeGreaterThan(sentAtPause);
  expect(await app.result(run)).toBe(await serialChain(chunks));
});

test("a retry computes exactly the packs that have no partial, and touches no other", async () => {
  const chunks = 12;
  const params = { chunks, broken: "3,8", mendedBy: join(folder, "mended") };
  const request = { calculation: "chain", params, packSize: 1, tolerate: { chunks: 2 }, retryAfterS: [0] };
  const { run, uid } = await submit(app.client, request);
  const first = await app.until(run, (view) => !view.active);
  expect(first).toMatchObject({ word: "complete-with-gaps", chunks: { done: 10, failed: 2 } });
  const at = runBlobs(run, uid);
  const { runs } = app.client.names;
  const before = await blobsBelow(runs, at.parts);

  await writeFile(join(folder, "mended.3"), "");
  await command(app.client, run, { kind: "retry" });
  const second = await app.until(run, (view) => !view.active && view.generation === 2);
  expect(second).toMatchObject({ word: "complete-with-gaps", chunks: { done: 11, failed: 1 } });
  const after = await blobsBelow(runs, at.parts);
  const added = [...after.keys()].filter((name) => !before.has(name));
  expect(added).toEqual([at.part(0, 3)]);
  for (const [name, etag] of before) expect(after.get(name), name).toBe(etag);
  expect((await findManifest(app.client, run)).missing).toEqual([{ from: 8, to: 9 }]);

  await writeFile(join(folder, "mended.8"), "");
  await command(app.client, run, { kind: "retry" });
  const third = await app.until(run, (view) => !view.active && view.generation === 3);
  expect(third).toMatchObject({ word: "complete", chunks: { done: chunks, failed: 0 } });
  expect(await findManifest(app.client, run)).toMatchObject({ complete: true, missing: [], generation: 3 });
  expect(await app.result(run)).toBe(await serialChain(chunks));
});

/** All blobs of a run, or of one uid of its id. */
async function leftOf(prefix: string): Promise<string[]> {
  const { active, results, runs } = app.client.names;
  const found = await Promise.all([active, results, runs].map((container) => blobsBelow(container, prefix)));
  return found.flatMap((blobs) => [...blobs.keys()]);
}
const untilGone = (id: string) => expect.poll(() => leftOf(id), { interval: 200 }).toEqual([]);

test("a delete leaves nothing of a run that has ended", async () => {
  const { run } = await submit(app.client, { calculation: "chain", params: { chunks: 40 }, packSize: 1 });
  await app.until(run, (view) => !view.active);
  expect(await leftOf(run)).not.toEqual([]);
  await command(app.client, run, { kind: "delete" });
  await untilGone(run);
});

test("the id of a run that is deleted at work may be used again at once", async () => {
  const { names, storage } = app.client;
  const id = "again";
  const request = { id, calculation: "chain", packSize: 1 };
  const { uid } = await submit(app.client, { ...request, params: { chunks: 200, ms: 100 } });
  await app.until(id, (view) => (view.packs?.done ?? 0) >= 5);
  await command(app.client, id, { kind: "delete" });
  while ((await storage.blobs.head(names.runs, specBlob(id))).kind === "found") await sleep(50);
  const { uid: newUid } = await submit(app.client, { ...request, params: { chunks: 20 } });
  expect(newUid).not.toBe(uid);
  const view = await app.until(id, (one) => !one.active);
  expect(view).toMatchObject({ phase: "complete", chunks: { total: 20, done: 20 } });
  expect(await app.result(id)).toBe(await serialChain(20));
  // What a worker was about to write when its run was deleted stays until the expiry; it can only be partials.
  const late = (await leftOf(`${id}/${uid}/`)).filter((name) => !name.startsWith(runBlobs(id, uid).parts));
  expect(late).toEqual([]);
  await command(app.client, id, { kind: "delete" });
  await untilGone(`${id}/${newUid}/`);
});

const waiting = { timeout: patienceMs, interval: 50 };

test("who computes what is seen while it lasts, and how an instance died at once; a planned stop leaves no heartbeat", async () => {
  const params = { chunks: 40, ms: 4_000 };
  const { run } = await submit(app.client, { calculation: "chain", params, packSize: 2 });
  const told = async () => (await workers(app.client)).workers;
  const computing = await vi.waitFor(async () => {
    const found = await told();
    const [one] = found.filter(({ computes }) => computes.some(({ chunk }) => chunk !== undefined));
    expect(one).toMatchObject({
      state: "live",
      computes: [{ run, work: expect.stringMatching(/^pack \d+$/) }],
    });
    return one;
  }, waiting);
  const work = computing?.computes.find(({ chunk }) => chunk !== undefined);
  expect(work?.chunks).toMatchObject({ from: 2 * (work?.pack ?? -1) });
  expect([0, 1]).toContain((work?.chunk ?? -1) - (work?.chunks?.from ?? 0));

  const victim = app.instances.instances.find(({ name }) => name === computing?.instance);
  await victim?.kill();
  const dead = { boot: computing?.boot, state: "ended", ended: "signal SIGKILL" };
  await vi.waitFor(async () => expect(await told()).toContainEqual(expect.objectContaining(dead)), waiting);
  const other = await vi.waitFor(async () => {
    const [live] = (await told()).filter(({ state }) => state === "live");
    expect(live).toBeDefined();
    return live;
  }, waiting);
  await app.instances.instances.find(({ name }) => name === other?.instance)?.restart();
  expect((await told()).map(({ boot }) => boot)).not.toContain(other?.boot);
  await victim?.restart();
  await command(app.client, run, { kind: "delete" });
});
