import { describe, expect, it } from "vitest";
import { command } from "../../../src/engine/client/commands/command.ts";
import { readMarker, readSpec } from "../../../src/engine/client/runDocuments.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { OtherVersionError } from "../../../src/engine/model/errors.ts";
import { limits } from "../../../src/engine/model/limits.ts";
import { runBlobs, specBlob } from "../../../src/engine/model/runBlobs.ts";
import { type ClientWorld, clientWorld, failureOf, names } from "../clientWorld.ts";
import { Crash, crashingStorage } from "../crashingStorage.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };
const remove = { kind: "delete" } as const;

async function submitted() {
  const world = await clientWorld();
  return { ...world, run: await submit(world.client, request) };
}

/** What a leader does with a marker that wants a deletion, in the order of rule *deletions*. */
async function deleteAsLeader({ client, storage }: ClientWorld): Promise<void> {
  const uid = (await readMarker(client, "r1"))?.value.uid ?? "";
  const { blobNames, deleteBlob } = storage.operator;
  for (const name of blobNames(names.runs)) if (name.startsWith(`r1/${uid}/`)) deleteBlob(names.runs, name);
  deleteBlob(names.runs, specBlob("r1"));
  deleteBlob(names.active, "r1");
}

/** A leader removes a marker whose spec is missing or another run's, where nothing else of it is there. */
async function finishOrphan({ client, storage }: ClientWorld): Promise<void> {
  const marker = await readMarker(client, "r1");
  if (marker === undefined || (await readSpec(client, "r1"))?.value.uid === marker.value.uid) return;
  storage.operator.deleteBlob(names.active, "r1");
}

describe("a deletion", () => {
  it.each(["planning", "computing", "finishing"] as const)(
    "of a run that is %s is asked for",
    async (phase) => {
      const { client, run, putState, wakes } = await submitted();
      await putState(run, { phase });
      const before = await wakes();
      expect(await command(client, "r1", remove)).toMatchObject({
        want: "delete",
        command: 1,
        changed: true,
      });
      const marker = {
        uid: run.uid,
        want: "delete",
        generation: 1,
        cap: limits.capDefault,
        turn: 0,
        command: 1,
      };
      expect((await readMarker(client, "r1"))?.value).toMatchObject(marker);
      expect((await wakes()) - before).toBe(2);
    },
  );

  it.each(["complete", "failed", "cancelled"] as const)(
    "of a run that is %s makes a marker",
    async (phase) => {
      const { client, storage, run, putState } = await submitted();
      await putState(run, { phase, generation: 3, cap: 9, turn: 4, command: 6 });
      storage.operator.deleteBlob(names.active, "r1");
      await command(client, "r1", remove);
      const marker = { uid: run.uid, want: "delete", generation: 3, cap: 9, turn: 4, command: 7 };
      expect((await readMarker(client, "r1"))?.value).toEqual(marker);
    },
  );

  it.each(["run", "paused", "cancelled"] as const)("is accepted after `want` %s", async (want) => {
    const { client, run, putMarker } = await submitted();
    await putMarker(run, { want, turn: 3, command: 3 });
    expect(await command(client, "r1", remove)).toMatchObject({ want: "delete", command: 4 });
  });

  it("is written under the uid of the spec for a run that was never accepted", async () => {
    const { client, storage, run } = await submitted();
    storage.operator.deleteBlob(names.active, "r1");
    await command(client, "r1", remove);
    expect((await readMarker(client, "r1"))?.value).toMatchObject({ uid: run.uid, want: "delete" });
  });

  it("is written once for many requests, at once and after a crash", async () => {
    const { client, clientOn, storage, world, putState, run } = await submitted();
    await putState(run, { phase: "complete" });
    storage.operator.deleteBlob(names.active, "r1");
    const dying = clientOn(crashingStorage(storage, 0).storage);
    expect(await failureOf(command(dying, "r1", remove))).toBeInstanceOf(Crash);
    const given = await world.finish(
      Promise.all(Array.from({ length: 20 }, () => command(client, "r1", remove))),
    );
    for (const one of given) expect(one).toMatchObject({ uid: run.uid, command: 1, changed: false });
  });

  it("is written for a run of which only the marker is left", async () => {
    const { client, storage, run } = await submitted();
    storage.operator.deleteBlob(names.runs, specBlob("r1"));
    expect(await command(client, "r1", remove)).toMatchObject({ uid: run.uid, want: "delete" });
  });

  it.each([
    ["{", "a state that is not JSON", (uid: string) => runBlobs("r1", uid).state],
    ['{"v":2}', "a state of a newer version", (uid: string) => runBlobs("r1", uid).state],
    ["{", "a spec that is not JSON", () => specBlob("r1")],
    ['{"v":2}', "a spec of a newer version", () => specBlob("r1")],
  ])("with %s in place of %s is asked for, its marker there or not", async (text, _what, blobOf) => {
    for (const marker of [true, false]) {
      const { client, storage, run, putState } = await submitted();
      await putState(run, { phase: "complete" });
      storage.operator.overwriteBlob(names.runs, blobOf(run.uid), text);
      if (!marker) storage.operator.deleteBlob(names.active, "r1");
      expect(await command(client, "r1", remove)).toMatchObject({ uid: run.uid, want: "delete" });
      expect((await readMarker(client, "r1"))?.value).toMatchObject({ uid: run.uid, want: "delete" });
    }
  });

  it("reads the uid from a spec of a newer version", async () => {
    const { client, storage } = await submitted();
    storage.operator.overwriteBlob(names.runs, specBlob("r1"), '{"v":2,"uid":"newer","of":[]}');
    storage.operator.deleteBlob(names.active, "r1");
    expect(await command(client, "r1", remove)).toMatchObject({ uid: "newer" });
  });

  it("is written also if only an unreadable spec is left", async () => {
    const { client, storage } = await clientWorld();
    storage.operator.overwriteBlob(names.runs, specBlob("r1"), "");
    const given = await command(client, "r1", remove);
    expect((await readMarker(client, "r1"))?.value).toMatchObject({ uid: given.uid, want: "delete" });
    expect(await command(client, "r1", remove)).toMatchObject({ uid: given.uid, changed: false });
  });

  it("overwrites a marker that does not decode, but never one of a newer version", async () => {
    const { client, storage, run } = await submitted();
    const put = async (metadata: Record<string, string>) => {
      storage.operator.deleteBlob(names.active, "r1");
      await storage.blobs.create(names.active, "r1", "", { metadata });
    };
    await put({ v: "1", uid: run.uid, want: "perhaps" });
    await command(client, "r1", remove);
    expect((await readMarker(client, "r1"))?.value).toMatchObject({ uid: run.uid, want: "delete" });
    await put({ v: "2", uid: run.uid });
    expect(await failureOf(command(client, "r1", remove))).toBeInstanceOf(OtherVersionError);
  });

  it("is refused as unknown-run for a run that is gone", async () => {
    const world = await submitted();
    await command(world.client, "r1", remove);
    await deleteAsLeader(world);
    expect(await failureOf(command(world.client, "r1", remove))).toMatchObject({ code: "unknown-run" });
  });
});

describe("a deletion and a submit of the same id", () => {
  it("leave nothing that cannot be deleted after a crash after any of their writes", async () => {
    for (let after = 0; ; after += 1) {
      const { client, clientOn, storage } = await clientWorld({ seed: after + 1, places: false });
      const crashing = crashingStorage(storage, after);
      const outcome = await submit(clientOn(crashing.storage), request).catch((error: unknown) => error);
      const spec = await readSpec(client, "r1");
      const deleted = await command(client, "r1", remove).catch((error: unknown) => error);
      if (spec === undefined) expect(deleted).toMatchObject({ code: "unknown-run" });
      else expect(deleted).toMatchObject({ uid: spec.value.uid, want: "delete" });
      if (!(outcome instanceof Crash)) break;
    }
  });

  it("never accept a run whose spec a deletion has removed, at any point in between", async () => {
    for (let at = 0; ; at += 1) {
      const world = await clientWorld({ seed: at + 1 });
      const { client, clientOn, storage } = world;
      let calls = 0;
      let gone: string | undefined;
      // Behind the n-th call of the submit another client deletes whatever is there, and a leader does it at once.
      const meddle = <T extends object>(port: T): T =>
        new Proxy(port, {
          get:
            (target, key) =>
            async (...args: unknown[]) => {
              const method = Reflect.get(target, key) as (...args: unknown[]) => Promise<unknown>;
              const answer = await method.apply(target, args);
              calls += 1;
              if (calls !== at + 1) return answer;
              const asked = await command(client, "r1", remove).catch(() => undefined);
              if (asked !== undefined) await deleteAsLeader(world);
              gone = asked?.uid;
              return answer;
            },
        });
      const submitting = submit(clientOn({ ...storage, blobs: meddle(storage.blobs) }), request);
      await world.world.advance(300);
      await finishOrphan(world);
      const { run, uid } = await world.world.finish(submitting);
      const accepted = await readSpec(client, run);
      // Only a deletion behind the submit's last look comes after it; any other one does not touch what it accepts.
      if (calls > at + 1) {
        expect(uid).not.toBe(gone);
        expect([accepted?.value.uid, (await readMarker(client, run))?.value.uid]).toEqual([uid, uid]);
      }
      if (calls < at + 1) {
        expect(at).toBeGreaterThan(2);
        expect(accepted?.value.uid).toBe(uid);
        break;
      }
    }
  });

  it("give each accepted run a uid of its own", async () => {
    const world = await clientWorld();
    const uids = new Set<string>();
    for (let round = 0; round < 5; round += 1) {
      const { uid, created } = await submit(world.client, request);
      expect(created).toBe(true);
      uids.add(uid);
      await command(world.client, "r1", remove);
      await deleteAsLeader(world);
    }
    expect(uids.size).toBe(5);
  });
});
