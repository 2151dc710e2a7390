import { expect, test } from "vitest";
import type { LocalFile } from "../local/localFile.ts";
import { instanceLine, instancesDown } from "../render/instances.ts";
import { cliWorld } from "./cliWorld.ts";

const up = (name: string) => ({ name, pid: 7 });
const down = (name: string, ends = 7) => ({ name, down: { reason: "exit code 3", ends } });

test("one line tells which local instances do not run, and there is none if all run", () => {
  expect(instancesDown([])).toBeUndefined();
  expect(instancesDown([up("node-1"), up("node-2")])).toBeUndefined();
  expect(instancesDown([up("node-1"), down("node-2", 1)])).toBe(
    '1 of 2 instances does not run: node-2 ended once (exit code 3); "leasefold up" starts it again',
  );
  expect(instancesDown([down("node-1"), down("node-2")])).toBe(
    "no instance runs: node-1 ended 7 times (exit code 3), node-2 ended 7 times (exit code 3); " +
      '"leasefold up" starts them again',
  );
});

test("up tells when an instance is started again, unless that is at once", () => {
  const state = { kind: "state", instance: "node-1", state: "restarting", reason: "exit code 3" } as const;
  expect(instanceLine({ ...state, pauseMs: 1_000 })).toBe("node-1 ended (exit code 3) and is started again");
  expect(instanceLine({ ...state, pauseMs: 16_000 })).toBe(
    "node-1 ended (exit code 3) and is started again in 16 s",
  );
});

test("runs, status and leader note on standard error that no local instance runs", async () => {
  const { run } = await cliWorld({ instanceStates: async () => [down("node-1")] });
  await run("submit sum --to 100 --id r");
  for (const line of ["runs", "status r", "leader"]) {
    const ended = await run(line);
    expect(ended).toMatchObject({
      exitCode: 0,
      err: expect.stringContaining("no instance runs: node-1 ended 7"),
    });
    expect(ended.out).not.toContain("no instance runs");
  }
});

test("watch notes when local instances end, each change, and when they run again", async () => {
  let instances: LocalFile["instances"] = [up("node-1")];
  const { start, run, world } = await cliWorld({ instanceStates: async () => instances });
  await run("submit sum --to 100 --id r");
  const watching = start("watch r");
  await world.advance(3_000);
  expect(watching.err()).toBe("");
  instances = [down("node-1", 1)];
  await world.advance(60_000);
  instances = [down("node-1", 2)];
  await world.advance(60_000);
  instances = [up("node-1")];
  await world.advance(5_000);
  expect(watching.err().trim().split("\n")).toEqual([
    expect.stringContaining("node-1 ended once (exit code 3)"),
    expect.stringContaining("node-1 ended 2 times"),
    "all instances run again",
  ]);
  watching.interrupt();
  await world.finish(watching.ended);
});
