import { expect, it } from "vitest";
import { findManifest } from "../../src/engine/client/result.ts";
import { status } from "../../src/engine/client/status.ts";
import { submit } from "../../src/engine/client/submit.ts";
import type { Phase, State } from "../../src/engine/model/state.ts";
import { clientWorld, counted, failureOf, names } from "./clientWorld.ts";

/** A run whose manifest tells of eight chunks where the leader has counted ten. */
async function forgedResult(state: Partial<State>) {
  const world = await clientWorld();
  const run = await submit(world.client, { calculation: "sum", params: { to: 100 }, id: "r1" });
  await world.putState(run, { ...counted, ...state });
  await world.putResult(run, "4", { folded: 8, complete: false, missing: [{ from: 8, to: 10 }] });
  return { ...world, run };
}

it.each(["computing", "finishing", "failed", "cancelled"] as const satisfies readonly Phase[])(
  "the result of a forged message is not given while the run is %s, by number neither",
  async (phase) => {
    const { client, storage } = await forgedResult({ phase });
    expect(await failureOf(findManifest(client, "r1"))).toMatchObject({
      code: {
        computing: "not-finished",
        finishing: "not-finished",
        failed: "run-failed",
        cancelled: "run-cancelled",
      }[phase],
    });
    storage.operator.deleteBlob(names.active, "r1");
    expect(await failureOf(findManifest(client, "r1", { generation: 1 }))).toMatchObject({
      code: "unknown-generation",
    });
    expect((await status(client, "r1")).result).toBeUndefined();
  },
);

it("the result of a forged message is not given after a retry, with or without a result of its own", async () => {
  const { client, run, putState, putResult } = await forgedResult({ phase: "failed", refused: [1] });
  await putState(run, { ...counted, generation: 2, phase: "failed", refused: [1] });
  expect(await failureOf(findManifest(client, "r1"))).toMatchObject({ code: "run-failed" });
  await putResult(run, "6", { generation: 2 });
  await putState(run, { ...counted, generation: 2, phase: "complete", refused: [1] });
  expect(await findManifest(client, "r1")).toMatchObject({ generation: 2 });
  expect(await failureOf(findManifest(client, "r1", { generation: 1 }))).toMatchObject({
    code: "unknown-generation",
  });
});
