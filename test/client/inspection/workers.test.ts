import { describe, expect, test } from "vitest";
import { workers } from "../../../src/engine/client/inspection/workers.ts";
import { heartbeatBlobs } from "../../../src/engine/model/names.ts";
import { heartbeatWork, putHeartbeat } from "../../support/heartbeatProcess.ts";
import { clientWorld, names } from "../clientWorld.ts";

describe("the workers", () => {
  test("are none where nobody has written a heartbeat, and where nothing exists yet", async () => {
    const none = { workers: [], runs: [], unreadable: [] };
    expect(await workers((await clientWorld()).client)).toEqual(none);
    expect(await workers((await clientWorld({ places: false })).client)).toEqual(none);
  });

  test("tell what each computes for how long, and what it has taken and not begun, in one call", async () => {
    const { client, world, storage } = await clientWorld();
    await putHeartbeat(client, "node-10", {
      codes: ["mine@1"],
      works: [heartbeatWork(3, { work: { kind: "finish" } })],
    });
    await putHeartbeat(client, "node-2", {
      works: [
        heartbeatWork(17, { chunk: 174, isolated: true }),
        heartbeatWork(0, { work: { kind: "node", level: 1, index: 4 }, chunks: undefined }),
        heartbeatWork(0, { work: { kind: "node", level: 2, index: 5 }, chunks: undefined }),
        heartbeatWork(18, { begun: false, ageMs: 500 }),
      ],
    });
    await world.advance(3_000);
    const before = storage.meter.counts();
    const found = await workers(client);
    expect({ ...storage.meter.counts(), list: 0 }).toEqual({ ...before, list: 0 });
    expect(storage.meter.counts().list - before.list).toBe(1);
    expect(found.workers).toMatchObject([
      {
        ...{
          instance: "node-2",
          boot: "a1b2c3d4",
          state: "live",
          heartbeatAgeS: 3,
          threads: 2,
          memoryMb: 100,
        },
        computes: [
          {
            ...{
              run: "r1",
              uid: "u1",
              work: "pack 17",
              pack: 17,
              chunks: { from: 170, to: 180 },
              chunk: 174,
            },
            ...{ generation: 1, send: 1, isolated: true, forS: 5 },
          },
          { work: "combine shard 4" },
          { work: "combine node 5 of level 2" },
        ],
        holds: [{ work: "pack 18", forS: 3.5 }],
      },
      { instance: "node-10", codes: ["mine@1"], computes: [{ work: "finish" }], holds: [] },
    ]);
    expect(Object.keys(found.workers[0]?.computes[1] ?? {})).not.toContain("pack");
  });

  test("are live, silent or ended, and only live ones count as computing a run", async () => {
    const { client, world } = await clientWorld();
    await putHeartbeat(client, "silent", { works: [heartbeatWork(1)] });
    await putHeartbeat(client, "killed", { works: [heartbeatWork(2)], ended: "signal SIGKILL" });
    await world.advance(7_000);
    await putHeartbeat(client, "one", {
      works: [heartbeatWork(3), heartbeatWork(4), heartbeatWork(5, { begun: false })],
    });
    await putHeartbeat(client, "two", {
      works: [heartbeatWork(6), heartbeatWork(7, { run: "r2", uid: "u2" })],
    });
    const { workers: found, runs } = await workers(client);
    expect(
      found.map(({ instance, state, ended, computes }) => [instance, state, ended, computes[0]?.forS]),
    ).toEqual([
      ["killed", "ended", "signal SIGKILL", 2],
      ["one", "live", undefined, 2],
      ["silent", "silent", undefined, 2],
      ["two", "live", undefined, 2],
    ]);
    expect(runs).toEqual([
      { run: "r1", uid: "u1", instances: 2, threads: 3 },
      { run: "r2", uid: "u2", instances: 1, threads: 1 },
    ]);
  });

  test("a heartbeat that does not decode, or is of a newer version, is told and hides no other", async () => {
    const { client } = await clientWorld();
    await putHeartbeat(client, "node-1");
    const put = (name: string, metadata: Record<string, string>) =>
      client.storage.blobs.create(names.coordination, `${heartbeatBlobs}${name}`, "", { metadata });
    await put("forged.x", { threads: "-1", work: "[[1]]" });
    await put("newer.x", { v: "9" });
    const found = await workers(client);
    expect(found.workers.map(({ instance }) => instance)).toEqual(["node-1"]);
    expect(found.unreadable).toMatchObject([
      { blob: "workers/forged.x", reason: expect.stringMatching(/does not decode: threads/) },
      { blob: "workers/newer.x", reason: expect.stringMatching(/newer release/) },
    ]);
  });
});
