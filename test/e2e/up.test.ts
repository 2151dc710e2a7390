import type { ChildProcess } from "node:child_process";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { LocalFile } from "../../packages/cli/local/localFile.ts";
import { isAlive, startOf } from "../../packages/cli/local/supervisor.ts";
import { builtProgram, until } from "../support/builtProgram.ts";

const { folder, leasefold, localFile, start, startUp, up } = builtProgram();

const exitOf = (child: ChildProcess | undefined): Promise<number | null> =>
  new Promise((resolve) => child?.once("exit", (code) => resolve(code)));

const processesOf = (local: LocalFile): readonly number[] =>
  [local.supervisorPid, local.azuritePid, ...local.instances.map(({ pid }) => pid)].filter(
    (pid) => pid !== undefined,
  );
const portsOf = (local: LocalFile): readonly number[] =>
  [...JSON.stringify(local).matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port));

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ host: "127.0.0.1", port });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

/** No process, no port, no temporary file. */
async function expectNothingLeft(local: LocalFile): Promise<void> {
  await until("all processes are gone", async () => !processesOf(local).some(isAlive));
  expect(await Promise.all(portsOf(local).map(listens))).toEqual(portsOf(local).map(() => false));
  expect(await readdir(join(folder(), "tmp"))).toEqual([]);
}

test("up in the background runs a job that another command submits, and down leaves nothing", async () => {
  const started = await leasefold("up", "--detach", "--instances", "2", "--data", "kept");
  expect(started).toMatchObject({ code: 0, err: "" });
  expect(started.out).toMatch(
    /^storage +http:\/\/127\.0\.0\.1:\d+\/\w+ \(kept in \/.*\/state\/leasefold\/data\/kept\)\nnode-1 +http:\/\/127\.0\.0\.1:\d+\/api\nnode-2 .*\n.*leasefold show.*\nready in .*leasefold down/,
  );
  const [, log = ""] = /^log +(\/.*\.log),/m.exec(started.out) ?? [];
  // Instances go on printing.
  const before = await readFile(log, "utf8");
  const { out: printed } = await leasefold("logs", "--instances");
  const after = await readFile(log, "utf8");
  expect([printed.startsWith(before), after.startsWith(printed)]).toEqual([true, true]);
  const local = (await localFile()) as LocalFile;
  expect(started.out).not.toContain(local.functionKey);
  expect(processesOf(local).every(isAlive)).toBe(true);
  expect(local.supervisorStart).toBe(startOf(local.supervisorPid));

  const again = await leasefold("up");
  expect(again).toMatchObject({ code: 2, out: "" });
  expect(again.err).toContain("2 instances run in this folder already");

  const job = await leasefold("submit", "primes", "--to", "1e6", "--id", "kept-run", "--wait");
  expect({ code: job.code, result: JSON.parse(job.out) }).toMatchObject({
    code: 0,
    result: { primes: 78_498 },
  });

  const [key, url, connection] = await Promise.all(
    ["key", "url", "connection"].map(async (what) => (await leasefold("show", what)).out.trim()),
  );
  expect(connection).toBe(local.connectionString);
  expect((await fetch(`${url}/runs`)).status).toBe(401);
  const listed = await fetch(`${url}/runs`, { headers: { "x-functions-key": `${key}` } });
  expect(await listed.json()).toMatchObject({ runs: [{ run: "kept-run" }] });

  expect(await leasefold("down")).toEqual({ code: 0, out: "stopped 2 instances\n", err: "" });
  await expectNothingLeft(local);
  expect(await localFile()).toBeUndefined();
  expect((await readdir(folder())).sort()).toEqual(["run", "state", "tmp"]);
  expect((await leasefold("down")).out).toBe("nothing runs here\n");

  expect((await leasefold("show", "data")).out).toBe(`${join(folder(), "state", "leasefold", "data")}\n`);
  const kept = await startUp("--instances", "1", "--data", "kept");
  expect(kept.local.functionKey).not.toBe(local.functionKey);
  expect(JSON.parse((await leasefold("result", "kept-run")).out)).toMatchObject({ primes: 78_498 });
  up()?.kill("SIGTERM");
  await exitOf(up());
  await expectNothingLeft(kept.local);
});

test("Ctrl-C ends up, its instances and its storage; an instance that dies is told and replaced", async () => {
  const { local, out } = await startUp();
  expect(local.instances.map(({ name }) => name)).toEqual(["node-1", "node-2", "node-3"]);
  const two = local.instances[1]?.pid ?? 0;
  process.kill(two, "SIGKILL");
  const anew = await until("two has another process", async () => {
    const now = await localFile();
    return now?.instances[1]?.pid !== undefined && now.instances[1].pid !== two && now;
  });
  expect(out()).toMatch(/node-2 ended \(signal SIGKILL\) and is started again\n.*node-2 is ready/);

  const exited = exitOf(up());
  up()?.kill("SIGINT");
  up()?.kill("SIGINT"); // As npm passes it on.
  expect(await exited).toBe(130);
  await expectNothingLeft(anew);
  expect(await readdir(join(folder(), "run", "leasefold"))).toEqual([]);
});

test("where no instance can run, everyone is told, and all goes on by itself when the cause is gone", async () => {
  // Instances load it at their first tick; the program itself loads it too, and must not end by it.
  await writeFile(
    join(folder(), "quits.mjs"),
    `import { existsSync } from "node:fs";
     import { defineCalculation, z } from "leasefold";
     if (process.env.LEASEFOLD_INSTANCE && existsSync(${JSON.stringify(join(folder(), "broken"))})) process.exit(3);
     export default defineCalculation({ name: "sum", summary: "adds", params: z.strictObject({ n: z.coerce.number() }),
       plan: ({ n }) => n, compute: ({ index }) => index, merge: (a, b) => a + b, zero: () => 0 });`,
  );
  const { local, out } = await startUp("--instances", "1", "--calculation", "quits.mjs");
  await writeFile(join(folder(), "broken"), "");
  process.kill(local.instances[0]?.pid ?? 0, "SIGKILL");
  await until("it has ended three times", async () => {
    const down = (await localFile())?.instances[0]?.down;
    return down !== undefined && down.ends >= 3;
  });
  expect(out()).toContain("no instance runs: runs wait until one can be started again");
  expect(out()).toMatch(/node-1 ended \(exit code 3\) and is started again in \d+ s/);
  for (const command of ["leader", "runs"])
    expect((await leasefold(command)).err).toMatch(/no instance runs: node-1 ended \d times/);

  const waiting = start("submit", "./quits.mjs", "--n", "10", "--wait");
  await until("it says that no instance runs", async () => /no instance runs: node-1/.test(waiting.out()));
  await rm(join(folder(), "broken"));
  expect(await waiting.ended).toEqual({ code: 0 });
  expect(waiting.out()).toMatch(/no instance runs: node-1 ended[\s\S]*all instances run again/);
  expect(waiting.out()).toContain("45\n");
  await until("the file tells it too", async () => (await localFile())?.instances[0]?.down === undefined);
});

test("SIGKILL of up leaves no instance and no storage after a moment, and the next up starts", async () => {
  const { local } = await startUp("--instances", "2");
  const exited = exitOf(up());
  up()?.kill("SIGKILL");
  await exited;
  await expectNothingLeft(local);
  expect((await leasefold("leader")).err).toContain("have ended");
  const next = await startUp("--instances", "1");
  process.kill(next.local.supervisorPid, "SIGHUP");
  await exitOf(up());
  await expectNothingLeft(next.local);
});

test("a user's own calculation is known to the instances, and to submit and plan without loading its code", async () => {
  const loads = join(folder(), "loads");
  await writeFile(
    join(folder(), "sum.mjs"),
    `import { appendFileSync } from "node:fs";
     appendFileSync(${JSON.stringify(loads)}, process.argv.slice(1).join(" ") + "\\n");
     import { defineCalculation, z } from "leasefold";
     export default defineCalculation({ name: "sum", summary: "adds", params: z.strictObject({ n: z.coerce.number() }),
       plan: ({ n }) => n, compute: ({ index }) => index, merge: (a, b) => a + b, zero: () => 0 });`,
  );
  await startUp("--instances", "1", "--calculation", "sum.mjs");
  const job = await leasefold("submit", "sum", "--n", "10", "--wait");
  expect({ code: job.code, out: job.out }).toEqual({ code: 0, out: "45\n" });
  expect((await leasefold("calculations", "sum")).out).toContain("--n");
  expect(await leasefold("submit", "sum", "--m", "1")).toMatchObject({ code: 2 });
  expect(await leasefold("submit", "sum", "--n", "ten")).toMatchObject({
    code: 2,
    err: expect.stringContaining("n: "),
  });
  // The instances plan it.
  expect(await leasefold("plan", "sum", "--n", "10")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^sum \{"n":10\}\n {2}chunks +10, /),
  });
  expect(await leasefold("plan", "sums", "--n", "10")).toMatchObject({
    code: 2,
    err: expect.stringContaining(
      "the instances know sum. For one of your own, give its file, such as ./sums.ts",
    ),
  });
  expect(await readFile(loads, "utf8")).not.toMatch(/submit|calculations|plan/);

  const named = await leasefold("submit", "./sum.mjs", "--n", "11", "--wait");
  expect({ code: named.code, out: named.out }).toEqual({ code: 0, out: "55\n" });
  expect(await leasefold("plan", "./sum.mjs", "--n", "10")).toMatchObject({ code: 0 });
});

test("the demo checks its count, writes result and manifest and leaves nothing", async () => {
  const ended = leasefold("demo", "--to", "1e8", "--instances", "2", "--json");
  const local = await until("the demo runs", localFile);
  const demo = await ended;
  expect(demo.code, demo.err).toBe(0);
  expect(JSON.parse(demo.out)).toMatchObject({ primes: 5_761_455, correct: true });
  const written = await readdir(join(folder(), "leasefold-demo"));
  expect(written.sort()).toEqual(["result.json", "result.manifest.json"]);
  await expectNothingLeft(local);
  expect((await readdir(folder())).sort()).toEqual(["leasefold-demo", "run", "tmp"]);
});
