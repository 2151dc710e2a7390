import { describe, expect, it } from "vitest";
import { command } from "../../../src/engine/client/commands/command.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { closedBlob, encodeClosedRun } from "../../../src/engine/model/closedRun.ts";
import { names } from "../../../test/client/clientWorld.ts";
import { cliWorld } from "./cliWorld.ts";

const layout = { chunks: 100, packSize: 10, shardSize: 256, fanIn: 1000, packMs: 1 };
const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

describe("leasefold runs, status, cancel, cap", () => {
  it("list runs in a table that fits 80 columns", async () => {
    const { run, client, putState } = await cliWorld();
    expect((await run("runs")).out).toBe("no runs\n");
    const first = await submit(client, { ...request, params: { to: 100, label: "a label that is long" } });
    await putState(first, { phase: "computing", layout, packsDone: 5 });
    expect((await run("runs")).out).toBe(
      [
        "RUN  STATE      DONE  PACKS  ELAPSED  CALCULATION",
        'r1   computing  50 %     10      0 s  sum {"to":100,"label":"a label that is lo…',
        "",
      ].join("\n"),
    );
  });

  it("refuse the name of a calculation that is a typo, and list none of a calculation that has no runs", async () => {
    const { run, client } = await cliWorld();
    expect(await run("runs --calculation sum")).toMatchObject({ exitCode: 0, out: "no runs\n" });
    expect(await run("runs --calculation nightly")).toMatchObject({ exitCode: 0, out: "no runs\n" });
    const refused = await run("runs --calculation sun --since 30d");
    expect(refused).toMatchObject({ exitCode: 2, out: "" });
    expect(refused.err).toContain('"sun": there is none of that name (did you mean sum?)');
    await submit(client, request);
    expect((await run("runs --calculation smu --json")).exitCode).toBe(2);
  });

  it("list runs of schedules within 80 columns too, whose ids are long", async () => {
    const { run, client, putState } = await cliWorld();
    const id = "nightly-risk-20261119T010000Z";
    await putState(await submit(client, { ...request, id }), { phase: "computing", layout, packsDone: 5 });
    const long = await submit(client, { ...request, id: `${id}-of-team-a` });
    await putState(long, { phase: "complete", layout, packsDone: 10 });
    const { out } = await run("runs");
    expect(out).toContain(id);
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it("begin with what became of the runs since a time, and what helps those that failed", async () => {
    const { run, client, putState, storage } = await cliWorld();
    const error = {
      code: "pack-failed",
      message: "1 chunk failed: chunk 3: RangeError: volatility is no number",
    };
    const nowMs = client.clock.wallMs();
    const cost = { dollars: 0.3, storageDollars: 0.1, computeDollars: 0.2, gbS: 1, executions: 1 };
    for (const [id, ended] of [
      ["n1", { phase: "complete" }],
      ["n2", { phase: "failed", error }],
    ] as const) {
      const closed = {
        run: id,
        uid: "u",
        generation: 1,
        calculation: "risk",
        finishedMs: nowMs,
        cost,
        ...ended,
      };
      const metadata = encodeClosedRun(closed);
      await storage.blobs.create(names.runs, closedBlob(id, nowMs - 1_000), "", { metadata });
    }
    await putState(await submit(client, request), { phase: "computing", layout, packsDone: 5 });
    const { out } = await run("runs --since yesterday");
    expect(out).toBe(
      [
        "1 complete, 1 failed, 1 not ended yet, $0.60 since yesterday",
        "",
        "n2  failed",
        "  1 chunk failed: chunk 3: RangeError: volatility is no number",
        "    leasefold retry n2  computes what is missing; if the code has changed, use",
        '    "leasefold submit risk … --reuse n2 --accept-code"',
        "",
        "RUN  STATE      DONE  PACKS  ELAPSED  CALCULATION",
        'r1   computing  50 %     10      0 s  sum {"to":100,"label":"none","exact":fals…',
        "n1   complete                    1 s  risk …",
        "n2   failed                      1 s  risk …",
        "",
      ].join("\n"),
    );
    expect(JSON.parse((await run("runs --since 1d --json")).out)).toMatchObject({
      overview: { failed: 1, attention: [{ run: "n2" }] },
    });
    expect((await run("runs --since 1d --phase failed")).out).toMatch(/^RUN /);
  });

  it("watch a run to its end", async () => {
    const { start, world, client, putState } = await cliWorld();
    const submitted = await submit(client, request);
    const { ended } = start("watch r1");
    await world.advance(1_000);
    await putState(submitted, { phase: "cancelled", finishedMs: client.clock.wallMs() });
    const { exitCode, out } = await world.finish(ended);
    expect(exitCode).toBe(1);
    expect(out).toMatch(/^waiting {2}0 s\ncancelled {2}1 s\nr1 {2}cancelled\n/);
  });

  it("wait for the leader's answer to a command", async () => {
    const { start, run, world, client, putState } = await cliWorld();
    const submitted = await submit(client, request);
    const { ended } = start("cap r1 7");
    await world.advance(500);
    await putState(submitted, { phase: "computing", command: 1, answer: "done", cap: 7 });
    expect(await world.finish(ended)).toEqual({
      exitCode: 0,
      out: "r1  cap 7: accepted; computing\n",
      err: "",
    });
    expect((await run("cancel r1")).out).toBe("r1  cancel: asked; no leader has answered yet\n");
  });

  it("tell a command that came too late with exit code 2", async () => {
    const { start, run, world, client, putState } = await cliWorld();
    const submitted = await submit(client, request);
    const { ended } = start("cancel r1");
    await world.advance(500);
    await putState(submitted, { phase: "finishing", command: 1, answer: "too-late" });
    expect(await world.finish(ended)).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("too late"),
    });
    await putState(submitted, { phase: "complete" });
    expect(await run("cancel r1")).toMatchObject({
      exitCode: 2,
      err: "leasefold: run r1 is complete already\n",
    });
  });

  it("show a command that no leader has seen", async () => {
    const { run, client } = await cliWorld();
    await submit(client, request);
    await command(client, "r1", { kind: "cancel" });
    expect((await run("status r1")).out).toContain("command      no. 1: pending\n");
  });
});
