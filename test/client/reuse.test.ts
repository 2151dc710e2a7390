import { expect, test } from "vitest";
import { markerBy } from "../../src/engine/client/commands/decideCommand.ts";
import { readMarker, readSpec } from "../../src/engine/client/runDocuments.ts";
import { type Submitted, submit } from "../../src/engine/client/submit.ts";
import { closedBlob, encodeClosedRun } from "../../src/engine/model/closedRun.ts";
import { encodeMarker } from "../../src/engine/model/marker.ts";
import { specBlob } from "../../src/engine/model/runBlobs.ts";
import { spentOf } from "../../src/engine/model/spent.ts";
import type { State } from "../../src/engine/model/state.ts";
import { type ClientWorld, clientWorld, counted, failureOf, names } from "./clientWorld.ts";

const request = { calculation: "sum", params: { to: 100 } };
const plan = "a".repeat(64);

/** A run of the request that has ended, as lists and documents show it. */
async function ended(
  { client, storage, world, putState }: ClientWorld,
  id: string,
  more: { readonly reuse?: true; readonly to?: number; readonly state?: Partial<State> } = {},
): Promise<Submitted> {
  const { reuse, to = 100, state } = more;
  const submitted = await submit(client, { ...request, params: { to }, id, ...(reuse ? { reuse } : {}) });
  storage.operator.deleteBlob(names.active, id);
  await putState(submitted, { ...counted, phase: "complete", plan, code: "test", ...state });
  const spec = await readSpec(client, id);
  const { uid } = submitted;
  const closed = { run: id, uid, generation: 1, phase: "complete", calculation: "sum" } as const;
  const metadata = encodeClosedRun({
    ...{ ...closed, params: spec?.value.params, finishedMs: 1, cost: spentOf(undefined).cost },
  });
  await storage.blobs.create(names.runs, closedBlob(id, spec?.lastModifiedMs ?? 0), "", { metadata });
  await world.advance(1_000);
  return submitted;
}

test("reuse takes the newest ended run of the same request that kept its partials, and names it in spec and marker", async () => {
  const world = await clientWorld();
  const { client } = world;
  await ended(world, "first", { reuse: true });
  const second = await ended(world, "second", {
    reuse: true,
    state: { reused: [{ run: "first", uid: "u", plan, shardSize: 1, packs: [[0, 1, 0]] }] },
  });
  await ended(world, "without");
  await ended(world, "other", { reuse: true, to: 7 });
  const submitted = await submit(client, { ...request, id: "now", reuse: true });
  expect(submitted.reuses).toBe("second");
  expect((await readSpec(client, "now"))?.value.reuse).toEqual({
    from: { run: "second", uid: second.uid, plan },
    keeps: ["second", "first"],
  });
  expect((await readMarker(client, "now"))?.value.keeps).toBe("second,first");
});

test("with no such run a submit with reuse keeps its own partials for the next", async () => {
  const world = await clientWorld();
  await ended(world, "without");
  const submitted = await submit(world.client, { ...request, id: "now", reuse: true });
  expect(submitted.reuses).toBeUndefined();
  expect((await readSpec(world.client, "now"))?.value.reuse).toEqual({ keeps: [] });
  expect((await readMarker(world.client, "now"))?.value.keeps).toBeUndefined();
});

test("reuse is no part of the request: the same id without it is the same run", async () => {
  const { client } = await clientWorld();
  const first = await submit(client, { ...request, id: "r", reuse: true });
  const again = await submit(client, { ...request, id: "r" });
  expect(again).toMatchObject({ uid: first.uid, created: false });
});

test("a submit is repeated after the run that it reuses was deleted, and is still the same run", async () => {
  const world = await clientWorld();
  const { client, storage } = world;
  await ended(world, "first", { reuse: true });
  await ended(world, "second", { reuse: true });
  const submitted = await submit(client, { ...request, id: "r", reuse: "first" });
  expect(submitted.reuses).toBe("first");
  storage.operator.deleteBlob(names.runs, specBlob("first"));
  for (const reuse of ["first", "second", true] as const)
    expect(await submit(client, { ...request, id: "r", reuse })).toMatchObject({
      ...{ uid: submitted.uid, created: false, reuses: "first" },
    });
  const other = submit(client, { ...request, params: { to: 7 }, id: "r", reuse: "first" });
  expect(await failureOf(other)).toMatchObject({ message: "reuse: there is no run first" });
});

test("a run that is being deleted is not taken, and refused where it is named, for its partials are about to go", async () => {
  const world = await clientWorld();
  const { uid } = await ended(world, "old", { reuse: true });
  const metadata = encodeMarker({ ...markerBy(uid, undefined), want: "delete" });
  await world.storage.blobs.create(names.active, "old", "", { metadata });
  const error = await failureOf(submit(world.client, { ...request, reuse: "old" }));
  expect(error).toMatchObject({ name: "InputError", message: "reuse: run old is being deleted" });
  expect((await submit(world.client, { ...request, reuse: true })).reuses).toBeUndefined();
});

test.each([
  ["nobody", {}, "reuse: there is no run nobody"],
  ["bare", {}, "reuse: run bare is complete and kept no partials: only runs submitted with reuse do"],
  ["other", { reuse: true, to: 7 }, "reuse: run other has other parameters"],
  ["older", { reuse: true, state: { code: "sum@0" } }, "reuse: run older was computed by other code"],
  ["busy", { reuse: true, state: { phase: "computing" } }, "reuse: run busy has not ended"],
  [
    "early",
    { reuse: true, state: { plan: undefined, phase: "failed" } },
    "reuse: run early was never planned",
  ],
] as const)("a named run that has nothing to give is refused with the reason (%s)", async (id, more, why) => {
  const world = await clientWorld();
  if (id !== "nobody") await ended(world, id, more as Parameters<typeof ended>[2]);
  const error = await failureOf(submit(world.client, { ...request, reuse: id }));
  expect(error).toMatchObject({ name: "InputError", message: why });
});

test("a failed run gives what it computed, though it was submitted without reuse", async () => {
  const world = await clientWorld();
  await ended(world, "failed", { state: { phase: "failed" } });
  expect((await submit(world.client, { ...request, reuse: true })).reuses).toBe("failed");
});
