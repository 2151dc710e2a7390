import { describe, expect, it } from "vitest";
import { awaitDeletion } from "../../../src/client/commands/await.ts";
import { command } from "../../../src/client/commands/command.ts";
import { readMarker, readSpec } from "../../../src/client/runDocuments.ts";
import { submit } from "../../../src/client/submit.ts";
import { NewerVersionError } from "../../../src/model/errors.ts";
import { runBlobs, specBlob } from "../../../src/model/runBlobs.ts";
import { type ClientWorld, clientWorld, failureOf, names } from "../clientWorld.ts";
import { Crash, crashingStorage } from "../crashingStorage.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };
const remove = { kind: "delete" } as const;

async function submitted() {
  const world = await clientWorld();
  return { ...world, run: await submit(world.client, request) };
}

/** What a leader does with a marker that wants a deletion, in the order of DESIGN 3.10. */
async function deleteAsLeader({ client, storage }: ClientWorld): Promise<void> {
  const uid = (await readMarker(client, "r1"))?.value.uid ?? "";
  const { blobNames, deleteBlob } = storage.operator;
  for (const name of blobNames(names.runs)) if (name.startsWith(`r1/${uid}/`)) deleteBlob(names.runs, name);
  deleteBlob(names.runs, specBlob("r1"));
  deleteBlob(names.active, "r1");
}

/** A leader finishes a marker whose spec is missing or another run's as a deletion. */
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
      const marker = { uid: run.uid, want: "delete", generation: 1, cap: 2000, turn: 0, command: 1 };
      expect((await readMarker(client, "r1"))?.value).toEqual(marker);
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

  it.each(["run", "paused", "cancelled"] as const)("may follow any wish, such as %s", async (want) => {
    const { client, run, putMarker } = await submitted();
    await putMarker(run, { want, turn: 3, command: 3 });
    expect(await command(client, "r1", remove)).toMatchObject({ want: "delete", command: 4 });
  });

  it("of a run that was never accepted is asked for under the uid of its spec", async () => {
    const { client, storage, run } = await submitted();
    storage.operator.deleteBlob(names.active, "r1");
    await command(client, "r1", remove);
    expect((await readMarker(client, "r1"))?.value).toMatchObject({ uid: run.uid, want: "delete" });
  });

  it("asked for many times, at once and after a crash, is one", async () => {
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

  it("of a run of which only the marker is left is asked for", async () => {
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

  it("takes the uid of a spec of a newer version from it, since that is all it needs", async () => {
    const { client, storage } = await submitted();
    storage.operator.overwriteBlob(names.runs, specBlob("r1"), '{"v":2,"uid":"newer","of":[]}');
    storage.operator.deleteBlob(names.active, "r1");
    expect(await command(client, "r1", remove)).toMatchObject({ uid: "newer" });
  });

  it("is asked for also where nothing but a broken spec is left", async () => {
    const { client, storage } = await clientWorld();
    storage.operator.overwriteBlob(names.runs, specBlob("r1"), "");
    const given = await command(client, "r1", remove);
    expect((await readMarker(client, "r1"))?.value).toMatchObject({ uid: given.uid, want: "delete" });
    expect(await command(client, "r1", remove)).toMatchObject({ uid: given.uid, changed: false });
  });

  it("writes over a marker that does not decode, but never over one of a newer version", async () => {
    const { client, storage, run } = await submitted();
    const put = async (metadata: Record<string, string>) => {
      storage.operator.deleteBlob(names.active, "r1");
      await storage.blobs.create(names.active, "r1", "", { metadata });
    };
    await put({ v: "1", uid: run.uid, want: "perhaps" });
    await command(client, "r1", remove);
    expect((await readMarker(client, "r1"))?.value).toMatchObject({ uid: run.uid, want: "delete" });
    await put({ v: "2", uid: run.uid });
    expect(await failureOf(command(client, "r1", remove))).toBeInstanceOf(NewerVersionError);
  });

  it("of a run that is gone says that there is no such run", async () => {
    const world = await submitted();
    await command(world.client, "r1", remove);
    await deleteAsLeader(world);
    expect(await failureOf(command(world.client, "r1", remove))).toMatchObject({ code: "unknown-run" });
  });

  it("is waited for until spec and marker are gone", async () => {
    const world = await submitted();
    const given = await command(world.client, "r1", remove);
    let outcome: string | undefined;
    const waiting = awaitDeletion(world.client, given, 10_000).then((said) => {
      outcome = said;
    });
    await world.world.advance(1_000);
    world.storage.operator.deleteBlob(names.runs, specBlob("r1"));
    await world.world.advance(1_000);
    expect(outcome).toBeUndefined();
    world.storage.operator.deleteBlob(names.active, "r1");
    await world.world.finish(waiting);
    expect(outcome).toBe("gone");
  });

  it("has ended also when a new run has the id already", async () => {
    const world = await submitted();
    const given = await command(world.client, "r1", remove);
    await deleteAsLeader(world);
    expect((await submit(world.client, request)).created).toBe(true);
    expect(await awaitDeletion(world.client, given, 0)).toBe("gone");
  });

  it("goes on when nobody leads, and the wait ends in its time", async () => {
    const { client, world } = await submitted();
    const given = await command(client, "r1", remove);
    const startMs = world.nowMs();
    expect(await world.finish(awaitDeletion(client, given, 10_000))).toBe("going");
    expect(world.nowMs() - startMs).toBeLessThan(10_500);
  });
});

describe("a deletion and a submit of the same id", () => {
  it("that broke off behind any of its writes leave nothing that cannot be deleted", async () => {
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

  it("never make one accepted whose spec a deletion has removed, wherever it comes in between", async () => {
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
