import { describe, expect, it } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { runs } from "../../src/engine/client/runs.ts";
import { status } from "../../src/engine/client/status.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { closedBlob, encodeClosedRun } from "../../src/engine/model/closedRun.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";
import { encodeMarker } from "../../src/engine/model/marker.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { spentOf } from "../../src/engine/model/spent.ts";
import { engineWorld, simNames } from "../support/engineWorld.ts";
import { clientWorld, names } from "./clientWorld.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

/** Ended runs `r1` to `r{count}`, a second apart, without any other blob. */
async function ended(count: number) {
  const made = await clientWorld();
  const { storage, client } = made;
  for (let number = 1; number <= count; number += 1) {
    const phase = number % 3 === 0 ? "failed" : "complete";
    const calculation = number % 2 === 0 ? "even" : "odd";
    const rest = { params: { number }, finishedMs: 1e12 + number * 1_000, cost: spentOf(undefined).cost };
    const run = { run: `r${number}`, uid: "u", generation: 1, phase, calculation, ...rest } as const;
    const metadata = encodeClosedRun(run);
    await storage.blobs.create(names.runs, closedBlob(run.run, 1e12 + number * 1_000), "", { metadata });
  }
  const idsOf = ({ runs: page }: Awaited<ReturnType<typeof runs>>) => page.map(({ run }) => run);
  return { storage, client, idsOf };
}

const down = (from: number, to: number) =>
  Array.from({ length: from - to + 1 }, (_, step) => `r${from - step}`);

describe("the list of runs", () => {
  it("has active runs first, the newest submit first, and includes unreadable ones", async () => {
    const { client, world, storage, putState } = await clientWorld();
    for (const id of ["broken", "newer", "older", "odd", "new", "busy", "gone"]) {
      const run = await submit(client, { ...request, id });
      const setMarker = async (metadata: Record<string, string>) => {
        storage.operator.deleteBlob(names.active, id);
        await storage.blobs.create(names.active, id, "", { metadata });
      };
      if (id === "odd") await setMarker({ v: "1", uid: run.uid });
      if (id === "new") await setMarker({ v: "2", uid: run.uid });
      if (id === "broken") storage.operator.overwriteBlob(names.runs, runBlobs(run.run, run.uid).state, "{");
      if (id === "newer") await putState(run, { v: 2 as 1 });
      if (id === "older") await putState(run, { v: 0 as 1 });
      if (id === "gone") storage.operator.deleteBlob(names.runs, "gone/spec.json");
      await world.advance(2_000);
    }
    storage.operator.overwriteBlob(names.runs, "_dropped/abc", "");
    const unreadable = { v: "no base64 of any JSON" };
    await storage.blobs.create(names.runs, closedBlob("torn", 5_000), "", { metadata: unreadable });
    const ended = (id: string, ms: number, v: number) => {
      const run = Buffer.from(JSON.stringify({ v })).toString("base64url");
      return storage.blobs.create(names.runs, closedBlob(id, ms), "", { metadata: { run } });
    };
    await ended("later", 6_000, 2);
    await ended("before", 5_500, 0);
    const listed = await runs(client);
    expect(listed.cursor).toBeUndefined();
    expect(listed.runs.map(({ run, word }) => [run, word])).toEqual([
      ["busy", "waiting"],
      ["broken", "unreadable"],
      ["new", "needs-newer-version"],
      ["newer", "needs-newer-version"],
      ["odd", "unreadable"],
      ["older", "needs-older-version"],
      ["later", "needs-newer-version"],
      ["before", "needs-older-version"],
      ["torn", "unreadable"],
    ]);
  });

  it("tells of a blob among the markers whose name is no run's id, and reads nothing under that name", async () => {
    const { client, storage } = await clientWorld();
    const { uid } = await submit(client, request);
    const name = "x".repeat(1_024);
    const metadata = encodeMarker({ uid, want: "run", generation: 1, cap: 1, turn: 0, command: 0 });
    await storage.blobs.create(names.active, name, "", { metadata });
    const { read } = storage.blobs;
    storage.blobs.read = (container, blob, ...rest) =>
      blob.startsWith(name) ? expect.fail(blob) : read(container, blob, ...rest);
    const listed = (await runs(client)).runs;
    expect(listed.map(({ run, word }) => [run, word])).toEqual([
      ["r1", "waiting"],
      [name, "unreadable"],
    ]);
  });

  it("is empty before anything was started", async () => {
    const { client } = await clientWorld({ places: false });
    expect(await runs(client)).toEqual({ runs: [] });
  });

  it("says of ended runs what their status says", async () => {
    let broken = true;
    const onChunk = (chunk: number) => {
      if (broken && chunk === 7) throw new CalculationError("calculation-threw", "seven");
    };
    const engine = engineWorld({ code: { onChunk } });
    const { world, client } = engine;
    engine.start();
    for (const id of ["whole", "gaps", "failed", "cancelled", "kept", "retried"]) {
      const chunks = id === "whole" ? 5 : id === "kept" ? 4_000 : 40;
      const tolerated = id === "gaps" || id === "kept" ? 2 : 0;
      await engine.submit({ id, chunks, packSize: 1, tolerate: { chunks: tolerated } });
      await world.advance(id === "kept" ? 8_000 : 1_000);
      if (id === "kept") await world.finish(command(client, id, { kind: "cancel", keep: true }));
      if (id === "cancelled") await world.finish(command(client, id, { kind: "cancel" }));
      await engine.untilEnd(id);
      await world.advance(2_000);
    }
    broken = false;
    await world.finish(command(client, "retried", { kind: "retry" }));
    expect((await runs(client)).runs.map(({ run, active }) => [run, active])[0]).toEqual(["retried", true]);
    await world.advance(60_000);
    const { runs: listed } = await runs(client);
    expect(listed.map(({ run, word }) => [run, word])).toEqual([
      ["retried", "complete"],
      ["kept", "complete-with-gaps"],
      ["cancelled", "cancelled"],
      ["failed", "failed"],
      ["gaps", "complete-with-gaps"],
      ["whole", "complete"],
    ]);
    for (const one of listed) {
      const { packs, ...rest } = one as Record<string, unknown>;
      const view = await status(client, one.run);
      expect(view).toMatchObject(rest);
      const { sent: _sent, resent: _resent, ...counts } = view.packs ?? { sent: 0, resent: 0 };
      expect(packs).toEqual(view.packs && counts);
      if (one.run !== "kept") expect(counts).not.toHaveProperty("givenUp");
    }
    const kept = (await status(client, "kept")).packs;
    if (kept === undefined) throw new Error("it was not planned");
    expect(kept.done + kept.failed + (kept.givenUp ?? 0)).toBe(kept.total);
    expect(kept.sent).toBeGreaterThanOrEqual(kept.done + kept.failed);
    expect(kept.sent).toBeLessThan(kept.total);
  });

  it("has a run whose spec does not decode, until that is deleted", async () => {
    const engine = engineWorld();
    const { world, client, storage } = engine;
    await engine.submit({ id: "torn", chunks: 5, packSize: 1 });
    await world.advance(5_000);
    storage.operator.overwriteBlob(simNames.runs, "torn/spec.json", "{");
    engine.start();
    await world.advance(30_000);
    expect((await runs(client)).runs).toMatchObject([{ run: "torn", word: "failed", calculation: "" }]);
    const { blobs } = storage;
    const uid = (await runs(client)).runs.flatMap((one) => ("uid" in one ? one.uid : []))[0] ?? "";
    const marker = encodeMarker({ uid, want: "delete", generation: 1, cap: 1, turn: 0, command: 1 });
    await blobs.create(simNames.active, "torn", "", { metadata: marker });
    await world.advance(60_000);
    expect(await runs(client)).toEqual({ runs: [] });
    expect(storage.operator.blobNames(simNames.runs).filter((name) => name.startsWith("_closed/"))).toEqual(
      [],
    );
  });

  it("comes in pages that skip and repeat nothing, whatever the filter", async () => {
    const { client, idsOf } = await ended(25);
    const all = async (query: Parameters<typeof runs>[1]) => {
      const found: string[][] = [];
      let cursor: string | undefined;
      do {
        const page = await runs(client, { ...query, cursor });
        found.push(idsOf(page));
        cursor = page.cursor;
      } while (cursor !== undefined);
      return found;
    };
    expect(await all({ limit: 10 })).toEqual([down(25, 16), down(15, 6), down(5, 1)]);
    expect(await all({ limit: 25 })).toEqual([down(25, 1)]);
    const even = down(25, 1).filter((id) => Number(id.slice(1)) % 2 === 0);
    expect(await all({ limit: 5, calculation: "even" })).toEqual([
      even.slice(0, 5),
      even.slice(5, 10),
      even.slice(10),
    ]);
    expect((await all({ limit: 3, phase: "failed" })).flat()).toEqual(
      down(25, 1).filter((id) => Number(id.slice(1)) % 3 === 0),
    );
    expect(await all({ phase: "active" })).toEqual([[]]);
  });

  it("has many active runs in pages by id, and the first ended ones with the last of them", async () => {
    const { client, storage, idsOf } = await ended(2);
    const ids = Array.from({ length: 7 }, (_, at) => `a${at}`);
    for (const id of ids) await submit(client, { ...request, id });
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const { read } = storage.meter.counts();
      const page = await runs(client, { limit: 3, cursor });
      expect(storage.meter.counts().read - read).toBeLessThanOrEqual(6);
      pages.push(idsOf(page).sort());
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(pages).toEqual([ids.slice(0, 3), ids.slice(3, 6), ["a6", "r1", "r2"]]);
    const first = await runs(client, { phase: "active", limit: 7 });
    expect([idsOf(first).length, first.cursor]).toEqual([7, undefined]);
    const shown = await runs(client, { phase: "active", limit: 4 });
    const rest = await runs(client, { phase: "active", limit: 4, cursor: shown.cursor });
    expect([...idsOf(shown), ...idsOf(rest)].sort()).toEqual(ids);
    expect(rest.cursor).toBe(undefined);
  });

  it("costs one list call for a thousand ended runs beside that of the active ones", async () => {
    const { client, storage, idsOf } = await ended(1_000);
    await submit(client, { ...request, id: "active" });
    const cost = async (query: Parameters<typeof runs>[1]) => {
      const before = storage.meter.counts();
      const page = await runs(client, query);
      const after = storage.meter.counts();
      const { list, read, other } = after;
      return [idsOf(page).length, list - before.list, read - before.read, other - before.other];
    };
    expect(await cost({ limit: 1_000 })).toEqual([1_001, 2, 2, 0]);
    expect(await cost({ limit: 10, calculation: "even" })).toEqual([10, 2, 2, 0]);
    expect(await cost({ limit: 10, phase: "failed" })).toEqual([10, 2, 0, 0]);
  });

  it("refuses a limit, phase or cursor that is none, naming the field", async () => {
    const { client } = await clientWorld();
    for (const [query, field] of [
      [{ limit: 0 }, "limit"],
      [{ limit: 1_001 }, "limit"],
      [{ phase: "nearly" }, "phase"],
      [{ cursor: "abc" }, "cursor"],
    ] as const) {
      await expect(runs(client, query)).rejects.toMatchObject({ reason: "invalid", details: { field } });
    }
  });
});
