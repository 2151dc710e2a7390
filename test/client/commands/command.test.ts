import { describe, expect, it } from "vitest";
import { command } from "../../../src/engine/client/commands/command.ts";
import type { Change } from "../../../src/engine/client/commands/decideCommand.ts";
import { readMarker } from "../../../src/engine/client/runDocuments.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { CorruptDataError } from "../../../src/engine/model/errors.ts";
import { runBlobs, specBlob } from "../../../src/engine/model/runBlobs.ts";
import { clientWorld, failureOf, names } from "../clientWorld.ts";
import { Crash, crashingStorage } from "../crashingStorage.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

async function running() {
  const world = await clientWorld();
  const run = await submit(world.client, request);
  await world.putState(run, { phase: "computing" });
  return { ...world, run };
}

const all: readonly Change[] = [
  { kind: "pause" },
  { kind: "resume" },
  { kind: "cancel" },
  { kind: "cancel", keep: true },
  { kind: "cap", cap: 7 },
  { kind: "retry" },
  { kind: "delete" },
];
const steering = all.slice(0, 5);
const kindOf = (change: Change) => (change.kind === "cancel" && change.keep ? "cancel --keep" : change.kind);
const kinds = (changes: readonly Change[]) => changes.map((change) => [kindOf(change), change] as const);

describe("a command", () => {
  it("raises the number of the marker, keeps the rest, and wakes the leader twice", async () => {
    const { client, run, wakes } = await running();
    const before = await wakes();
    const capped = {
      command: 1,
      changed: true,
      cap: 7,
      want: "run",
      keep: false,
      generation: 1,
      kind: "cap",
      woken: true,
    };
    expect(await command(client, "r1", { kind: "cap", cap: 7 })).toEqual({
      run: "r1",
      uid: run.uid,
      ...capped,
    });
    const submitted = await readMarker(client, "r1");
    expect(await command(client, "r1", { kind: "cancel" })).toMatchObject({ command: 2, want: "cancelled" });
    const marker = { uid: run.uid, want: "cancelled", generation: 1, cap: 7, turn: 0, command: 2 };
    expect((await readMarker(client, "r1"))?.value).toEqual({ ...marker, spec: submitted?.value.spec });
    expect((await wakes()) - before).toBe(4);
  });

  it("to pause or resume begins a new turn", async () => {
    const { client } = await running();
    const marker = async () => (await readMarker(client, "r1"))?.value;
    await command(client, "r1", { kind: "pause" });
    expect(await marker()).toMatchObject({ want: "paused", turn: 1, command: 1 });
    await command(client, "r1", { kind: "cap", cap: 7 });
    expect(await marker()).toMatchObject({ want: "paused", turn: 1, command: 2, cap: 7 });
    await command(client, "r1", { kind: "resume" });
    expect(await marker()).toMatchObject({ want: "run", turn: 2, command: 3, cap: 7 });
    await command(client, "r1", { kind: "cancel" });
    expect(await marker()).toMatchObject({ want: "cancelled", turn: 2, command: 4 });
  });

  it.each(kinds(steering))("to %s is accepted without a write when repeated", async (_kind, change) => {
    const { client } = await running();
    const first = await command(client, "r1", change);
    const before = await readMarker(client, "r1");
    expect(await command(client, "r1", change)).toEqual({ ...first, changed: false });
    expect((await readMarker(client, "r1"))?.etag).toBe(before?.etag);
  });

  it("sends the wakes that a client did not send after a crash after its write", async () => {
    const { client, clientOn, storage, wakes } = await running();
    const before = await wakes();
    const dying = clientOn(crashingStorage(storage, 0).storage);
    expect(await failureOf(command(dying, "r1", { kind: "pause" }))).toBeInstanceOf(Crash);
    expect(await wakes()).toBe(before);
    expect(await command(client, "r1", { kind: "pause" })).toMatchObject({ command: 1, changed: false });
    expect(await wakes()).toBe(before + 2);
  });

  it("is not lost among twenty at once", async () => {
    const { client, world } = await running();
    const caps = Array.from({ length: 20 }, (_one, index) => index + 1);
    const given = await world.finish(
      Promise.all(caps.map((cap) => command(client, "r1", { kind: "cap", cap }))),
    );
    expect(given.map((one) => one.command).sort((a, b) => a - b)).toEqual(caps);
    expect((await readMarker(client, "r1"))?.value.command).toBe(20);
  });

  it("never overwrites a command that was written after its read of the marker", async () => {
    const { client, clientOn, storage, world } = await running();
    let others = 0;
    const read: typeof storage.blobs.read = async (...args) => {
      const found = await storage.blobs.read(...args);
      others += 1;
      if (others === 1) await command(client, "r1", { kind: "cap", cap: 9 });
      return found;
    };
    const slow = clientOn({ ...storage, blobs: { ...storage.blobs, read } });
    await world.finish(command(slow, "r1", { kind: "pause" }));
    expect((await readMarker(client, "r1"))?.value).toMatchObject({ want: "paused", cap: 9, command: 2 });
  });

  it.each(kinds(steering))("to %s is too late for a run that has ended", async (_kind, change) => {
    const { client, storage, run, putState, putMarker } = await running();
    for (const phase of ["complete", "failed", "cancelled"] as const) {
      await putState(run, { phase });
      await putMarker(run);
      const before = await readMarker(client, "r1");
      const late = { reason: "conflict", code: "too-late", message: `run r1 is ${phase} already` };
      expect(await failureOf(command(client, "r1", change))).toMatchObject(late);
      expect((await readMarker(client, "r1"))?.etag).toBe(before?.etag);
      storage.operator.deleteBlob(names.active, "r1");
      expect(await failureOf(command(client, "r1", change))).toMatchObject(late);
      expect(await readMarker(client, "r1")).toBeUndefined();
    }
  });

  it.each([
    [{ kind: "cancel" }, { kind: "cancel", keep: true }, "r1 is being cancelled; it cannot be finished"],
    [{ kind: "cancel", keep: true }, { kind: "cancel" }, "r1 is being finished with what is done; it cannot"],
    [{ kind: "cancel", keep: true }, { kind: "pause" }, "r1 is cancelled and cannot become paused"],
    [{ kind: "cancel", keep: true }, { kind: "resume" }, "r1 is cancelled and cannot become run"],
  ] as const)("%o stands against %o", async (first, second, message) => {
    const { client } = await running();
    await command(client, "r1", first);
    const before = await readMarker(client, "r1");
    const error = await failureOf(command(client, "r1", second));
    expect(error).toMatchObject({ reason: "conflict", code: "not-allowed" });
    expect(String(error)).toContain(message);
    expect((await readMarker(client, "r1"))?.etag).toBe(before?.etag);
  });

  it("to cancel with keep stays in the marker until the next generation", async () => {
    const { client, run, putState, putResult } = await running();
    const marker = async () => (await readMarker(client, "r1"))?.value;
    await command(client, "r1", { kind: "pause" });
    const kept = { want: "cancelled", keep: true, command: 2 };
    expect(await command(client, "r1", { kind: "cancel", keep: true })).toMatchObject(kept);
    expect(await marker()).toMatchObject({ want: "cancelled", keep: "1", turn: 1, command: 2 });
    await command(client, "r1", { kind: "cap", cap: 7 });
    expect(await marker()).toMatchObject({ want: "cancelled", keep: "1", cap: 7, command: 3 });
    await putResult(run, "1", { complete: false });
    await putState(run, { phase: "complete", command: 3 });
    expect(await command(client, "r1", { kind: "retry" })).toMatchObject({ keep: false, generation: 2 });
    expect(await marker()).not.toHaveProperty("keep");
  });

  it("steers a retry that no leader has begun, though the state is still final", async () => {
    const { client, run, putState, putMarker } = await running();
    await putState(run, { phase: "failed" });
    await putMarker(run, { generation: 2, turn: 1, command: 1 });
    expect(await command(client, "r1", { kind: "pause" })).toMatchObject({ generation: 2, command: 2 });
  });

  it.each(kinds(all))(
    "to %s an unknown run says so, also where nothing was started",
    async (_kind, change) => {
      for (const places of [true, false]) {
        const { client } = await clientWorld({ places });
        expect(await failureOf(command(client, "r9", change))).toMatchObject({
          reason: "unknown",
          code: "unknown-run",
        });
      }
    },
  );

  it.each(kinds(all))(
    "to %s under an impossible id is refused before storage is asked",
    async (_kind, change) => {
      const { client, storage } = await running();
      const before = storage.meter.counts();
      expect(await failureOf(command(client, "a/b", change))).toMatchObject({ code: "bad-run-id" });
      expect(storage.meter.counts()).toEqual(before);
    },
  );

  it.each(kinds(all.slice(0, 6)))(
    "to %s a run that was never accepted says what helps",
    async (_kind, change) => {
      const { client, storage } = await clientWorld();
      await submit(client, request);
      storage.operator.deleteBlob(names.active, "r1");
      expect(await failureOf(command(client, "r1", change))).toMatchObject({
        reason: "conflict",
        code: "not-accepted",
        message: expect.stringContaining("submit it again"),
      });
    },
  );

  it.each(kinds(all.slice(0, 6)))("to %s a run that is being deleted is refused", async (_kind, change) => {
    const { client, run, putMarker } = await running();
    await putMarker(run, { want: "delete" });
    expect(await failureOf(command(client, "r1", change))).toMatchObject({ code: "being-deleted" });
  });

  it.each(kinds(all))(
    "to %s is never given to the deletion of an older run of this id",
    async (_kind, change) => {
      const { client, world, run, putMarker } = await running();
      await putMarker({ ...run, uid: "olderolder12" }, { want: "delete", command: 1 });
      const before = await readMarker(client, "r1");
      const error = await failureOf(world.finish(command(client, "r1", change)));
      expect(error).toMatchObject({ reason: "conflict", code: "being-deleted" });
      expect((await readMarker(client, "r1"))?.etag).toBe(before?.etag);
    },
  );

  it("to a run whose deletion ends meanwhile finds it gone", async () => {
    const { client, world, storage } = await running();
    storage.operator.deleteBlob(names.runs, specBlob("r1"));
    const asked = failureOf(command(client, "r1", { kind: "cancel" }));
    await world.advance(60);
    storage.operator.deleteBlob(names.active, "r1");
    expect(await world.finish(asked)).toMatchObject({ code: "unknown-run" });
  });

  it("that loses every race fails as busy and suggests a fix", async () => {
    const { clientOn, storage, world } = await running();
    const setMetadata = async () => ({ kind: "conflict" }) as const;
    const client = clientOn({ ...storage, blobs: { ...storage.blobs, setMetadata } });
    const error = await failureOf(world.finish(command(client, "r1", { kind: "pause" })));
    expect(error).toMatchObject({ kind: "busy", message: expect.stringContaining("try again") });
  });

  it("is refused for a run whose state does not decode", async () => {
    const { client, storage, run } = await running();
    storage.operator.overwriteBlob(names.runs, runBlobs("r1", run.uid).state, "{");
    for (const change of all.slice(0, 6)) {
      expect(await failureOf(command(client, "r1", change))).toBeInstanceOf(CorruptDataError);
    }
  });

  it("with a cap outside the limits is refused before any storage call", async () => {
    const { client, storage } = await running();
    const before = storage.meter.counts();
    for (const cap of [0, -1, 1.5, 100_001, Number.NaN]) {
      const error = await failureOf(command(client, "r1", { kind: "cap", cap }));
      expect(error).toMatchObject({ reason: "invalid", code: "bad-cap", details: { field: "cap" } });
    }
    expect(storage.meter.counts()).toEqual(before);
  });
});
