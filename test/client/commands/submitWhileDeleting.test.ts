import { describe, expect, it } from "vitest";
import { readMarker, readSpec } from "../../../src/engine/client/runDocuments.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { encodeMarker } from "../../../src/engine/model/marker.ts";
import { specBlob } from "../../../src/engine/model/runBlobs.ts";
import { clientWorld, failureOf, names } from "../clientWorld.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

describe("a submit that meets a deletion of its id", () => {
  it("waits for the deletion of an older run of this id, and wakes the leader for it", async () => {
    const { client, storage, world, wakes } = await clientWorld();
    const older = {
      uid: "olderolder12",
      want: "delete",
      generation: 1,
      cap: 1,
      turn: 0,
      command: 1,
    } as const;
    await storage.blobs.create(names.active, "r1", "", { metadata: encodeMarker(older) });
    const submitting = submit(client, request);
    await world.advance(700);
    expect(await wakes()).toBe(2);
    storage.operator.deleteBlob(names.active, "r1");
    const submitted = await world.finish(submitting);
    expect(submitted.created).toBe(true);
    expect((await readMarker(client, "r1"))?.value.uid).toBe(submitted.uid);
  });

  it("answers being-deleted after two seconds, for its own uid as well", async () => {
    const { client, storage, world } = await clientWorld();
    const { uid } = await submit(client, request);
    const marker = await readMarker(client, "r1");
    const deleting = { uid, want: "delete", generation: 1, cap: 1, turn: 0, command: 1 } as const;
    await storage.blobs.setMetadata(names.active, "r1", encodeMarker(deleting), {
      ifMatch: marker?.etag ?? "",
    });
    const startMs = world.nowMs();
    const error = await failureOf(world.finish(submit(client, request)));
    expect(error).toMatchObject({ reason: "conflict", code: "being-deleted" });
    expect(world.nowMs() - startMs).toBeGreaterThanOrEqual(2_000);
    expect(world.nowMs() - startMs).toBeLessThan(2_500);
  });

  it("waits for the deletion also with another request, instead of answering id-taken", async () => {
    const { client, storage, world, putMarker } = await clientWorld();
    const first = await submit(client, request);
    await putMarker(first, { want: "delete", command: 1 });
    const submitting = submit(client, { ...request, params: { to: 7 } });
    await world.advance(700);
    storage.operator.deleteBlob(names.runs, specBlob("r1"));
    storage.operator.deleteBlob(names.active, "r1");
    const submitted = await world.finish(submitting);
    expect(submitted.created).toBe(true);
    expect(submitted.uid).not.toBe(first.uid);
    expect((await readSpec(client, "r1"))?.value.params).toMatchObject({ to: 7 });
  });

  it("does not accept a finished run that a deletion removed between its reads", async () => {
    const { client, clientOn, storage, world, putState } = await clientWorld();
    const first = await submit(client, request);
    await putState(first, { phase: "complete" });
    storage.operator.deleteBlob(names.active, "r1");
    const head: typeof storage.blobs.head = (...args) => {
      storage.operator.deleteBlob(names.runs, specBlob("r1"));
      return storage.blobs.head(...args);
    };
    const racing = clientOn({ ...storage, blobs: { ...storage.blobs, head } });
    const submitted = await world.finish(submit(racing, request));
    expect(submitted.created).toBe(true);
    expect(submitted.uid).not.toBe(first.uid);
  });

  it("never accepts a run that a deletion removed between its read of the spec and its marker", async () => {
    const { client, clientOn, storage, world } = await clientWorld();
    const first = await submit(client, request);
    storage.operator.deleteBlob(names.active, "r1");
    let deleted = false;
    const read: typeof storage.blobs.read = async (container, name, options) => {
      const found = await storage.blobs.read(container, name, options);
      // The deletion ends right behind the first look at the spec.
      if (name === "r1/spec.json" && !deleted) storage.operator.deleteBlob(names.runs, name);
      if (name === "r1/spec.json") deleted = true;
      return found;
    };
    const racing = clientOn({ ...storage, blobs: { ...storage.blobs, read } });
    const submitting = submit(racing, request);
    await world.advance(300);
    // The leader removes a marker that is all there is of a run.
    storage.operator.deleteBlob(names.active, "r1");
    const submitted = await world.finish(submitting);
    expect(submitted.uid).not.toBe(first.uid);
    expect((await readSpec(client, "r1"))?.value.uid).toBe(submitted.uid);
    expect((await readMarker(client, "r1"))?.value.uid).toBe(submitted.uid);
  });
});
