import { describe, expect, it } from "vitest";
import { submit } from "../../src/engine/client/submit.ts";
import { noCalls } from "../../src/engine/model/calls.ts";
import { outputContentType } from "../../src/engine/model/output.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { apiRequest, call } from "../api/apiWorld.ts";
import { names } from "../client/clientWorld.ts";
import { cliWorld, printed } from "./cliWorld.ts";

const layout = { chunks: 95, packSize: 10, shardSize: 256, fanIn: 1000, packMs: 1 };
const open = {
  0: {
    done: Buffer.from([0b0000_0111]).toString("base64url"),
    failed: Buffer.from([0b0001_0000]).toString("base64url"),
  },
};
const again = { 5: { sends: 2, atMs: 0, lost: 1, since: 1 } };

async function inspected() {
  const world = await cliWorld();
  const run = await submit(world.client, { calculation: "sum", params: { to: 95 }, id: "r1" });
  const nothing = {
    map: await world.run("status r1 --map"),
    durations: await world.run("status r1 --durations"),
    timeline: await world.run("status r1 --timeline"),
  };
  const atMs = Date.parse("2026-11-22T12:00:00Z");
  const terms = [{ term: 3, holder: "node-1", atMs }];
  await world.putState(run, { phase: "computing", layout, cursor: 8, open, again, packsDone: 3, terms });
  for (const [pack, ms] of [
    [0, 120],
    [1, 80],
    [2, 2_500],
  ] as const)
    await world.storage.blobs.create(names.runs, runBlobs("r1", run.uid).part(0, pack), "1", {
      contentType: outputContentType("application/json", { ms, attempt: 1, calls: noCalls }),
    });
  return { ...world, nothing };
}

describe("leasefold status", () => {
  it("--map shows every pack, with what the signs mean", async () => {
    const { run, nothing } = await inspected();
    expect(nothing.map.out).toBe("no packs: not planned yet, or a plan without chunks\n");
    expect((await run("status r1 --map")).out).toBe(
      [
        "         0  ###+x!++..",
        "each is a pack: # done, - partly, + in flight, ! resent, x failed, . not sent",
        "",
      ].join("\n"),
    );
  });

  it("--map tells packs that the run gave up from those that failed", async () => {
    const { run, client, putState } = await cliWorld();
    const r1 = await submit(client, { calculation: "sum", params: { to: 95 }, id: "r1" });
    const sealed = { 0: { members: open[0].done, gen: 1, node: false } };
    const gaveUp = { cursor: 6, failed: { 0: open[0].failed } };
    const counts = { packsDone: 3, packsFailed: 7, chunksDone: 30, chunksFailed: 65 };
    await putState(r1, { phase: "complete", layout, cursor: 10, keep: true, sealed, gaveUp, ...counts });
    expect((await run("status r1 --map")).out).toBe(
      [
        "         0  ###/x/////",
        "each is a pack: # done, - partly, / given up, x failed, . not sent",
        "",
      ].join("\n"),
    );
    const { out } = await run("status r1");
    expect(out).toContain("  packs        3 of 10 done, 7 missing (6 given up), 6 sent, 0 resent\n");
    expect(out).toContain("  chunks       30 of 95 done, 65 missing (55 given up)\n");
  });

  it("--map shows the same without a terminal, which has no width", async () => {
    const out = printed({ columns: Number.POSITIVE_INFINITY });
    const { run, client, putState } = await cliWorld({ out });
    const r1 = await submit(client, { calculation: "sum", params: { to: 1_500 }, id: "r1" });
    const planned = { ...layout, chunks: 1_500 };
    await putState(r1, { phase: "computing", layout: planned, cursor: 8, open, packsDone: 3 });
    await run("status r1 --map");
    expect(out.text().split("\n").slice(0, 2)).toEqual([
      `         0  ###+x+++${".".repeat(92)}`,
      `       100  ${".".repeat(50)}`,
    ]);
  });

  it("--durations shows quantiles, a histogram and the slowest packs", async () => {
    const { run, nothing } = await inspected();
    expect(nothing.durations.out).toBe("no pack of r1 has ended yet\n");
    const { out } = await run("status r1 --durations");
    expect(out).toMatch(/^ +3 +120 ms +2.5 s +2.5 s +2.5 s$/m);
    expect(out).toMatch(/^ +2 {2}20–29 +2.5 s +1$/m);
    expect(out).toMatch(/^ +0 ms +2 {2}█{40}$/m);
  });

  it("--timeline shows who led", async () => {
    const { run, nothing } = await inspected();
    expect(nothing.timeline.out).toMatch(/^no leader has seen r1 yet$/m);
    expect(nothing.timeline.out).toMatch(/^\S+Z {2}submit/m);
    expect((await run("status r1 --timeline")).out).toMatch(/^ +3 {2}2026-11-22T12:00:00Z .* node-1$/m);
  });

  it.each([
    ["--map", "map"],
    ["--durations", "durations"],
    ["--timeline", "timeline"],
  ])("%s --json is what %s answers over HTTP", async (option, route) => {
    const { run, client } = await inspected();
    const { jsonBody } = await call(
      client,
      `GET runs/{id}/${route}`,
      apiRequest("x", { params: { id: "r1" } }),
    );
    expect(JSON.parse((await run(`status r1 ${option} --json`)).out)).toEqual(jsonBody);
  });

  it("takes one of these options only", async () => {
    const { run } = await inspected();
    for (const line of ["--map --timeline", "--watch --durations"])
      expect(await run(`status r1 ${line}`)).toMatchObject({
        exitCode: 2,
        err: expect.stringContaining("cannot be used with"),
      });
  });
});
