import { describe, expect, it } from "vitest";
import { clientLimits } from "../../src/engine/client/client.ts";
import { failures } from "../../src/engine/client/failures.ts";
import { findManifest, findResult, openResult } from "../../src/engine/client/result.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { CorruptDataError, NotReadyError } from "../../src/engine/model/errors.ts";
import { encodeMarker } from "../../src/engine/model/marker.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { clientWorld, counted, failureOf, names } from "./clientWorld.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

async function submitted() {
  const world = await clientWorld();
  return { ...world, run: await submit(world.client, request) };
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

describe("the result of a run", () => {
  it("is streamed whole or in part", async () => {
    const { client, run, putResult } = await submitted();
    const manifest = await putResult(run, '{"sum":4950}');
    expect(await findManifest(client, "r1")).toEqual(manifest);
    expect(await textOf((await openResult(client, manifest)).body)).toBe('{"sum":4950}');
    expect(await textOf((await openResult(client, manifest, { offset: 7, count: 4 })).body)).toBe("4950");
  });

  it("exists as soon as its manifest exists, before the final state", async () => {
    const { client, run, putResult, putState } = await submitted();
    await putState(run, { ...counted, phase: "finishing" });
    await putResult(run, "1");
    expect(await findManifest(client, "r1")).toMatchObject({ generation: 1 });
  });

  it.each([
    ["the bytes differ", "4951", {}],
    ["the length differs", "49500", {}],
  ])("ends with an error when %s from the manifest", async (_what, text) => {
    const { client, storage, run, putResult } = await submitted();
    const manifest = await putResult(run, "4950");
    storage.operator.overwriteBlob(names.results, manifest.blob, text);
    const { body } = await openResult(client, manifest);
    const error = await failureOf(textOf(body));
    expect(error).toBeInstanceOf(CorruptDataError);
    expect(error).toMatchObject({ code: "result-hash" });
  });

  it("is reported as corrupt data if its blob is gone", async () => {
    const { client, storage, run, putResult } = await submitted();
    const manifest = await putResult(run, "4950");
    storage.operator.deleteBlob(names.results, manifest.blob);
    expect(await failureOf(openResult(client, manifest))).toMatchObject({ code: "result-missing" });
  });

  it.each(["planning", "computing", "finishing"] as const)(
    "is not ready while the run is %s",
    async (phase) => {
      const { client, run, putState } = await submitted();
      await putState(run, { phase });
      const error = await failureOf(findManifest(client, "r1"));
      expect(error).toBeInstanceOf(NotReadyError);
      expect(error).toMatchObject({ code: "not-finished", message: expect.stringContaining(phase) });
    },
  );

  it("is refused with the reason for a failed or cancelled run", async () => {
    const { client, run, putState } = await submitted();
    await putState(run, { phase: "failed", error: { code: "x", message: "pack 3 threw" } });
    expect(await failureOf(findManifest(client, "r1"))).toMatchObject({
      code: "run-failed",
      message: expect.stringContaining("pack 3 threw"),
    });
    await putState(run, { phase: "cancelled" });
    expect(await failureOf(findManifest(client, "r1"))).toMatchObject({ code: "run-cancelled" });
  });

  it("is given by generation number only for an older generation while a newer one works", async () => {
    const { client, storage, run, putState, putResult } = await submitted();
    await putResult(run, "1");
    await putState(run, { phase: "complete" });
    storage.operator.deleteBlob(names.active, "r1");
    const metadata = encodeMarker({ uid: run.uid, want: "run", generation: 2, cap: 1, turn: 0, command: 1 });
    await storage.blobs.create(names.active, "r1", "", { metadata });
    expect(await failureOf(findManifest(client, "r1"))).toMatchObject({
      code: "not-finished",
      message: expect.stringContaining("it is waiting in generation 2"),
    });
    expect(await findManifest(client, "r1", { generation: 1 })).toMatchObject({ generation: 1 });
    const none = await failureOf(findManifest(client, "r1", { generation: 7 }));
    expect(none).toMatchObject({ reason: "unknown", code: "unknown-generation" });
    await putState(run, { ...counted, phase: "failed", generation: 2 });
    expect(await findResult(client, "r1")).toMatchObject({
      manifest: { generation: 1 },
      newest: { generation: 2, phase: "failed" },
    });
    const asked = await findResult(client, "r1", { generation: 1 });
    expect([asked.manifest.generation, asked.newest]).toEqual([1, undefined]);
    await putResult(run, "2", { generation: 2 });
    const newest = await findResult(client, "r1");
    expect([newest.manifest.generation, newest.newest]).toEqual([2, undefined]);
  });

  it("is unknown for an unknown run", async () => {
    const { client } = await clientWorld({ places: false });
    expect(await failureOf(findManifest(client, "r1"))).toMatchObject({ code: "unknown-run" });
  });
});

describe("the failures of a run", () => {
  const record = (code: string, change = {}) =>
    JSON.stringify({ v: 1, cause: "error", code, message: "it threw", attempts: 5, ...change });

  it("name the work, the chunks, the error and the attempts", async () => {
    const { client, storage, run } = await submitted();
    const blobs = runBlobs(run.run, run.uid);
    const put = (name: string, body: string) => storage.operator.overwriteBlob(names.runs, name, body);
    put(
      blobs.failure({ kind: "pack", shard: 0, pack: 7 }, 1, 1),
      record("calculation-threw", { chunks: { from: 70, to: 80 } }),
    );
    put(blobs.failure({ kind: "finish" }, 2, 3), record("time-limit"));
    put(blobs.failure({ kind: "node", level: 1, index: 2 }, 1, 1), "{");
    const found = await failures(client, "r1");
    expect(found).toMatchObject({ run: "r1", more: false });
    expect(found.failures).toEqual([
      {
        work: "00000/00000007",
        pack: 7,
        generation: 1,
        send: 1,
        cause: "error",
        code: "calculation-threw",
        message: "it threw",
        attempts: 5,
        chunks: { from: 70, to: 80 },
      },
      expect.objectContaining({ work: "finish", generation: 2, send: 3, code: "time-limit" }),
      expect.objectContaining({ work: "node/1/00002", code: "not-json" }),
    ]);
    expect(await failures(client, "r1", { max: 1 })).toMatchObject({ failures: [{ pack: 7 }], more: true });
  });

  it("name the inputs of small packs of a listed plan, and every chunk range", async () => {
    const { client, storage, run } = await submitted();
    const blobs = runBlobs(run.run, run.uid);
    const put = (name: string, body: unknown) =>
      storage.operator.overwriteBlob(names.runs, name, JSON.stringify(body));
    const plan = {
      v: 1,
      run: "r1",
      uid: run.uid,
      code: "test",
      spec: "a".repeat(64),
      chunks: 8,
      packSize: 3,
      shardSize: 256,
      packMs: 1,
    };
    put(blobs.plan, { ...plan, segments: { attempt: "a", starts: [0, 4], sha256: [] } });
    put(blobs.segment("a", 0), { v: 1, from: 0, inputs: ["a", "b", "c", "d"] });
    put(blobs.segment("a", 1), { v: 1, from: 4, inputs: ["e", "f", "g", { h: 8 }] });
    for (const pack of [0, 1, 2]) {
      put(blobs.failure({ kind: "pack", shard: 0, pack }, 1, 1), JSON.parse(record("calculation-threw")));
    }
    const found = (await failures(client, "r1", { inputs: true })).failures;
    expect(found.map(({ chunks, inputs }) => [chunks, inputs])).toEqual([
      [{ from: 0, to: 3 }, ["a", "b", "c"]],
      [{ from: 3, to: 6 }, ["d", "e", "f"]],
      [{ from: 6, to: 8 }, ["g", { h: 8 }]],
    ]);
    const plain = (await failures(client, "r1")).failures;
    expect(plain.map(({ chunks, inputs }) => [chunks?.from, inputs])).toEqual([
      [0, undefined],
      [3, undefined],
      [6, undefined],
    ]);
    put(blobs.segment("a", 1), { v: 1, from: 4, inputs: "lost" });
    const rest = (await failures(client, "r1", { inputs: true })).failures;
    expect(rest.map(({ inputs }) => inputs)).toEqual([["a", "b", "c"], undefined, undefined]);
    put(blobs.plan, { ...plan, packSize: 11, segments: { attempt: "a", starts: [0, 4], sha256: [] } });
    const large = (await failures(client, "r1", { inputs: true, max: 1 })).failures;
    expect(large.map(({ chunks, inputs }) => [chunks, inputs])).toEqual([[{ from: 0, to: 8 }, undefined]]);
  });

  it("read at most the limit of segments for the inputs of many packs", async () => {
    const { client, storage, run } = await submitted();
    const blobs = runBlobs(run.run, run.uid);
    const put = (name: string, body: unknown) =>
      storage.operator.overwriteBlob(names.runs, name, JSON.stringify(body));
    const starts = Array.from({ length: 40 }, (_one, index) => index);
    const plan = {
      v: 1,
      run: "r1",
      uid: run.uid,
      code: "test",
      spec: "a".repeat(64),
      chunks: 40,
      packSize: 1,
      shardSize: 256,
      packMs: 1,
    };
    put(blobs.plan, { ...plan, segments: { attempt: "a", starts, sha256: [] } });
    for (const pack of starts) {
      put(blobs.segment("a", pack), { v: 1, from: pack, inputs: [`input ${pack}`] });
      put(blobs.failure({ kind: "pack", shard: 0, pack }, 1, 1), JSON.parse(record("calculation-threw")));
    }
    const found = (await failures(client, "r1", { inputs: true })).failures;
    const told = found.filter((one) => one.inputs !== undefined);
    expect([found.length, told.length]).toEqual([40, clientLimits.inputSegmentsRead]);
    for (const one of told) expect(one.inputs).toEqual([`input ${one.pack}`]);
  });

  it("are empty for a run without failures, and unknown for an unknown run", async () => {
    const { client } = await submitted();
    expect((await failures(client, "r1")).failures).toEqual([]);
    expect(await failureOf(failures(client, "r2"))).toMatchObject({ code: "unknown-run" });
  });
});
