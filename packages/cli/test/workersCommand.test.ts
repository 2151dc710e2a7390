import { describe, expect, it } from "vitest";
import { submit } from "../../../src/engine/client/submit.ts";
import { heartbeatBlobs } from "../../../src/engine/model/names.ts";
import { names } from "../../../test/client/clientWorld.ts";
import { heartbeatWork, putHeartbeat } from "../../../test/support/heartbeatProcess.ts";
import { cliWorld, shown } from "./cliWorld.ts";

const idle = "nobody computes anything that takes longer than a second\n";

describe("leasefold workers", () => {
  it("lists what each instance computes for how long, within 80 columns", async () => {
    const { run, client, world } = await cliWorld();
    expect((await run("workers")).out).toBe(idle);
    const plan = heartbeatWork(1, { work: { kind: "plan" }, chunks: undefined });
    await putHeartbeat(client, "killed", { works: [heartbeatWork(2)], ended: "signal SIGKILL" });
    await putHeartbeat(client, "node-9", { works: [plan] });
    await world.advance(40_000);
    const one = { from: 18, to: 19 };
    await putHeartbeat(client, "node-1", {
      works: [
        heartbeatWork(17, { chunk: 174 }),
        heartbeatWork(18, { isolated: true, chunks: one, chunk: 18 }),
        heartbeatWork(19, { begun: false }),
      ],
    });
    await putHeartbeat(client, `pod-${"x".repeat(60)}`, { memoryMb: 1_234, threads: 1 });
    await world.advance(1_200);
    const { out } = await run("workers");
    expect(out).toBe(`INSTANCE              HEARTBEAT       COMPUTES                              FOR
killed                signal SIGKILL  2 threads, 100 MB, 1.2.3
                                      r1 pack 2, chunks 20–29               2 s
node-1                1 s ago         2 threads, 100 MB, 1.2.3
                                      r1 pack 17, chunks 170–179, at 174    3 s
                                      r1 pack 18, chunk 18, isolated        3 s
                                      r1 pack 19, chunks 190–199          waits
node-9                silent 41 s     2 threads, 100 MB, 1.2.3
                                      r1 plan                               2 s
pod-xxxxxxxxxxxxxxx…  1 s ago         1 thread, 1,234 MB, 1.2.3
`);
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it("tells programs the same, and names heartbeats that cannot be read", async () => {
    const { run, client } = await cliWorld();
    await putHeartbeat(client, "node-1", { works: [heartbeatWork(17)] });
    await client.storage.blobs.create(names.coordination, `${heartbeatBlobs}x\u001b[2J.y`, "", {
      metadata: {},
    });
    expect(JSON.parse((await run("workers --json")).out)).toMatchObject({
      workers: [{ instance: "node-1", computes: [{ work: "pack 17", forS: 2 }] }],
      runs: [{ run: "r1", instances: 1, threads: 1 }],
      unreadable: [{ reason: expect.stringContaining("does not decode") }],
    });
    const { out } = await run("workers");
    expect(out).toContain("\nworkers/x [2J.y cannot be read: the heartbeat of");
  });

  it("draws the table anew each second on a terminal, as high as that is, until Ctrl-C", async () => {
    const { start, client, world } = await cliWorld();
    await putHeartbeat(client, "node-1", { works: [heartbeatWork(17)] });
    const many = Array.from({ length: 40 }, (_, pack) => heartbeatWork(pack));
    const { ended, interrupt } = start("workers --watch", { tty: true });
    await world.advance(1_500);
    await putHeartbeat(client, "node-2", { works: many });
    await world.advance(2_000);
    interrupt();
    const { exitCode, out } = await world.finish(ended);
    expect(exitCode).toBe(130);
    const drawn = out.split(/(?=INSTANCE)/).slice(1);
    expect(drawn.length).toBeGreaterThanOrEqual(3);
    expect(drawn.map((one) => one.split("\n").length)).toEqual(expect.arrayContaining([3, 23]));
    expect(shown(drawn[1] ?? "")).toMatch(/r1 pack 17, chunks 170–179 +3 s/);
    // Back to the first of three lines.
    expect(drawn[0]).toContain("\u001b[2F");
  });

  it("prints without a terminal a table for each change, and now and then", async () => {
    const { start, client, world } = await cliWorld();
    await putHeartbeat(client, "node-1", { everyMs: 10_000, works: [heartbeatWork(17)] });
    const { ended, interrupt } = start("workers --watch");
    await world.advance(4_500);
    await putHeartbeat(client, "node-2", { works: [heartbeatWork(18)] });
    await world.advance(2_000);
    interrupt();
    const { out } = await world.finish(ended);
    expect(
      out
        .split("INSTANCE")
        .slice(1)
        .map((one) => one.includes("node-2")),
    ).toEqual([false, true]);
  });
});

it("leasefold status says how many instances and threads compute the run, while heartbeats tell so", async () => {
  const { run, client, putState } = await cliWorld();
  const { uid } = await submit(client, { calculation: "sum", params: { to: 100 }, id: "r1" });
  await putState({ run: "r1", uid }, { phase: "computing" });
  expect((await run("status r1")).out).not.toContain("computed by");
  await putHeartbeat(client, "node-1", { works: [heartbeatWork(1, { uid }), heartbeatWork(2, { uid })] });
  await putHeartbeat(client, "node-2", { works: [heartbeatWork(3, { uid }), heartbeatWork(4)] });
  expect((await run("status r1")).out).toContain("\n  computed by  2 instances, 3 threads\n");
  expect(JSON.parse((await run("status r1 --json")).out)).toMatchObject({
    computedBy: { instances: 2, threads: 3 },
  });
  await putState({ run: "r1", uid }, { phase: "complete" });
  expect((await run("status r1")).out).not.toContain("computed by");
});
