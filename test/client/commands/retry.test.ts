import { describe, expect, it } from "vitest";
import { command } from "../../../src/engine/client/commands/command.ts";
import { readMarker } from "../../../src/engine/client/runDocuments.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import type { Manifest } from "../../../src/engine/model/run.ts";
import { resultBlobs } from "../../../src/engine/model/runBlobs.ts";
import type { Phase } from "../../../src/engine/model/state.ts";
import { clientWorld, failureOf, names } from "../clientWorld.ts";
import { Crash, crashingStorage } from "../crashingStorage.ts";

const retry = { kind: "retry" } as const;
const gaps = { complete: false, folded: 9, missing: [{ from: 3, to: 4 }] } satisfies Partial<Manifest>;

/** A run of which this came; its marker is gone, as after its clean-up. */
async function ended(phase: Phase, manifest?: Partial<Manifest>) {
  const world = await clientWorld();
  const run = await submit(world.client, { calculation: "sum", params: { to: 100 }, id: "r1", cap: 9 });
  if (manifest !== undefined) await world.putResult(run, "1", manifest);
  await world.putState(run, { phase, cap: 9, turn: 4, command: 6 });
  world.storage.operator.deleteBlob(names.active, "r1");
  return { ...world, run };
}

describe("a retry", () => {
  it.each([
    ["failed", "failed", undefined],
    ["was cancelled", "cancelled", undefined],
    ["is complete with gaps", "complete", gaps],
    ["lost its manifest", "complete", undefined],
  ] as const)(
    "of a run that %s asks for the next generation with its cap",
    async (_what, phase, manifest) => {
      const { client, run, wakes } = await ended(phase, manifest);
      const before = await wakes();
      const marker = { uid: run.uid, want: "run", generation: 2, cap: 9, turn: 5, command: 7 };
      expect(await command(client, "r1", retry)).toMatchObject({ generation: 2, command: 7, changed: true });
      expect((await readMarker(client, "r1"))?.value).toEqual(marker);
      expect((await wakes()) - before).toBe(2);
    },
  );

  it("replaces the marker that the clean-up has not removed yet, so that it can no longer remove it", async () => {
    const { client, storage, run, putMarker } = await ended("cancelled");
    await putMarker(run, { want: "cancelled", cap: 9, turn: 5, command: 6 });
    const listed = (await readMarker(client, "r1"))?.etag ?? "";
    await command(client, "r1", retry);
    expect(await storage.blobs.remove(names.active, "r1", { ifMatch: listed })).toBe("conflict");
    expect((await readMarker(client, "r1"))?.value).toEqual({
      uid: run.uid,
      want: "run",
      generation: 2,
      cap: 9,
      turn: 6,
      command: 7,
    });
  });

  it("is accepted for a run whose manifest does not decode", async () => {
    const { client, storage, run } = await ended("complete", gaps);
    storage.operator.overwriteBlob(names.results, resultBlobs("r1", run.uid).manifest(1), "{");
    expect(await command(client, "r1", retry)).toMatchObject({ generation: 2 });
  });

  it("is written once for many requests, at once and after a crash", async () => {
    const { client, clientOn, storage, world } = await ended("failed");
    const dying = clientOn(crashingStorage(storage, 0).storage);
    expect(await failureOf(command(dying, "r1", retry))).toBeInstanceOf(Crash);
    const given = await world.finish(
      Promise.all(Array.from({ length: 20 }, () => command(client, "r1", retry))),
    );
    for (const one of given) expect(one).toMatchObject({ generation: 2, command: 7, changed: false });
    expect((await readMarker(client, "r1"))?.value).toMatchObject({ generation: 2, turn: 5 });
  });

  it("is written once by twenty that race for the marker", async () => {
    const { client, world } = await ended("failed");
    const given = await world.finish(
      Promise.all(Array.from({ length: 20 }, () => command(client, "r1", retry))),
    );
    expect(given.filter((one) => one.changed)).toHaveLength(1);
    expect(new Set(given.map((one) => one.generation))).toEqual(new Set([2]));
  });

  it("is accepted after a retry that failed", async () => {
    const { client, putState, run } = await ended("complete", gaps);
    await putState(run, { phase: "failed", generation: 2, command: 7, turn: 5 });
    expect(await command(client, "r1", retry)).toMatchObject({ generation: 3, command: 8 });
  });

  it("is refused for a complete run", async () => {
    const { client, run, putMarker } = await ended("complete", {});
    const refused = { reason: "conflict", code: "nothing-to-retry" };
    expect(await failureOf(command(client, "r1", retry))).toMatchObject(refused);
    expect(await readMarker(client, "r1")).toBeUndefined();
    await putMarker(run);
    expect(await failureOf(command(client, "r1", retry))).toMatchObject(refused);
  });

  it.each(["planning", "computing", "finishing"] as const)(
    "of a run that is %s is refused",
    async (phase) => {
      const { client, run, putMarker } = await ended(phase);
      await putMarker(run);
      const before = await readMarker(client, "r1");
      const error = { reason: "conflict", code: "still-working", message: expect.stringContaining(phase) };
      expect(await failureOf(command(client, "r1", retry))).toMatchObject(error);
      expect((await readMarker(client, "r1"))?.etag).toBe(before?.etag);
    },
  );

  it("is refused for a run that no leader has seen", async () => {
    const { client } = await clientWorld();
    await submit(client, { calculation: "sum", params: { to: 100 }, id: "r1" });
    expect(await failureOf(command(client, "r1", retry))).toMatchObject({ code: "still-working" });
  });

  it("is refused while an earlier retry is being cancelled", async () => {
    const { client } = await ended("failed");
    await command(client, "r1", retry);
    await command(client, "r1", { kind: "cancel" });
    expect(await failureOf(command(client, "r1", retry))).toMatchObject({ code: "still-working" });
  });
});
