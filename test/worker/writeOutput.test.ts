import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { outputContentType, planTag } from "../../src/engine/model/output.ts";
import { writeOutput } from "../../src/engine/worker/folding/writeOutput.ts";
import { DroppedError, StorageLostError } from "../../src/engine/worker/ports.ts";
import { planOf } from "../support/runFixtures.ts";
import { at, common, inlineCode, joining, workerWorld } from "./workerWorld.ts";

// An operator may roll a run's folder back: a new plan is then made, and messages of the lost one still wait.
test.each([
  ["of the plan that is there", "its own"],
  ["of a plan that was lost", "another"],
  ["of a plan that was deleted", "none"],
] as const)("a partial of another plan gives way to one %s: %j", async (_, onStorage) => {
  const isPlanOfRun = onStorage === "its own";
  const { ports, world } = await workerWorld(inlineCode(joining));
  const { blobs } = ports.storage;
  const { runs } = ports.names;
  const body = JSON.stringify(planOf(4, 1));
  const there = hash("sha256", body);
  const plan = isPlanOfRun ? there : hash("sha256", "lost");
  const code = "joining@1";
  const name = at.part(0, 0);
  const contentType = outputContentType("application/octet-stream", {
    ...{ ms: 1, attempt: 1, code, plan: planTag(hash("sha256", "another")) },
  });
  const write = async () => {
    if (onStorage !== "none") await blobs.create(runs, at.plan, body);
    await blobs.create(runs, name, "another", { contentType });
    const message = { ...common, kind: "compute", shard: 0, pack: 0, from: 0, to: 1, plan, code } as const;
    const attempt = { message, accepted: { plan, code } } as unknown as Parameters<typeof writeOutput>[3];
    const output = { bytes: Buffer.from("own"), ms: 1, attempt: 1, code };
    const outcome = await writeOutput(ports, name, output, attempt).catch((error: unknown) => error);
    const read = await blobs.read(runs, name);
    return { outcome, text: read.kind === "found" ? Buffer.from(read.body).toString() : undefined };
  };
  const { outcome, text } = await world.finish(write());
  if (isPlanOfRun) expect([outcome, text]).toEqual(["replaced", "own"]);
  else {
    // Nobody else has a plan to compute it by: the run ends and says so.
    expect(outcome).toBeInstanceOf(onStorage === "none" ? StorageLostError : DroppedError);
    expect(text).toBe("another");
  }
});
