import { expect, test } from "vitest";
import { submit } from "../../../src/engine/client/submit.ts";
import { counted } from "../../../test/client/clientWorld.ts";
import { cliWorld } from "./cliWorld.ts";

/** `leasefold watch` without a run. */
async function twoRuns() {
  const world = await cliWorld();
  const begun = async (id: string) => {
    const key = await submit(world.client, { calculation: "sum", params: { to: 100 }, id });
    await world.putState(key, { ...counted, phase: "computing" });
    return key;
  };
  const runs = [await begun("r1"), await begun("r2")] as const;
  const end = (of: number) =>
    world.putState(runs[of] ?? expect.fail(), {
      ...counted,
      phase: "failed",
      finishedMs: world.client.clock.wallMs(),
    });
  return { ...world, end };
}

test("all active runs are listed until none is left, and each that ends is told", async () => {
  const { start, world, end } = await twoRuns();
  const { ended } = start("watch");
  await world.advance(3_000);
  await end(0);
  await world.advance(5_000);
  await end(1);
  const { exitCode, out } = await world.finish(ended);
  expect(exitCode).toBe(0);
  const lines = out.split("\n").filter((line) => /^(r\d|no run)/.test(line));
  expect(lines.map((line) => line.split(/\s{2,}/)[0])).toEqual([
    ...["r1", "r2", "r1 failed", "r2", "r2 failed", "no run is active"],
  ]);
});

test("it ends at once where no run is active, at Ctrl-C with its code, and gives JSON for each look", async () => {
  const { run } = await cliWorld();
  expect(await run("watch")).toEqual({ exitCode: 0, out: "no run is active\n", err: "" });
  const { start, world } = await twoRuns();
  const { ended, interrupt } = start("watch --json");
  await world.advance(2_500);
  interrupt();
  const { exitCode, out } = await world.finish(ended);
  expect(exitCode).toBe(130);
  const looks = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).runs.length);
  expect(looks).toEqual([2, 2]);
});
