import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/engine/storage/system.ts";
import { calculations, clientWorld, names } from "../../../test/client/clientWorld.ts";
import { fileThere, writesFile } from "../../../test/support/fileThere.ts";
import { localCode } from "../../../test/support/localCode.ts";
import { knownCalculations } from "../askedCalculation.ts";
import type { Cli } from "../cli.ts";
import { localFleet } from "../local/instanceEnv.ts";
import { startThread } from "../main.ts";
import { runCommand } from "../program.ts";
import { cliWorld, instancesOf, printed } from "./cliWorld.ts";

describe("leasefold plan", () => {
  it("plan shows size, duration and cost of a run", async () => {
    const { run } = await cliWorld();
    const { exitCode, out, err } = await run("plan sum --to 1e6 --pack-size 100 --workers 200");
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^sum \{"to":1000000,.*\}$/m);
    expect(out).toMatch(/^ {2}chunks +1,000,000, each about 10 ms on this machine$/m);
    expect(out).toMatch(/^ {2}packs +10,000 of 100, each about 1 s$/m);
    expect(out).toMatch(/^ {2}shards +40$/m);
    expect(out).toMatch(/^ {2}compute +2 h 46 min of one thread$/m);
    expect(out).toMatch(/^ {2}expected +5\d s with 200 packs at once \(--workers\)$/m);
    expect(out).toMatch(
      /^ {2}calls +4\d,\d{3}: write 10,\d{3}, list \d+, read \d+, other [\d,]+, queue 30,\d{3}$/m,
    );
    expect(out).toMatch(/^ +a pack: write 1, queue 3\n +a minute of leading: write \d+, .*queue 45$/m);
    expect(out).toMatch(
      /^ {2}dollars +about \$0\.\d{4}: storage \$0\.0[67]\d\d, compute \$0\.\d{4} \([\d,]+ GB-s, /m,
    );
    expect(err).toContain("not included: idle ticks");
  });

  it("plan says where its estimate is above the max cost, of the option or else of the app", async () => {
    const { run } = await cliWorld();
    const bounded = await run("plan sum --to 1e6 --workers 200 --max-cost 0.05");
    expect(bounded.out).toMatch(
      /more than its max cost of \$0\.0500: the run would pause there, at about \d+ % of\s+its cost/,
    );
    expect((await run("plan sum --to 1e6 --workers 200 --max-cost 50")).out).not.toContain("max cost");
    const ofApp = await cliWorld({ env: { LEASEFOLD_MAX_COST: "0.05" } });
    expect((await ofApp.run("plan sum --to 1e6")).out).toContain("more than its max cost of $0.0500");
  });

  it("plan says what a calculation that waits gains from concurrency", async () => {
    const { run } = await cliWorld({ startThread: async () => localCode(calculations, 10, 0.05) });
    expect((await run("plan sum --to 1e6")).out).toContain(
      "a chunk waits for 95 % of its time: concurrency: 32 would take",
    );
    expect((await (await cliWorld()).run("plan sum --to 1e6")).out).not.toContain("concurrency");
  });

  it("plan says that pinned packs of less than a quarter second mostly cost calls", async () => {
    const { run } = await cliWorld();
    const says = async (line: string) => (await run(`plan sum ${line}`)).out.includes("packs under 250 ms");
    expect(await says("--to 1000 --pack-size 10")).toBe(true);
    expect(await says("--to 1000 --pack-size 30")).toBe(false);
    expect(await says("--to 5")).toBe(false);
  });

  it("plan counts on the threads of the local instances, unless --workers says otherwise", async () => {
    const { run } = await cliWorld({ instances: instancesOf({ fleet: localFleet(3, 3) }) });
    const workers = async (line: string) => JSON.parse((await run(`plan sum --to 5 --json ${line}`)).out);
    expect(await workers("")).toMatchObject({ workers: 3, workersFrom: "3 threads of 3 local instances" });
    expect(await workers("--workers 7")).toMatchObject({ workers: 7, workersFrom: "--workers" });
  });

  it("plan --json shows the same, and needs no storage", async () => {
    const connect = () => Promise.reject(new Error("nothing is to be opened"));
    const { run } = await cliWorld({ connect });
    const { exitCode, out } = await run("plan sum --to 5 --json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      calculation: "sum",
      params: { to: 5, label: "none" },
      chunks: 5,
      packs: 1,
      workers: 20,
      workersFrom: "the default, as no storage answers",
      calls: { perPack: { queue: 3, write: 1 } },
    });
  });

  it.each([
    ["plan", "missing required argument 'calculation'"],
    ["plan nothing", 'there is no calculation "nothing"'],
    ["plan sum", "invalid --to: must be given"],
    ["plan sum --tto 5", "unknown parameter: --tto"],
    ["plan sum --to 5 --pack-size 0", "invalid --pack-size: 0 is not a whole number"],
    ["plan sum --to 5 --workers 0", "workers: 0 is not a whole number from 1 to 100000"],
  ])("%s is refused on one line with exit code 2", async (line, message) => {
    const { run } = await cliWorld();
    const { exitCode, out, err } = await run(line);
    expect([exitCode, out, err.split("\n").length]).toEqual([2, "", 2]);
    expect(err).toContain(message);
  });

  it("plan stops its thread after success and after failure", async () => {
    for (const [to, exitCode] of [
      [5, 0],
      [1e8, 7],
    ]) {
      const code = localCode(calculations);
      const { run } = await cliWorld({ startThread: async () => code });
      expect((await run(`plan sum --to ${to}`)).exitCode).toBe(exitCode);
      expect(code.stopped()).toBe(1);
    }
  });
});

describe("leasefold plan in a thread of its own", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Plans a calculation whose plan and chunks are these, with the program's own threads. */
  async function plan(
    parts: { plan: string; compute?: string; stop?: string },
    {
      signal = new AbortController().signal,
      connect = () => Promise.reject(new Error("nothing is to be opened")),
      json = false,
    }: Partial<Pick<Cli, "signal" | "connect">> & { json?: boolean } = {},
  ) {
    const file = join(folder, "mine.mjs");
    await writeFile(
      file,
      `import { z } from "leasefold";
       export default { name: "mine", summary: "a test", params: z.object({}), zero: () => 0, merge: (a, b) => a + b,
         plan: function () { ${parts.plan} }, compute: function () { ${parts.compute ?? "return 1"} }${parts.stop === undefined ? "" : `, stop: ${parts.stop}`} };`,
    );
    const [out, err] = [printed(), printed()];
    const env = { LEASEFOLD_CALCULATIONS: file };
    const cli: Cli = {
      ...{ env, folder, out, err, clock: systemClock, signal, connect },
      calculations: () => knownCalculations({ env, folder }),
      instances: async () => undefined,
      startThread: (access) => startThread({ env, folder }, access, [file]),
    };
    const line = ["plan", "mine", ...(json ? ["--json"] : [])];
    return { exitCode: await runCommand(line, cli), out: out.text(), err: err.text() };
  }

  it("times the user's own chunks", async () => {
    // The time for which others have the core is not the chunk's own.
    const compute =
      "const cpu = process.threadCpuUsage(); while (process.threadCpuUsage(cpu).user < 20_000); return 1";
    const { exitCode, out } = await plan({ plan: "return 100", compute }, { json: true });
    expect(exitCode).toBe(0);
    const { chunks, chunkMs } = JSON.parse(out) as { chunks: number; chunkMs: number };
    expect(chunks).toBe(100);
    expect(chunkMs).toBeGreaterThan(15);
  });

  it("Ctrl-C ends plan although the calculation's plan never returns", async () => {
    const interrupt = new AbortController();
    const began = join(folder, "began");
    const planning = plan({ plan: `${writesFile(began)} for (;;);` }, { signal: interrupt.signal });
    await fileThere(began);
    interrupt.abort();
    expect(await planning).toMatchObject({ exitCode: 130, out: "" });
  });

  it("counts what plan and chunks read of files, for people and programs", async () => {
    const { client, storage } = await clientWorld();
    for (const name of ["a", "b", "c"]) await storage.blobs.create(names.inputs, name, "12345");
    const parts = {
      plan: `return arguments[1].files.list("${names.inputs}/")`,
      compute:
        "const { files, input } = arguments[0]; return Array.fromAsync(files.read(input)).then(() => 1)",
    };
    const [{ out: json }, { out }] = [
      await plan(parts, { connect: async () => client, json: true }),
      await plan(parts, { connect: async () => client }),
    ];
    expect(JSON.parse(json).files).toEqual({
      planning: { list: 1, read: 3, bytes: 15 },
      computing: { list: 0, read: 3, bytes: 15 },
    });
    expect(out).toMatch(/^ +files: to plan list 1, read 3 \(15 B\); to compute about read 3 \(15 B\)$/m);
  });

  it("tells what a chunk threw that it timed, with exit code 7, and that nothing was measured", async () => {
    const parts = { plan: "return 3", compute: 'throw new Error("no such day")' };
    const { exitCode, out, err } = await plan(parts);
    expect(exitCode).toBe(7);
    expect(err).toMatch(/^a chunk that was tried failed: chunk 0: no such day \(mine\.mjs:\d+\)$/m);
    expect(out).toBe(
      "mine {}\n  chunks    3\n" +
        "  measured  nothing: each chunk that was tried failed, so there is no estimate of time and cost\n",
    );
    const { out: json } = await plan(parts, { json: true });
    const estimate = JSON.parse(json);
    expect(estimate).toMatchObject({ chunks: 3, failed: expect.stringContaining("no such day") });
    expect(estimate).toMatchObject({ unmeasured: "each chunk that was tried failed" });
    for (const time of ["chunkMs", "packMs", "computeS", "expectedS"])
      expect(estimate).not.toHaveProperty(time);
  });

  it("tells what a plan threw, with exit code 7", async () => {
    const ended = await plan({ plan: 'throw new Error("no such folder")' });
    expect(ended).toMatchObject({ exitCode: 7, err: expect.stringContaining("no such folder") });
  });
});
