import { expect, test } from "vitest";
import { sendAll } from "../../../src/engine/leader/perform/send.ts";
import { CalculationError, StorageError } from "../../../src/engine/model/errors.ts";
import { runBlobs } from "../../../src/engine/model/runBlobs.ts";
import type { BlobStore } from "../../../src/engine/storage/ports.ts";
import { type EngineWorld, engineWorld } from "../../support/engineWorld.ts";

/** Scenarios that were feared or once went wrong, each on in-memory storage. */

/** Stands between the in-memory storage's blobs and everyone, from now on. */
function between(engine: EngineWorld, changed: (blobs: BlobStore) => Partial<BlobStore>): void {
  const blobs = engine.storage.blobs as { -readonly [K in keyof BlobStore]: BlobStore[K] };
  Object.assign(blobs, changed({ ...blobs }));
}

/** How often each kind of message was put. */
function countSends(engine: EngineWorld): Record<string, number> {
  const counts: Record<string, number> = {};
  const { queues } = engine.storage;
  const send = queues.send.bind(queues);
  queues.send = (queue, text, options) => {
    const { kind = "?" } = JSON.parse(text) as { kind?: string };
    counts[kind] = (counts[kind] ?? 0) + 1;
    return send(queue, text, options);
  };
  return counts;
}

const busy = () => new StorageError("busy", "ServerBusy", 503, "busy");

test("a manifest that does not decode fails its run, and the run beside it goes on in the same term", async () => {
  const engine = engineWorld({ seed: 2 });
  engine.start();
  between(engine, ({ create }) => ({
    create: (container, name, body, write) =>
      create(
        container,
        name,
        name.startsWith("r/") && name.endsWith("manifest.json") ? "{ bad" : body,
        write,
      ),
  }));
  await engine.submit({ id: "r", chunks: 20, packSize: 1 });
  await engine.submit({ id: "s", chunks: 300, packSize: 1 });
  expect(await engine.untilEnd("s", 120_000)).toMatchObject({ phase: "complete", terms: [{ term: 1 }] });
  expect(await engine.state("r")).toMatchObject({ phase: "failed", error: { code: "not-json" } });
});

test("a container that refuses reads while finishing costs a few messages, not one a loop", async () => {
  const engine = engineWorld({ seed: 2 });
  const sends = countSends(engine);
  engine.start();
  between(engine, ({ read }) => ({
    async read(container, name, options) {
      if (name.endsWith("manifest.json")) throw new StorageError("denied", "AuthorizationFailure", 403, "no");
      return read(container, name, options);
    },
  }));
  await engine.submit({ id: "r", chunks: 20, packSize: 1 });
  await engine.world.advance(240_000);
  expect((await engine.state("r"))?.phase).toBe("finishing");
  expect(sends["finish"] ?? 0).toBeLessThan(8);
});

test.each([0.01, 0.03])(
  "with %f of all requests and of all replies lost for good, a run still ends, with few duplicates",
  async (lost) => {
    const engine = engineWorld({ seed: 11 });
    const sends = countSends(engine);
    for (let count = 0; count < 3; count += 1) engine.start();
    await engine.submit({ id: "r", chunks: 600, packSize: 1 });
    engine.faults = { lostRequest: lost, lostReply: lost };
    expect(await engine.untilEnd("r", 900_000)).toMatchObject({ phase: "complete", chunksDone: 600 });
    expect(await engine.result("r")).toBe("[[0,600]]");
    expect(sends["compute"]).toBeLessThan(1_200);
  },
);

test.each([102, 151, 203, 301])(
  "chunk %i fails in full swing and is tried five times in all: its worker lives, and nobody takes it for dead",
  async (bad) => {
    let tried = 0;
    const onChunk = (chunk: number): void => {
      if (chunk !== bad) return;
      tried += 1;
      throw new CalculationError("calculation-threw", "unlucky");
    };
    const engine = engineWorld({ seed: 6, code: { chunkMs: () => 100, onChunk } });
    engine.start();
    await engine.submit({ id: "r", chunks: 1_000, packSize: 1, tolerate: { chunks: 1 } });
    expect(await engine.untilEnd("r", 600_000)).toMatchObject({ phase: "complete", chunksFailed: 1 });
    expect(tried).toBe(5);
  },
);

test("a failing chunk fails also when its first send was dropped by a pause and resume", async () => {
  const onChunk = (chunk: number): void => {
    if (chunk === 15) throw new Error("unlucky");
  };
  for (const pausedAtMs of [1_500, 3_500, 5_000, 7_000]) {
    const engine = engineWorld({ seed: 4, code: { chunkMs: () => 3_000, onChunk } });
    engine.start();
    await engine.submit({ id: "r", chunks: 20, packSize: 1, retryAfterS: [20] });
    await engine.world.advance(pausedAtMs);
    await engine.mark("r", (marker) => ({ ...marker, want: "paused", turn: marker.turn + 1 }));
    await engine.world.advance(120_000);
    await engine.mark("r", (marker) => ({ ...marker, want: "run", turn: marker.turn + 1 }));
    const state = await engine.untilEnd("r", 600_000);
    expect(state).toMatchObject({ phase: "failed", error: { code: "pack-failed" } });
  }
});

test("a failure record that storage refused twice is written later, and the pack fails", async () => {
  const onChunk = (chunk: number): void => {
    if (chunk === 7) throw new Error("unlucky");
  };
  const engine = engineWorld({ seed: 4, code: { onChunk } });
  engine.start();
  let refusals = 2;
  between(engine, ({ create }) => ({
    async create(container, name, body, write) {
      if (name.includes("/failed/") && refusals-- > 0) throw busy();
      return create(container, name, body, write);
    },
  }));
  await engine.submit({ id: "r", chunks: 20, packSize: 1 });
  expect(await engine.untilEnd("r", 300_000)).toMatchObject({ phase: "failed" });
});

test("a marker of a newer version is left alone, and the run goes on when it can be read again", async () => {
  const engine = engineWorld({ seed: 2 });
  engine.start();
  await engine.submit({ id: "r", chunks: 400, packSize: 1 });
  await engine.world.advance(6_000);
  const before = await engine.storage.blobs.head("sim-active", "r");
  if (before.kind === "missing") throw new Error("no marker");
  const { metadata, etag } = before.properties;
  const newer = { ...metadata, v: "2", want: "archived" };
  const written = await engine.storage.blobs.setMetadata("sim-active", "r", newer, { ifMatch: etag });
  await engine.world.advance(120_000);
  expect((await engine.state("r"))?.phase).toBe("computing");
  const failed = engine.storage.operator.blobNames("sim-runs").filter((name) => name.includes("/failed/"));
  expect(failed).toEqual([]);
  if (written.kind !== "replaced") throw new Error("not written");
  await engine.storage.blobs.setMetadata("sim-active", "r", metadata, { ifMatch: written.etag });
  expect(await engine.untilEnd("r", 300_000)).toMatchObject({ phase: "complete" });
});

test("an outage of a minute fails no run", async () => {
  const engine = engineWorld({ seed: 4 });
  engine.start();
  let away = false;
  between(engine, ({ head }) => ({
    async head(container, name, options) {
      if (away && container === "sim-active") throw busy();
      return head(container, name, options);
    },
  }));
  await engine.submit({ id: "r", chunks: 400, packSize: 1 });
  await engine.world.advance(6_000);
  away = true;
  await engine.world.advance(60_000);
  away = false;
  expect(await engine.untilEnd("r", 300_000)).toMatchObject({ phase: "complete", packsFailed: 0 });
});

test.each([2, 6])(
  "%i workers that die with 20 s packs cost about three packs of time, not ten minutes",
  async (dead) => {
    const engine = engineWorld({ seed: 3, code: { chunkMs: () => 20_000 } });
    for (let count = 0; count < dead + 2; count += 1) engine.start();
    await engine.submit({ id: "r", chunks: 80, packSize: 1 });
    const parts = () =>
      engine.storage.operator.blobNames("sim-runs").filter((name) => name.includes("/parts/"));
    while (parts().length < 62) await engine.world.advance(500);
    const victims = engine.instances.filter((one) => !one.leading()).slice(0, dead);
    const killedMs = engine.world.nowMs();
    for (const one of victims) one.kill();
    expect(await engine.untilEnd("r")).toMatchObject({ phase: "complete" });
    // What was left took about 90 s on the threads that live; a pack is late after three times its p95.
    expect(engine.world.nowMs() - killedMs).toBeLessThan(200_000);
  },
);

test("a plan that is gone fails the run instead of being waited for", async () => {
  const engine = engineWorld({ seed: 4 });
  engine.start();
  await engine.submit({ id: "r", chunks: 400, packSize: 1 });
  await engine.world.advance(5_000);
  const uid = (await engine.state("r"))?.uid ?? "";
  engine.storage.operator.deleteBlob("sim-runs", runBlobs("r", uid).plan);
  engine.instances[0]?.kill();
  engine.start();
  const state = await engine.untilEnd("r", 300_000);
  expect(state.phase).toBe("failed");
  expect(state.error).toMatchObject({
    code: "plan-lost",
    message: expect.stringContaining("plan.json is gone"),
  });
});

test("a plan whose sampled chunks all fail still makes packs of its own size", async () => {
  const onChunk = (chunk: number): void => {
    if (chunk % 200 === 100) throw new CalculationError("calculation-threw", "unlucky");
  };
  const engine = engineWorld({ seed: 4, code: { onChunk } });
  engine.start();
  await engine.submit({ id: "r", chunks: 1_000, tolerate: { chunks: 30 } });
  const state = await engine.untilEnd("r", 600_000);
  expect(state).toMatchObject({ phase: "complete", layout: { packSize: 8 }, chunksFailed: 5 });
});

test("an empty first page of markers hides no run", async () => {
  const engine = engineWorld({ seed: 4 });
  between(engine, ({ list }) => ({
    async list(container, prefix, options = {}) {
      if (container !== "sim-active") return list(container, prefix, options);
      const first = options.cursor === undefined;
      const page = await list(container, prefix, {
        ...options,
        cursor: options.cursor === "@" ? undefined : options.cursor,
      });
      return first ? { blobs: [], cursor: "@", dateMs: page.dateMs } : page;
    },
  }));
  engine.start();
  await engine.submit({ id: "r", chunks: 20, packSize: 1 });
  expect(await engine.untilEnd("r", 60_000)).toMatchObject({ phase: "complete" });
});

test("a term that ends in the middle of many sends leaves no rejection unhandled", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  let asked = 0;
  const lost = new AbortController();
  const leader = {
    lost: lost.signal,
    assertLeading() {
      asked += 1;
      if (asked > 2) throw new Error("lost");
    },
  };
  const send = async () => {
    await Promise.resolve();
    throw new Error("aborted");
  };
  const clock = { after: () => () => {} };
  const term = { leader, clock, names: { urgent: "u", packs: "p" }, storage: { queues: { send } } };
  const sends = Array.from({ length: 5 }, () => ({ message: { kind: "plan" }, urgent: true }));
  const args = [term, sends] as unknown as Parameters<typeof sendAll>;
  await expect(sendAll(...args)).rejects.toThrow();
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});
