import { describe, expect, it } from "vitest";
import { awaitAnswer } from "../../src/client/awaitAnswer.ts";
import { command } from "../../src/client/command.ts";
import { readMarker } from "../../src/client/runDocuments.ts";
import { submit } from "../../src/client/submit.ts";
import { encodeMarker, type Want } from "../../src/model/marker.ts";
import { clientWorld, failureOf, names } from "./clientWorld.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

async function running() {
  const world = await clientWorld();
  const run = await submit(world.client, request);
  await world.putState(run, { phase: "computing" });
  return { ...world, run };
}

describe("a command", () => {
  it("raises the number of the marker, keeps the rest, and wakes the leader twice", async () => {
    const { client, run, wakes } = await running();
    const before = await wakes();
    expect(await command(client, "r1", { kind: "cap", cap: 7 })).toMatchObject({
      command: 1,
      cap: 7,
      want: "run",
    });
    expect(await command(client, "r1", { kind: "cancel" })).toMatchObject({ command: 2, want: "cancelled" });
    const marker = { uid: run.uid, want: "cancelled", generation: 1, cap: 7, turn: 0, command: 2 };
    expect((await readMarker(client, "r1"))?.value).toEqual(marker);
    expect((await wakes()) - before).toBe(4);
  });

  it("loses none of twenty given at once", async () => {
    const { client, world } = await running();
    const caps = Array.from({ length: 20 }, (_one, index) => index + 1);
    const all = await world.finish(
      Promise.all(caps.map((cap) => command(client, "r1", { kind: "cap", cap }))),
    );
    expect(all.map((one) => one.command).sort((a, b) => a - b)).toEqual(caps);
    expect((await readMarker(client, "r1"))?.value.command).toBe(20);
  });

  it.each(["complete", "failed", "cancelled"] as const)("is too late for a run that is %s", async (phase) => {
    const { client, storage, run, putState } = await running();
    await putState(run, { phase });
    const cancel = () => failureOf(command(client, "r1", { kind: "cancel" }));
    expect(await cancel()).toMatchObject({ reason: "conflict", code: "too-late" });
    storage.operator.deleteBlob(names.active, "r1");
    expect(await cancel()).toMatchObject({ reason: "conflict", code: "too-late" });
  });

  it("to an unknown run says so", async () => {
    const { client } = await clientWorld();
    expect(await failureOf(command(client, "r9", { kind: "cancel" }))).toMatchObject({ code: "unknown-run" });
  });

  it("to a run that was never accepted says how to complete it", async () => {
    const { client, storage } = await clientWorld();
    await submit(client, request);
    storage.operator.deleteBlob(names.active, "r1");
    expect(await failureOf(command(client, "r1", { kind: "cancel" }))).toMatchObject({
      code: "not-accepted",
    });
  });

  it("to a run on its way out is refused", async () => {
    const { client, storage, run } = await running();
    const set = async (want: Want) => {
      const marker = await readMarker(client, "r1");
      const metadata = encodeMarker({ uid: run.uid, want, generation: 1, cap: 1, turn: 0, command: 1 });
      await storage.blobs.setMetadata(names.active, "r1", metadata, { ifMatch: marker?.etag ?? "" });
    };
    await set("delete");
    expect(await failureOf(command(client, "r1", { kind: "cancel" }))).toMatchObject({
      code: "being-deleted",
    });
  });

  it("with a cap outside the limits is refused before storage is asked", async () => {
    const { client, storage } = await running();
    const before = storage.meter.counts();
    for (const cap of [0, -1, 1.5, 100_001, Number.NaN]) {
      expect(await failureOf(command(client, "r1", { kind: "cap", cap }))).toMatchObject({ code: "bad-cap" });
    }
    expect(storage.meter.counts()).toEqual(before);
  });

  it("is waited for until the leader answers", async () => {
    const { client, world, run, putState } = await running();
    const given = await command(client, "r1", { kind: "cancel" });
    const waiting = awaitAnswer(client, given, 10_000);
    await world.advance(1_000);
    await putState(run, { phase: "cancelled", command: 1, answer: "done" });
    expect(await world.finish(waiting)).toMatchObject({ word: "cancelled", command: { answer: "done" } });
  });

  it("stays pending where nobody leads, and the wait ends in its time", async () => {
    const { client, world } = await running();
    const given = await command(client, "r1", { kind: "cancel" });
    const startMs = world.nowMs();
    const view = await world.finish(awaitAnswer(client, given, 10_000));
    expect(view.command?.answer).toBe("pending");
    expect(world.nowMs() - startMs).toBeLessThan(10_500);
  });
});
