import { describe, expect, it } from "vitest";
import { readMarker } from "../../../src/engine/client/runDocuments.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { runBlobs, specBlob } from "../../../src/engine/model/runBlobs.ts";
import { portsOf } from "../../../test/api/apiWorld.ts";
import { names } from "../../../test/client/clientWorld.ts";
import { finishedRun } from "../../../test/client/questions/finishedRun.ts";
import type { Leasefold } from "../../client/leasefoldClient.ts";
import { apiHere } from "../api.ts";
import { cliWorld, shown } from "./cliWorld.ts";

const layout = { chunks: 100, packSize: 10, shardSize: 256, fanIn: 1000, packMs: 1 };
const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

async function submitted(change: Parameters<typeof cliWorld>[0] = {}) {
  const world = await cliWorld(change);
  return { ...world, submitted: await submit(world.client, request) };
}

describe("leasefold pause, resume, cancel, cap", () => {
  it.each([
    ["pause r1", "r1  pause: accepted; computing, paused\n", { command: 1, paused: true }, []],
    ["resume r1", "r1  resume: accepted; computing\n", { command: 2 }, ["pause"]],
    ["cap r1 7", "r1  cap 7: accepted; computing\n", { command: 1, cap: 7 }, []],
    ["cap r1 --cost 0.5", "r1  cap --cost 0.5: accepted; computing\n", { command: 1, maxCost: 0.5 }, []],
    ["cap r1 7 --cost 8", "r1  cap 7 --cost 8: accepted; computing\n", { command: 1, maxCost: 8 }, []],
    [
      "cancel r1 --keep",
      "r1  cancel --keep: accepted; computing, ending early\n",
      { command: 1, keep: true },
      [],
    ],
  ])("%s tells the leader's answer", async (line, text, state, before) => {
    const { start, world, client, submitted: of, putState } = await submitted();
    await putState(of, { phase: "computing", layout });
    for (const word of before) await world.finish(start(`${word} r1`).ended);
    const { ended } = start(line);
    await world.advance(500);
    await putState(of, { phase: "computing", layout, answer: "done", ...state });
    expect(await world.finish(ended)).toEqual({ exitCode: 0, out: text, err: "" });
    expect((await readMarker(client, "r1"))?.value).toMatchObject({ command: state.command });
  });

  it("say that a run at its max cost stays paused, and how it goes on", async () => {
    const { run, client, submitted: of, putState } = await submitted();
    await putState(of, { phase: "computing", layout, maxCost: 5, maxCostAtMs: 1 });
    expect((await run("resume r1")).out).toBe(
      "r1  resume: it was so before; computing, paused at its max cost: $5.0000, and more work does not fit. " +
        '"leasefold cap r1 --cost <dollars>" lets it go on, "leasefold cancel r1 --keep" ends it with what is done\n',
    );
    await run("cap r1 --cost 8");
    expect((await readMarker(client, "r1"))?.value).toMatchObject({ dollars: 8, cap: 4_000, want: "run" });
    expect(await run("cap r1")).toMatchObject({ exitCode: 2, err: expect.stringContaining("or --cost") });
    expect((await run("cap r1 --cost 0")).err).toContain("maxCost: 0 is no amount of dollars above 0");
  });

  it("say that it was so before, and that nobody has answered", async () => {
    const { run, submitted: of, putState } = await submitted();
    await putState(of, { phase: "computing", layout });
    expect((await run("resume r1")).out).toBe("r1  resume: it was so before; computing\n");
    expect((await run("pause r1")).out).toBe("r1  pause: asked; no leader has answered yet\n");
    const { exitCode, out } = await run("pause r1 --json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      run: "r1",
      kind: "pause",
      command: 1,
      changed: false,
      want: "paused",
      answer: "pending",
      word: "computing",
    });
  });

  it.each([
    ["pause r1", "run r1 is complete already"],
    ["resume r1", "run r1 is complete already"],
    ["cancel r1", "run r1 is complete already"],
    ["cap r1 7", "run r1 is complete already"],
    ["retry r1", "run r1 is complete; there is nothing to retry"],
    ["cap r1 0", "cap: 0 is not a whole number from 1 to 100000"],
    ["cap r1 1.5", "it must be a whole number"],
  ])("%s is refused for a complete run with exit code 2 and why", async (line, message) => {
    const { run, submitted: of, putState, putResult } = await submitted();
    await putResult(of, "1");
    await putState(of, { phase: "complete", layout });
    const { exitCode, out, err } = await run(line);
    expect([exitCode, out]).toEqual([2, ""]);
    expect(err).toContain(message);
  });

  it.each(["pause r9", "resume r9", "cancel r9", "cap r9 3", "retry r9", "retry r9 --wait", "delete r9"])(
    "%s says that there is no such run",
    async (line) => {
      const { run } = await submitted();
      expect(await run(line)).toEqual({ exitCode: 2, out: "", err: 'leasefold: there is no run "r9"\n' });
    },
  );
});

describe("leasefold retry", () => {
  async function failed(change = {}) {
    const world = await submitted(change);
    const error = { code: "x", message: "pack 3 threw" };
    await world.putState(world.submitted, { phase: "failed", layout, command: 2, error });
    world.storage.operator.deleteBlob(names.active, "r1");
    return world;
  }

  it("tells that the run is at work again", async () => {
    const { start, world, submitted: of, putState } = await failed();
    const { ended } = start("retry r1");
    await world.advance(500);
    const done = { packsDone: 5, chunksDone: 50 };
    await putState(of, { phase: "computing", layout, generation: 2, command: 3, answer: "done", ...done });
    expect(await world.finish(ended)).toEqual({
      exitCode: 0,
      out: "r1  retry: accepted, 5 of 10 packs to compute; computing\n",
      err: "",
    });
  });

  it("is refused where the file is newer than what the instances run, whose new threads would load it", async () => {
    const sum = { name: "sum", summary: "", params: [], schema: {}, code: "sum@sha256:3f2a8b1c9d0e" };
    const instances = async () => ({ calculations: async () => [{ ...sum, changed: true as const }] });
    const { run } = await failed({ instances });
    for (const line of ["retry r1", "retry r1 --wait"])
      expect(await run(line)).toMatchObject({
        exitCode: 2,
        err: expect.stringMatching(/the file is newer than what the instances run.*leasefold up --add/),
      });
  });

  it("asks the instances, which know whether they have the code that computed the run", async () => {
    const theirs: { api?: Leasefold } = {};
    const { run, client, submitted: of, putState } = await failed({ instances: async () => theirs.api });
    const calculations = { ...client.calculations, versionOf: () => "sum@2" };
    theirs.api = apiHere(portsOf({ ...client, calculations }));
    await putState(of, { phase: "failed", layout, command: 2, code: "sum@1" });
    expect(await run("retry r1")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("run r1 was computed by sum 1; the instances have sum 2 now"),
    });
  });

  it("with --wait prints the result of the new generation", async () => {
    const { start, world, client, submitted: of, putState, putResult } = await failed();
    await putResult(of, '{"sum":1}', { complete: false, missing: [{ from: 3, to: 4 }] });
    const { ended } = start("retry r1 --wait");
    await world.advance(1_000);
    await putState(of, { phase: "computing", layout, generation: 2, packsDone: 5, command: 3 });
    await world.advance(1_000);
    await putResult(of, '{"sum":4950}', { generation: 2 });
    const finishedMs = client.clock.wallMs();
    await putState(of, { phase: "complete", layout, generation: 2, packsDone: 10, command: 3, finishedMs });
    const { exitCode, out, err } = await world.finish(ended);
    expect([exitCode, out]).toEqual([0, '{"sum":4950}']);
    expect(shown(err)).toMatch(/^r1 is tried again, generation 2\nwaiting/);
    expect(shown(err)).toContain("50 %  5/10 packs");
  });

  it.each([
    ["retry r1 --wait", 8],
    ["retry r1 --wait --allow-gaps", 0],
  ])("%s of a result with gaps ends with %d", async (line, expected) => {
    const { start, world, client, submitted: of, putState, putResult } = await failed();
    const { ended } = start(line);
    await world.advance(3_000);
    await putResult(of, '{"sum":1}', { generation: 2, complete: false, missing: [{ from: 3, to: 4 }] });
    const finishedMs = client.clock.wallMs();
    await putState(of, { phase: "complete", layout, generation: 2, packsDone: 9, command: 3, finishedMs });
    expect(await world.finish(ended)).toMatchObject({ exitCode: expected, out: '{"sum":1}' });
  });

  it("-o refuses a file that cannot be written before anything is tried again", async () => {
    const { start, client } = await failed();
    const before = await readMarker(client, "r1");
    expect(await start("retry r1 -o /none/out.json").ended).toMatchObject({ exitCode: 2 });
    expect(await readMarker(client, "r1")).toEqual(before);
  });
});

describe("leasefold delete", () => {
  it("waits until the run is gone, and asks nothing where it has no result", async () => {
    const { start, world, storage } = await submitted();
    const { ended } = start("delete r1", { tty: true });
    await world.advance(1_000);
    storage.operator.deleteBlob(names.runs, specBlob("r1"));
    storage.operator.deleteBlob(names.active, "r1");
    expect(await world.finish(ended)).toEqual({ exitCode: 0, out: "r1  delete: done\n", err: "" });
  });

  it("of a run with a result asks, or wants --yes", async () => {
    const world = await cliWorld();
    await finishedRun(world);
    const refused = await world.run("delete r1");
    expect(refused).toMatchObject({ exitCode: 2, out: "" });
    expect(refused.err).toContain("give --yes");
    expect((await world.run("status r1")).exitCode).toBe(0);
    expect(await world.run("delete r1 --yes")).toMatchObject({ exitCode: 0 });
    expect((await readMarker(world.client, "r1"))?.value.want).toBe("delete");
  });

  it("says after ten seconds that it goes on", async () => {
    const { run, world, client } = await submitted();
    const startMs = world.nowMs();
    const { exitCode, out } = await run("delete r1");
    expect(exitCode).toBe(0);
    expect(out).toBe("r1  delete: requested; a leader continues until everything is deleted\n");
    expect(world.nowMs() - startMs).toBeLessThan(11_000);
    expect((await readMarker(client, "r1"))?.value.want).toBe("delete");
    expect(JSON.parse((await run("delete r1 --json")).out)).toMatchObject({ gone: false, changed: false });
    expect((await run("status r1")).out).toMatch(/^r1 {2}deleting\n/);
  });

  it("takes a run that cannot be read", async () => {
    const { run, storage, submitted: of } = await submitted();
    storage.operator.overwriteBlob(names.runs, runBlobs("r1", of.uid).state, "{");
    expect((await run("status r1")).exitCode).toBe(6);
    expect((await run("delete r1")).exitCode).toBe(0);
  });
});
