import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { command } from "../../src/client/command.ts";
import { readMarker } from "../../src/client/runDocuments.ts";
import { submit } from "../../src/client/submit.ts";
import { encodeRecord } from "../../src/election/record.ts";
import { leaderBlob, runBlobs } from "../../src/model/names.ts";
import { names } from "../client/clientWorld.ts";
import { cliWorld, shown } from "./cliWorld.ts";

const layout = { chunks: 100, packSize: 10, shardSize: 256, packMs: 1 };
const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

describe("leasefold submit", () => {
  it("prints the id alone, so that a script can keep it", async () => {
    const { run, client } = await cliWorld();
    const ended = await run("submit sum --to 1e2 --id r1 --cap 7 --pack-size 5");
    expect(ended).toEqual({ exitCode: 0, out: "r1\n", err: "" });
    expect((await readMarker(client, "r1"))?.value.cap).toBe(7);
    expect((await run("submit sum --to 100 --id r1 --pack-size 5")).out).toBe("r1 was submitted before\n");
  });

  it("takes options of its own and of the calculation in any order, and JSON", async () => {
    const { run } = await cliWorld();
    const { out } = await run("--json submit sum --exact --id r1 --to 5 -p label=x");
    expect(JSON.parse(out)).toMatchObject({ run: "r1", created: true, woken: true });
    const { out: status } = await run("status r1 --json");
    expect(JSON.parse(status)).toMatchObject({ params: { to: 5, exact: true, label: "x", maxSize: 10 } });
  });

  it.each([
    ["submit sum --tto 5", "--tto is unknown; the parameters are: --to, --label, --exact, --maxSize"],
    ["submit nothing --to 5", "there is no nothing"],
    ["submit sum --to 1e16", "params.to:"],
    ["submit sum", "params.to:"],
    ["submit sum --to 5 --id a/b", "id: "],
    ["submit sum --to 5 --pack-size -3", "packSize: -3 is not a whole number from 1 to 10000000"],
    ["submit sum --to 5 --cap x", "option '--cap <n>' argument 'x' is invalid. it must be a whole number."],
    ["submit", "missing required argument 'calculation'"],
    ["submitt sum", "unknown command 'submitt' (Did you mean submit?)"],
    ["runs --colour red", "unknown option '--colour'"],
    ["cap r1 many", "it must be a whole number"],
  ])("%s is refused on one line with exit code 2", async (line, message) => {
    const { run } = await cliWorld();
    const { exitCode, out, err } = await run(line);
    expect([exitCode, out, err.split("\n").length]).toEqual([2, "", 2]);
    expect(err).toContain(`leasefold: `);
    expect(err).toContain(message);
  });

  it("tells mistakes as JSON to programs", async () => {
    const { run } = await cliWorld();
    const bad = await run("submit sum --to 5 --cap 0 --json");
    expect(JSON.parse(bad.err)).toEqual({
      error: {
        code: "bad-cap",
        field: "cap",
        message: "cap: 0 is not a whole number from 1 to 100000",
        exitCode: 2,
      },
    });
    expect(JSON.parse((await run("--json nonsense")).err)).toMatchObject({
      error: { code: "usage", exitCode: 2 },
    });
  });

  it("answers a conflict with exit code 2", async () => {
    const { run } = await cliWorld();
    await run("submit sum --to 5 --id r1");
    expect(await run("submit sum --to 6 --id r1")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("r1"),
    });
  });
});

describe("leasefold submit --wait", () => {
  it("shows progress beside and prints only the result", async () => {
    const { start, world, client, putState, putResult } = await cliWorld();
    const { ended, err } = start("submit sum --to 100 --id r1 --wait", { tty: true });
    await world.advance(1_000);
    const run = { run: "r1", uid: (await readMarker(client, "r1"))?.value.uid ?? "" };
    await putState(run, {
      phase: "computing",
      layout,
      packsDone: 5,
      rate: 2,
      terms: [{ term: 3, holder: "n", atMs: 0 }],
    });
    await world.advance(1_000);
    expect(shown(err())).toBe(
      "r1 submitted\ncomputing  ██████████░░░░░░░░░░  50 %  5/10 packs  2.00/s  term 3",
    );
    await putResult(run, '{"sum":4950}');
    await putState(run, { phase: "complete", layout, packsDone: 10, finishedMs: client.clock.wallMs() });
    const { exitCode, out, err: all } = await world.finish(ended);
    expect([exitCode, out]).toEqual([0, '{"sum":4950}\n']);
    expect(shown(all)).toMatch(/\nr1 complete after 2 s\n$/);
  });

  it("ends with exit code 1 and the reason when the run failed", async () => {
    const { start, world, client, putState } = await cliWorld();
    const { ended } = start("submit sum --to 100 --id r1 --wait");
    await world.advance(500);
    const uid = (await readMarker(client, "r1"))?.value.uid ?? "";
    await putState({ run: "r1", uid }, { phase: "failed", error: { code: "x", message: "pack 3 threw" } });
    const { exitCode, out, err } = await world.finish(ended);
    expect([exitCode, out]).toEqual([1, ""]);
    expect(err).toContain("pack 3 threw");
  });

  it("leaves the run alone on Ctrl-C and ends with 130", async () => {
    const { start, world, client } = await cliWorld();
    const { ended, interrupt } = start("submit sum --to 100 --id r1 --wait");
    await world.advance(500);
    interrupt();
    const { exitCode, out, err } = await world.finish(ended);
    expect([exitCode, out]).toEqual([130, ""]);
    expect(err).toContain("r1 goes on without being watched");
    expect((await readMarker(client, "r1"))?.value.want).toBe("run");
  });
});

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

  it("of an unknown run end with exit code 2", async () => {
    const { run } = await cliWorld();
    for (const line of [
      "status r9",
      "cancel r9",
      "cap r9 3",
      "failures r9",
      "result r9",
      "status r9 --watch",
    ]) {
      expect(await run(line)).toEqual({ exitCode: 2, out: "", err: 'leasefold: there is no run "r9"\n' });
    }
  });

  it("watch a run to its end", async () => {
    const { start, world, client, putState } = await cliWorld();
    const submitted = await submit(client, request);
    const { ended } = start("status r1 --watch");
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
    expect(await world.finish(ended)).toEqual({ exitCode: 0, out: "r1  cap 7: done, computing\n", err: "" });
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

describe("leasefold result", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("prints the very bytes to a pipe and a line to a terminal", async () => {
    const { run, client, putResult } = await cliWorld();
    await putResult(await submit(client, request), "4950");
    expect(await run("result r1")).toEqual({ exitCode: 0, out: "4950", err: "" });
    expect((await run("result r1", { tty: true })).out).toBe("4950\n");
  });

  it("writes a file at once, and tells about it in JSON", async () => {
    const { start, client, putResult } = await cliWorld();
    await putResult(await submit(client, request), "4950");
    const first = await start("result r1 -o out.json", { folder }).ended;
    expect(first).toMatchObject({
      exitCode: 0,
      out: "",
      err: "out.json: 4 B of application/json, hash checked\n",
    });
    expect(await readFile(join(folder, "out.json"), "utf8")).toBe("4950");
    const second = await start("result r1 -o out.json --json", { folder }).ended;
    expect(JSON.parse(second.out)).toMatchObject({ bytes: 4, file: join(folder, "out.json") });
    expect(await readdir(folder)).toEqual(["out.json"]);
  });

  it("leaves no file behind when the hash is wrong, with exit code 6", async () => {
    const { start, client, storage, putResult } = await cliWorld();
    const manifest = await putResult(await submit(client, request), "4950");
    storage.operator.overwriteBlob(names.results, manifest.blob, "4951");
    const ended = await start("result r1 -o out.json", { folder }).ended;
    expect(ended).toMatchObject({ exitCode: 6, err: expect.stringContaining("SHA-256") });
    expect(await readdir(folder)).toEqual([]);
  });

  it("refuses a file that cannot be written, with exit code 2", async () => {
    const { start, client, putResult } = await cliWorld();
    await putResult(await submit(client, request), "4950");
    for (const file of ["none/out.json", "."]) {
      const ended = await start(`result r1 -o ${file}`, { folder }).ended;
      expect(ended).toMatchObject({ exitCode: 2, err: expect.stringContaining("cannot write") });
    }
    expect(await readdir(folder)).toEqual([]);
  });

  it("of an unfinished run ends with exit code 3 and a clear word", async () => {
    const { run, client, putState } = await cliWorld();
    const submitted = await submit(client, request);
    expect(await run("result r1")).toEqual({
      exitCode: 3,
      out: "",
      err: "leasefold: run r1 is not finished: it is waiting\n",
    });
    await putState(submitted, { phase: "failed", error: { code: "x", message: "pack 3 threw" } });
    expect(await run("result r1")).toMatchObject({
      exitCode: 3,
      err: expect.stringContaining("pack 3 threw"),
    });
  });

  it("says beside it what is missing", async () => {
    const { run, client, putResult } = await cliWorld();
    await putResult(await submit(client, request), "1", { complete: false, folded: 8 });
    expect(await run("result r1")).toMatchObject({ out: "1", err: "r1: 2 of 10 chunks are missing\n" });
  });
});

describe("leasefold failures, leader, queues, calculations", () => {
  it("list what failed and why", async () => {
    const { run, client, storage } = await cliWorld();
    const submitted = await submit(client, request);
    expect((await run("failures r1")).out).toBe("no failures in r1\n");
    const name = runBlobs("r1", submitted.uid).failure({ kind: "pack", shard: 0, pack: 7 }, 1, 1);
    const failure = { v: 1, cause: "error", code: "calculation-threw", message: "no\u001b[2J", attempts: 5 };
    storage.operator.overwriteBlob(
      names.runs,
      name,
      JSON.stringify({ ...failure, chunks: { from: 70, to: 80 } }),
    );
    expect((await run("failures r1")).out).toBe(
      "WORK    CHUNKS  TRIES  CODE               ERROR\npack 7  70–79       5  calculation-threw  no [2J\n",
    );
  });

  it("tell who leads", async () => {
    const { run, start, storage, world } = await cliWorld();
    expect((await run("leader")).out).toBe("nobody has ever led here\n");
    const lease = storage.lease(names.coordination, leaderBlob);
    await lease.ensure();
    const id = "00000000-0000-4000-8000-000000000000";
    await lease.acquire(id, 15);
    const record = {
      term: 7,
      termid: "t",
      state: "leading",
      holder: "node-1",
      beat: "b",
      breakAfterMs: 0,
    } as const;
    const rest = {
      sinceMs: Date.UTC(2029, 11, 31, 23, 59, 0),
      cameBy: "free",
      notes: {},
      lastTerms: [],
    } as const;
    await lease.writeRecord(id, encodeRecord({ ...record, ...rest }));
    expect((await run("leader")).out).toBe(
      "node-1 leads in term 7 since 23:59:00 UTC (1 min), last beat 0 s ago\n",
    );
    const { ended, interrupt } = start("leader --watch");
    await world.advance(20_000);
    interrupt();
    const { exitCode, out } = await world.finish(ended);
    expect(exitCode).toBe(130);
    expect(out).toContain("nobody leads; the last was node-1 in term 7,");
  });

  it("show the queues and their first messages", async () => {
    const { run, storage } = await cliWorld();
    await storage.queues.send(names.packs, '{"v":1,\n"kind":"plan"}');
    storage.operator.deleteQueue("test-wake-poison");
    expect((await run("queues")).out).toBe(`QUEUE               MESSAGES  OLDEST
test-packs                 1     0 s
test-packs-poison          0
test-urgent                0
test-urgent-poison         0
test-wake                  0
test-wake-poison     missing
`);
    expect((await run("queues peek packs -n 2")).out).toBe(
      'INSERTED              TAKEN  TEXT\n2030-01-01T00:00:00Z      0  {"v":1, "kind":"plan"}\n',
    );
    expect((await run("queues peek urgent")).out).toBe("no message can be seen\n");
    expect(await run("queues peek other")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("test-packs"),
    });
    expect(await run("queues peek packs -n 99")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("32"),
    });
  });

  it("describe the calculations", async () => {
    const { run } = await cliWorld();
    expect((await run("calculations")).out).toBe(`NAME  WHAT IT COMPUTES, AND ITS PARAMETERS
sum   adds the whole numbers below N
      --to [--label none] [--exact false] [--maxSize 10]
`);
    expect((await run("calculations sum")).out).toBe(`sum: adds the whole numbers below N
OPTION     TYPE     DEFAULT     MEANING
--to       integer  (required)  exclusive end
--label    string   none        a text
--exact    boolean  false       a flag
--maxSize  number   10          a number with a long name
`);
    expect((await run("calculations other")).exitCode).toBe(2);
    expect(JSON.parse((await run("calculations --json")).out)).toMatchObject({
      calculations: [{ name: "sum" }],
    });
  });
});
