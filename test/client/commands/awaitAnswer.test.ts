import { describe, expect, it } from "vitest";
import { awaitAnswer } from "../../../src/engine/client/commands/await.ts";
import { command } from "../../../src/engine/client/commands/command.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { clientWorld, names } from "../clientWorld.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

async function running() {
  const world = await clientWorld();
  const run = await submit(world.client, request);
  await world.putState(run, { phase: "computing" });
  return { ...world, run };
}

describe("the answer to a command", () => {
  it("is awaited until the leader gives it", async () => {
    const { client, world, run, putState } = await running();
    const given = await command(client, "r1", { kind: "cancel" });
    const waiting = awaitAnswer(client, given, 10_000);
    await world.advance(1_000);
    await putState(run, { phase: "cancelled", command: 1, answer: "done" });
    expect(await world.finish(waiting)).toMatchObject({ answer: "done", view: { word: "cancelled" } });
  });

  it("stays pending while nobody leads, and the wait ends in time", async () => {
    const { client, world } = await running();
    const given = await command(client, "r1", { kind: "cancel" });
    const startMs = world.nowMs();
    expect(await world.finish(awaitAnswer(client, given, 10_000))).toMatchObject({ answer: "pending" });
    expect(world.nowMs() - startMs).toBeGreaterThanOrEqual(10_000);
    expect(world.nowMs() - startMs).toBeLessThan(10_500);
  });

  it("is done at once for a first command that asks for what the run already does", async () => {
    const { client } = await running();
    const given = await command(client, "r1", { kind: "resume" });
    expect(given).toMatchObject({ command: 0, changed: false });
    expect(await awaitAnswer(client, given, 10_000)).toMatchObject({ answer: "done" });
  });

  it("is, for a command that changes nothing, the answer to the command that asked first", async () => {
    const { client, run, putState } = await running();
    await command(client, "r1", { kind: "cancel" });
    await putState(run, { phase: "finishing", command: 1, answer: "too-late" });
    const again = await command(client, "r1", { kind: "cancel" });
    expect(await awaitAnswer(client, again, 10_000)).toMatchObject({ answer: "too-late" });
  });

  it.each([true, false])(
    "is too late when the run ended before a leader saw the command, its marker there: %s",
    async (marker) => {
      const { client, storage, run, putState } = await running();
      await putState(run, { phase: "finishing", command: 0 });
      const given = await command(client, "r1", { kind: "cancel" });
      await putState(run, { phase: "complete" });
      if (!marker) storage.operator.deleteBlob(names.active, "r1");
      expect(await awaitAnswer(client, given, 10_000)).toMatchObject({
        answer: "too-late",
        view: { phase: "complete" },
      });
    },
  );

  it("is too late if another run of the id has replaced the run", async () => {
    const { client, storage, run, putState, putMarker } = await running();
    const given = await command(client, "r1", { kind: "cancel" });
    for (const name of storage.operator.blobNames(names.runs)) storage.operator.deleteBlob(names.runs, name);
    storage.operator.deleteBlob(names.active, "r1");
    const other = await submit(client, request);
    expect(other.uid).not.toBe(run.uid);
    await putState(other, { phase: "computing", command: 5, answer: "done" });
    await putMarker(other, { command: 5 });
    expect(await awaitAnswer(client, given, 10_000)).toMatchObject({ answer: "too-late" });
  });

  it("is done for a retry when the run works again", async () => {
    const { client, storage, world, run, putState } = await running();
    await putState(run, { phase: "failed", command: 3 });
    storage.operator.deleteBlob(names.active, "r1");
    const given = await command(client, "r1", { kind: "retry" });
    const waiting = awaitAnswer(client, given, 10_000);
    await world.advance(1_000);
    await putState(run, { phase: "computing", generation: 2, command: 4, answer: "done" });
    expect(await world.finish(waiting)).toMatchObject({ answer: "done", view: { generation: 2 } });
  });

  it("is done for a retry if another retry of this generation came first and has ended", async () => {
    const { client, storage, run, putState } = await running();
    await putState(run, { phase: "failed" });
    storage.operator.deleteBlob(names.active, "r1");
    const given = await command(client, "r1", { kind: "retry" });
    await putState(run, { phase: "complete", generation: 2, command: 0 });
    storage.operator.deleteBlob(names.active, "r1");
    expect(await awaitAnswer(client, given, 10_000)).toMatchObject({ answer: "done" });
  });
});
