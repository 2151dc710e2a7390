import { describe, expect, it } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { status } from "../../src/engine/client/status.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { costOf } from "../../src/engine/model/cost.ts";
import { CorruptDataError, OtherVersionError } from "../../src/engine/model/errors.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { prefixName } from "../../src/engine/model/prefixes.ts";
import { specBlob } from "../../src/engine/model/runBlobs.ts";
import { specOf } from "../support/runFixtures.ts";
import { clientWorld, failureOf, names } from "./clientWorld.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };
const layout = { chunks: 95, packSize: 10, shardSize: 256, fanIn: 1000, packMs: 1 };

const spec = specOf({ run: "r1", uid: "", calculation: "sum", params: { to: 1 } });

describe("the status of a run", () => {
  it("is waiting until a leader has seen it, with the time since its submit", async () => {
    const { client, world } = await clientWorld();
    await submit(client, request);
    await world.advance(3_000);
    const view = await status(client, "r1");
    expect(view).toMatchObject({
      phase: "waiting",
      word: "waiting",
      active: true,
      elapsedS: 3,
      cap: limits.capDefault,
    });
    expect(view.packs).toBeUndefined();
    expect(view.command).toBeUndefined();
  });

  it("has the counts of packs and chunks and the remaining time", async () => {
    const { client, world, putState } = await clientWorld();
    const run = await submit(client, request);
    await world.advance(10_000);
    const nowMs = client.clock.wallMs();
    const marks = [
      { atMs: nowMs - 8_000, ended: 0, computeMs: 0 },
      { atMs: nowMs, ended: 8, computeMs: 8_000 },
    ];
    await putState(run, {
      phase: "computing",
      layout,
      durationsMs: Array.from({ length: 8 }, () => 1_000),
      progress: { generation: 1, turn: 0, marks },
      cursor: 10,
      inFlight: 1,
      packsDone: 7,
      chunksDone: 65,
      packsFailed: 1,
      chunksFailed: 10,
      resends: 2,
      rate: 4,
      terms: [{ term: 3, holder: "node-1", atMs: 0 }],
      led: { planning: 1_000, computing: 8_000, finishing: 0, polls: 20 },
      computeMs: 8_000,
    });
    const view = await status(client, "r1");
    expect(view).toMatchObject({
      word: "computing",
      packs: { total: 10, sent: 9, done: 7, failed: 1, resent: 2 },
      chunks: { total: 95, done: 65, failed: 10 },
      rate: { packsPerS: 4, chunksPerS: 40 },
      elapsedS: 10,
      terms: [{ term: 3, holder: "node-1" }],
    });
    // Two packs of a second each, one at a time.
    expect(view.timeLeft?.lowS).toBeLessThan(2);
    expect(view.timeLeft?.expectedS).toBeCloseTo(2, 0);
    expect(view.timeLeft?.highS).toBeGreaterThan(2);
  });

  it("has the remaining time up to the prefix that the calculation is asked about next", async () => {
    const { client, world, putState } = await clientWorld();
    const run = await submit(client, request);
    await world.advance(10_000);
    const nowMs = client.clock.wallMs();
    const stops = { ...layout, chunks: 1_000, packSize: 8, shardSize: 2, stops: true as const };
    const marks = [
      { atMs: nowMs - 8_000, ended: 0, computeMs: 0 },
      { atMs: nowMs, ended: 8, computeMs: 8_000 },
    ];
    const whole = { gen: 1, node: true };
    const refused = { gen: 1, node: true, stops: false };
    await putState(run, {
      ...{ phase: "computing", layout: stops, cursor: 10, packsDone: 8, chunksDone: 64 },
      durationsMs: Array.from({ length: 8 }, () => 1_000),
      progress: { generation: 1, turn: 0, marks },
      sealed: { 0: whole, 1: whole, 2: whole, 3: whole },
      groups: Object.fromEntries([0, 1, 2, 3].map((at) => [prefixName(at), refused])),
    });
    const view = await status(client, "r1");
    // The first 96 chunks are 12 packs; 113 more than these four are left of the whole run.
    expect(view.stop).toEqual({ of: 1_000, next: { chunks: 96, packs: { total: 12, done: 8, failed: 0 } } });
    expect(view.timeLeft?.expectedS).toBeCloseTo(4, 0);
  });

  it("counts packs that the run gave up neither as failed nor, if they were never sent, as sent", async () => {
    const { client, putState } = await clientWorld();
    const run = await submit(client, request);
    const bits = (byte: number) => Buffer.from([byte, 0]).toString("base64url");
    const counts = { packsDone: 2, packsFailed: 8, chunksDone: 20, chunksFailed: 75, cursor: 10 };
    const sealed = { 0: { members: bits(0b0101), gen: 1, node: false } };
    await putState(run, { phase: "complete", layout, keep: true, sealed, ...counts });
    // An older leader did not record what it gave up.
    expect((await status(client, "r1")).packs).toEqual({
      total: 10,
      sent: 10,
      done: 2,
      failed: 8,
      resent: 0,
    });
    const gaveUp = { cursor: 4, failed: { 0: bits(0b1010) } };
    await putState(run, { phase: "complete", layout, keep: true, sealed, gaveUp, ...counts });
    expect(await status(client, "r1")).toMatchObject({
      packs: { total: 10, sent: 4, done: 2, failed: 2, givenUp: 6 },
      chunks: { total: 95, done: 20, failed: 20, givenUp: 55 },
    });
    // A plain cancel came after it, and before its shard was listed.
    const open = { 0: { done: bits(0b0101), failed: bits(0b1000), recount: true as const } };
    const late = { gaveUp: { cursor: 5, failed: { 0: bits(0b1000) } }, packsFailed: 1, chunksFailed: 10 };
    await putState(run, { phase: "cancelled", layout, keep: true, open, ...counts, ...late, inFlight: 7 });
    expect((await status(client, "r1")).packs).toEqual({ total: 10, sent: 5, done: 2, failed: 1, resent: 0 });
  });

  it("shows a command as pending until the state has seen it", async () => {
    const { client, putState } = await clientWorld();
    const run = await submit(client, request);
    await putState(run, { phase: "computing", layout });
    await command(client, "r1", { kind: "cancel" });
    expect(await status(client, "r1")).toMatchObject({
      word: "cancelling",
      command: { number: 1, want: "cancelled", answer: "pending" },
    });
    await putState(run, { phase: "finishing", layout, command: 1, answer: "too-late" });
    expect(await status(client, "r1")).toMatchObject({ word: "finishing", command: { answer: "too-late" } });
  });

  it("is not paused any more when its deadline has it finish with what is done", async () => {
    const { client, putState } = await clientWorld();
    const run = await submit(client, { ...request, deadline: { ms: 1_000, keep: true } });
    await command(client, "r1", { kind: "pause" });
    const state = { phase: "computing", layout, command: 1, turn: 1 } as const;
    await putState(run, { ...state, paused: true });
    expect(await status(client, "r1")).toMatchObject({ paused: true, keep: false });
    await putState(run, { ...state, keep: true });
    expect(await status(client, "r1")).toMatchObject({ paused: false, keep: true });
  });

  it("is paused as soon as a pause is requested, and still shows its phase", async () => {
    const { client, putState } = await clientWorld();
    const run = await submit(client, request);
    await putState(run, { phase: "computing", layout });
    await command(client, "r1", { kind: "pause" });
    expect(await status(client, "r1")).toMatchObject({ word: "computing", paused: true, active: true });
    await command(client, "r1", { kind: "resume" });
    expect(await status(client, "r1")).toMatchObject({ paused: false, command: { number: 2, want: "run" } });
  });

  it("is deleting during a deletion, whether the run works or has ended", async () => {
    const { client, storage, putState } = await clientWorld();
    const run = await submit(client, request);
    for (const phase of ["computing", "complete"] as const) {
      await putState(run, { phase, layout });
      storage.operator.deleteBlob(names.active, "r1");
      await command(client, "r1", { kind: "delete" });
      expect(await status(client, "r1")).toMatchObject({
        word: "deleting",
        command: { want: "delete", answer: "pending" },
      });
    }
  });

  it("is working again during a retry, without the older error and result, and shows the newest result afterwards", async () => {
    const { client, storage, putState, putResult } = await clientWorld();
    const run = await submit(client, request);
    await putResult(run, "1", { complete: false, missing: [{ from: 3, to: 4 }] });
    const gaps = { phase: "complete", layout, chunksFailed: 1, finishedMs: 5 } as const;
    await putState(run, gaps);
    storage.operator.deleteBlob(names.active, "r1");
    expect(await status(client, "r1")).toMatchObject({
      word: "complete-with-gaps",
      result: { generation: 1 },
    });
    await command(client, "r1", { kind: "retry" });
    const waiting = await status(client, "r1");
    expect(waiting).toMatchObject({ word: "waiting", active: true, generation: 2 });
    expect([waiting.result, waiting.finishedAt]).toEqual([undefined, undefined]);
    await putState(run, { phase: "computing", layout, generation: 2, command: 1 });
    expect(await status(client, "r1")).toMatchObject({ word: "computing", command: { answer: "done" } });
    const error = { code: "x", message: "pack 3 threw" };
    await putState(run, { phase: "failed", layout, generation: 2, command: 1, error });
    storage.operator.deleteBlob(names.active, "r1");
    expect(await status(client, "r1")).toMatchObject({ word: "failed", error, result: { generation: 1 } });
    await command(client, "r1", { kind: "retry" });
    expect((await status(client, "r1")).error).toBeUndefined();
    await putResult(run, "2", { generation: 3 });
    await putState(run, { phase: "complete", layout, generation: 3, command: 2 });
    expect(await status(client, "r1")).toMatchObject({ word: "complete", result: { generation: 3 } });
  });

  it("answers a command to an ended run as too late", async () => {
    const { client, putState, putMarker } = await clientWorld();
    const run = await submit(client, request);
    await putState(run, { phase: "complete", layout });
    await putMarker(run, { want: "cancelled", command: 1 });
    expect(await status(client, "r1")).toMatchObject({ word: "complete", command: { answer: "too-late" } });
  });

  it("has the facts of a finished result and stops its clock", async () => {
    const { client, world, storage, putState, putResult } = await clientWorld();
    const run = await submit(client, request);
    const startMs = client.clock.wallMs();
    await putResult(run, "42", { complete: false, missing: [{ from: 3, to: 4 }] });
    await putState(run, { phase: "complete", layout, chunksFailed: 1, finishedMs: startMs + 5_000 });
    storage.operator.deleteBlob(names.active, "r1");
    await world.advance(60_000);
    expect(await status(client, "r1")).toMatchObject({
      word: "complete-with-gaps",
      active: false,
      elapsedS: 5,
      result: { bytes: 2, complete: false, missing: [{ from: 3, to: 4 }] },
    });
  });

  it("counts the time of all generations of a retried run, and not while it lay failed", async () => {
    const { client, world, putState, putMarker } = await clientWorld();
    const run = await submit(client, request);
    await world.advance(5_000);
    const failedMs = client.clock.wallMs();
    await putState(run, { phase: "failed", layout, finishedMs: failedMs });
    const elapsedS = async () => (await status(client, "r1")).elapsedS;
    expect(await elapsedS()).toBe(5);
    await world.advance(86_400_000);
    await putMarker(run, { generation: 2, command: 1 });
    await world.advance(2_000);
    // No leader has seen the retry yet.
    expect(await elapsedS()).toBe(7);
    const retriedMs = client.clock.wallMs();
    const calls = { write: 100, list: 0, read: 0, other: 0, queue: 300, delete: 0 };
    const cost = costOf(calls, { mbMs: 1e9, executions: 100 });
    const second = {
      ...{ layout, generation: 2, retriedMs, led: { planning: 0, computing: 4_000, finishing: 0, polls: 9 } },
      earlier: [{ generation: 1, tookMs: 5_000, calls, cost }],
    };
    await putState(run, { ...second, phase: "computing" });
    await world.advance(3_000);
    expect(await elapsedS()).toBe(8);
    await putState(run, { ...second, phase: "complete", finishedMs: retriedMs + 4_000 });
    const view = await status(client, "r1");
    expect(view.elapsedS).toBe(9);
    expect(view.generations).toMatchObject([
      { generation: 1, elapsedS: 5, calls, dollars: cost.dollars },
      { generation: 2, elapsedS: 4 },
    ]);
    const [, own] = view.generations ?? [];
    expect(own?.dollars).toBeGreaterThan(0);
    expect(view.dollars).toBeCloseTo(cost.dollars + (own?.dollars ?? 0), 5);
    expect(view.calls.write).toBe(100 + (own?.calls.write ?? 0));
  });

  it("has the reason why a run failed", async () => {
    const { client, putState } = await clientWorld();
    await putState(await submit(client, request), {
      phase: "failed",
      error: { code: "x", message: "pack 3 threw" },
    });
    expect(await status(client, "r1")).toMatchObject({ word: "failed", error: { message: "pack 3 threw" } });
  });

  it("is not-accepted for a run whose submit crashed between its two writes", async () => {
    const { client, storage } = await clientWorld();
    await submit(client, request);
    storage.operator.deleteBlob(names.active, "r1");
    expect((await status(client, "r1")).word).toBe("not-accepted");
  });

  it("sees a marker that a retry creates between its reads", async () => {
    const { client, clientOn, storage, putState } = await clientWorld();
    const run = await submit(client, request);
    await putState(run, { phase: "failed", layout });
    storage.operator.deleteBlob(names.active, "r1");
    const head: typeof storage.blobs.head = async (...args) => {
      const found = await storage.blobs.head(...args);
      if (found.kind === "missing") {
        await command(client, "r1", { kind: "retry" });
        await putState(run, { phase: "computing", layout, generation: 2 });
      }
      return found;
    };
    const racing = clientOn({ ...storage, blobs: { ...storage.blobs, head } });
    expect(await status(racing, "r1")).toMatchObject({ word: "computing", generation: 2 });
  });

  it("ignores the marker of an older run", async () => {
    const { client, storage } = await clientWorld();
    const first = await submit(client, request);
    storage.operator.deleteBlob(names.runs, specBlob("r1"));
    const marker = {
      v: "1",
      uid: first.uid,
      want: "delete",
      generation: "3",
      cap: "5",
      turn: "0",
      command: "9",
    };
    await storage.blobs.create(names.runs, specBlob("r1"), JSON.stringify({ ...spec, uid: "another" }));
    const head = await storage.blobs.head(names.active, "r1");
    if (head.kind === "found") {
      await storage.blobs.setMetadata(names.active, "r1", marker, { ifMatch: head.properties.etag });
    }
    expect(await status(client, "r1")).toMatchObject({ uid: "another", generation: 1, word: "not-accepted" });
  });

  it.each(["nothing", "r1"])(
    "of the unknown run %s is a defined answer, also where nothing was started",
    async (id) => {
      const { client } = await clientWorld({ places: id !== "r1" });
      expect(await failureOf(status(client, id))).toMatchObject({ reason: "unknown", code: "unknown-run" });
    },
  );

  it("is refused for an invalid id before any storage call", async () => {
    const { client, storage } = await clientWorld();
    const before = storage.meter.counts();
    expect(await failureOf(status(client, "../x"))).toMatchObject({ reason: "invalid", code: "bad-run-id" });
    expect(storage.meter.counts()).toEqual(before);
  });

  it("throws if a state does not decode or is of a newer version", async () => {
    const { client, putState } = await clientWorld();
    const run = await submit(client, request);
    await putState(run, { sequence: -1 });
    expect(await failureOf(status(client, "r1"))).toBeInstanceOf(CorruptDataError);
    await putState(run, { v: 2 as 1 });
    expect(await failureOf(status(client, "r1"))).toBeInstanceOf(OtherVersionError);
  });
});
