import { describe, expect, it, vi } from "vitest";
import { type Commanded, command } from "../../../src/engine/client/commands/command.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { StorageError } from "../../../src/engine/model/errors.ts";
import { specBlob } from "../../../src/engine/model/runBlobs.ts";
import { portsOf } from "../../../test/api/apiWorld.ts";
import { clientWorld, names } from "../../../test/client/clientWorld.ts";
import { apiHere } from "../api.ts";
import { awaitAnswer, awaitDeletion } from "../awaitAnswer.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

async function running() {
  const world = await clientWorld();
  const { client } = world;
  const run = await submit(client, request);
  await world.putState(run, { phase: "computing" });
  const asked = apiHere(portsOf(client)).run("r1");
  const waiting = { clock: client.clock, signal: new AbortController().signal };
  return {
    ...world,
    run,
    answer: (given: Commanded) => awaitAnswer(waiting, asked, given),
    deletion: (given: Commanded) => awaitDeletion(waiting, asked, given),
  };
}

describe("the answer to a command", () => {
  it("is awaited until the leader gives it", async () => {
    const { client, answer, world, run, putState } = await running();
    const given = await command(client, "r1", { kind: "cancel" });
    const waiting = answer(given);
    await world.advance(1_000);
    await putState(run, { phase: "cancelled", command: 1, answer: "done" });
    expect(await world.finish(waiting)).toMatchObject({ answer: "done", view: { word: "cancelled" } });
  });

  it("stays pending while nobody leads, and the wait ends in time", async () => {
    const { client, answer, world } = await running();
    const given = await command(client, "r1", { kind: "cancel" });
    const startMs = world.nowMs();
    expect(await world.finish(answer(given))).toMatchObject({ answer: "pending" });
    expect(world.nowMs() - startMs).toBeGreaterThanOrEqual(10_000);
    expect(world.nowMs() - startMs).toBeLessThan(10_500);
  });

  it("is done at once for a first command that asks for what the run already does", async () => {
    const { client, answer } = await running();
    const given = await command(client, "r1", { kind: "resume" });
    expect(given).toMatchObject({ command: 0, changed: false });
    expect(await answer(given)).toMatchObject({ answer: "done" });
  });

  it("is, for a command that changes nothing, the answer to the command that asked first", async () => {
    const { client, answer, run, putState } = await running();
    await command(client, "r1", { kind: "cancel" });
    await putState(run, { phase: "finishing", command: 1, answer: "too-late" });
    const again = await command(client, "r1", { kind: "cancel" });
    expect(await answer(again)).toMatchObject({ answer: "too-late" });
  });

  it.each([true, false])(
    "is too late when the run ended before a leader saw the command, its marker there: %s",
    async (marker) => {
      const { client, answer, storage, run, putState } = await running();
      await putState(run, { phase: "finishing", command: 0 });
      const given = await command(client, "r1", { kind: "cancel" });
      await putState(run, { phase: "complete" });
      if (!marker) storage.operator.deleteBlob(names.active, "r1");
      expect(await answer(given)).toMatchObject({
        answer: "too-late",
        view: { phase: "complete" },
      });
    },
  );

  it("is too late if another run of the id has replaced the run", async () => {
    const { client, answer, storage, run, putState, putMarker } = await running();
    const given = await command(client, "r1", { kind: "cancel" });
    for (const name of storage.operator.blobNames(names.runs)) storage.operator.deleteBlob(names.runs, name);
    storage.operator.deleteBlob(names.active, "r1");
    const other = await submit(client, request);
    expect(other.uid).not.toBe(run.uid);
    await putState(other, { phase: "computing", command: 5, answer: "done" });
    await putMarker(other, { command: 5 });
    expect(await answer(given)).toMatchObject({ answer: "too-late" });
  });

  it("is done for a retry when the run works again", async () => {
    const { client, answer, storage, world, run, putState } = await running();
    await putState(run, { phase: "failed", command: 3 });
    storage.operator.deleteBlob(names.active, "r1");
    const given = await command(client, "r1", { kind: "retry" });
    const waiting = answer(given);
    await world.advance(1_000);
    await putState(run, { phase: "computing", generation: 2, command: 4, answer: "done" });
    expect(await world.finish(waiting)).toMatchObject({ answer: "done", view: { generation: 2 } });
  });

  it("is done for a retry if another retry of this generation came first and has ended", async () => {
    const { client, answer, storage, run, putState } = await running();
    await putState(run, { phase: "failed" });
    storage.operator.deleteBlob(names.active, "r1");
    const given = await command(client, "r1", { kind: "retry" });
    await putState(run, { phase: "complete", generation: 2, command: 0 });
    storage.operator.deleteBlob(names.active, "r1");
    expect(await answer(given)).toMatchObject({ answer: "done" });
  });
});

describe("a deletion", () => {
  it("is awaited until the run is gone", async () => {
    const { client, storage, world, deletion } = await running();
    const given = await command(client, "r1", { kind: "delete" });
    let gone: boolean | undefined;
    const waiting = deletion(given).then((said) => {
      gone = said;
    });
    await world.advance(1_000);
    expect(gone).toBeUndefined();
    for (const name of storage.operator.blobNames(names.runs)) storage.operator.deleteBlob(names.runs, name);
    await world.finish(waiting);
    expect(gone).toBe(true);
  });

  it("is not over while the run has a state, though its spec is deleted", async () => {
    const { client, storage, world, deletion } = await running();
    const given = await command(client, "r1", { kind: "delete" });
    storage.operator.deleteBlob(names.runs, specBlob("r1"));
    expect(await world.finish(deletion(given))).toBe(false);
  });

  it("has ended also if a new run has the id already", async () => {
    const { client, storage, deletion } = await running();
    const given = await command(client, "r1", { kind: "delete" });
    for (const name of storage.operator.blobNames(names.runs)) storage.operator.deleteBlob(names.runs, name);
    storage.operator.deleteBlob(names.active, "r1");
    expect((await submit(client, request)).created).toBe(true);
    expect(await deletion(given)).toBe(true);
  });

  it("is still going on while nobody leads when the wait ends", async () => {
    const { client, world, deletion } = await running();
    const given = await command(client, "r1", { kind: "delete" });
    const startMs = world.nowMs();
    expect(await world.finish(deletion(given))).toBe(false);
    expect(world.nowMs() - startMs).toBeLessThan(10_500);
  });

  it("throws what a storage that denies the question says", async () => {
    const { client, deletion } = await running();
    const given = await command(client, "r1", { kind: "delete" });
    const denied = new StorageError("denied", "", 403, "no");
    vi.spyOn(client.storage.blobs, "read").mockRejectedValue(denied);
    await expect(deletion(given)).rejects.toBe(denied);
  });
});
