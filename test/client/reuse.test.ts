import { expect, test } from "vitest";
import { markerBy } from "../../src/engine/client/commands/decideCommand.ts";
import { readSpec } from "../../src/engine/client/runDocuments.ts";
import { type Submitted, submit } from "../../src/engine/client/submit.ts";
import { encodeMarker } from "../../src/engine/model/marker.ts";
import { specBlob } from "../../src/engine/model/runBlobs.ts";
import type { State } from "../../src/engine/model/state.ts";
import { type ClientWorld, clientWorld, counted, failureOf, names } from "./clientWorld.ts";

const request = { calculation: "sum", params: { to: 100 } };
const plan = "a".repeat(64);

/** A run of the request that has ended. */
async function ended(
  { client, storage, putState }: ClientWorld,
  id: string,
  more: { readonly keepPartials?: true; readonly to?: number; readonly state?: Partial<State> } = {},
): Promise<Submitted> {
  const { keepPartials, to = 100, state } = more;
  const submitted = await submit(client, {
    ...request,
    params: { to },
    id,
    ...(keepPartials && { keepPartials }),
  });
  storage.operator.deleteBlob(names.active, id);
  await putState(submitted, { ...counted, phase: "complete", plan, code: "test", ...state });
  return submitted;
}

const specOf = async ({ client }: ClientWorld, id: string) => (await readSpec(client, id))?.value;

test("a run that reuses names the other in its spec, and keeps its partials for the next", async () => {
  const world = await clientWorld();
  const { uid } = await ended(world, "first", { keepPartials: true });
  await submit(world.client, { ...request, id: "now", reuse: "first" });
  expect(await specOf(world, "now")).toMatchObject({ reuse: { run: "first", uid }, keepPartials: true });
  expect((await specOf(world, "now"))?.reuse).not.toHaveProperty("codes");
  expect(await specOf(world, "first")).not.toHaveProperty("reuse");
});

test("reuse is no part of the request: the same id without it is the same run, but not with code that is accepted", async () => {
  const world = await clientWorld();
  const { client } = world;
  await ended(world, "first", { keepPartials: true });
  const first = await submit(client, { ...request, id: "r", reuse: "first" });
  const again = await submit(client, { ...request, id: "r" });
  expect(again).toMatchObject({ uid: first.uid, created: false });
  const other = submit(client, { ...request, id: "r", reuse: "first", acceptCode: true });
  expect(await failureOf(other)).toMatchObject({
    message: "id: r is the id of a run with another request; acceptCode differs",
  });
});

test("a submit is repeated after the run that it reuses was deleted, and is still the same run", async () => {
  const world = await clientWorld();
  const { client, storage } = world;
  await ended(world, "first", { keepPartials: true });
  const submitted = await submit(client, { ...request, id: "r", reuse: "first", acceptCode: true });
  storage.operator.deleteBlob(names.runs, specBlob("first"));
  const again = submit(client, { ...request, id: "r", reuse: "first", acceptCode: true });
  expect(await again).toMatchObject({ uid: submitted.uid, created: false });
  const other = submit(client, { ...request, params: { to: 7 }, id: "r", reuse: "first" });
  expect(await failureOf(other)).toMatchObject({ message: "reuse: there is no run first" });
});

test("a run that is being deleted is refused, for its partials are about to go", async () => {
  const world = await clientWorld();
  const { uid } = await ended(world, "old", { keepPartials: true });
  const metadata = encodeMarker({ ...markerBy(uid, undefined), want: "delete" });
  await world.storage.blobs.create(names.active, "old", "", { metadata });
  const error = await failureOf(submit(world.client, { ...request, reuse: "old" }));
  expect(error).toMatchObject({ name: "InputError", message: "reuse: run old is being deleted" });
});

test.each([
  ["nobody", {}, "reuse: there is no run nobody"],
  [
    "bare",
    {},
    "reuse: run bare is complete and kept no partials: only runs submitted with reuse or keepPartials do",
  ],
  ["other", { keepPartials: true, to: 7 }, "reuse: run other has other parameters"],
  [
    "older",
    { keepPartials: true, state: { code: "sum@0" } },
    "reuse: run older was computed by sum 0, and this one by test; acceptCode (--accept-code) takes its partials too",
  ],
  ["busy", { keepPartials: true, state: { phase: "computing" } }, "reuse: run busy has not ended"],
  [
    "early",
    { keepPartials: true, state: { plan: undefined, phase: "failed" } },
    "reuse: run early was never planned",
  ],
] as const)("a named run that has nothing to give is refused with the reason (%s)", async (id, more, why) => {
  const world = await clientWorld();
  if (id !== "nobody") await ended(world, id, more as Parameters<typeof ended>[2]);
  const error = await failureOf(submit(world.client, { ...request, reuse: id }));
  expect(error).toMatchObject({ name: "InputError", message: why });
});

test("with acceptCode the spec names the other codes of the reused run, also those that it had accepted itself", async () => {
  const world = await clientWorld();
  const { uid } = await ended(world, "older", {
    state: { phase: "failed", code: "sum@1", mix: ["sum@0", "test"] },
  });
  await submit(world.client, { ...request, id: "r", reuse: "older", acceptCode: true });
  expect((await specOf(world, "r"))?.reuse).toEqual({ run: "older", uid, codes: ["sum@1", "sum@0"] });
  const alone = submit(world.client, { ...request, acceptCode: true });
  expect(await failureOf(alone)).toMatchObject({ message: "acceptCode: only allowed with reuse" });
});
