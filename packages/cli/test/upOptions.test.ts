import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { describeParams, paramsSchema } from "../../../src/engine/calculation/params.ts";
import { systemClock } from "../../../src/engine/storage/system.ts";
import { sound } from "../../../test/fixtures/lawFixtures.ts";
import { localFileOf, standInSupervisor } from "../../../test/support/standInSupervisor.ts";
import type { Cli } from "../cli.ts";
import { addDown } from "../commands/instances.ts";
import { addDemo } from "../demo/demo.ts";
import { localFilePath, writeLocalFile } from "../local/localFile.ts";
import { runCommand } from "../program.ts";
import { addressLines, instanceLine, nextStep } from "../render/instances.ts";
import { addUp } from "../up/up.ts";
import { printed } from "./cliWorld.ts";

let folder: string;
let server: Server;
let takenPort: number;
let env: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-up-"));
  env = { XDG_RUNTIME_DIR: join(folder, "runtime") };
  await mkdir(join(folder, "runtime"), { mode: 0o700 });
  await writeFile(join(folder, "file"), "");
  await writeFile(join(folder, "broken.mjs"), "throw new Error('not today')");
  server = createServer();
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  takenPort = (server.address() as { port: number }).port;
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

async function run(line: string, change: Partial<Cli> = {}) {
  const [out, err] = [printed(), printed()];
  const never = () => Promise.reject(new Error("nothing is to be opened"));
  const cli: Cli = {
    ...{ env, folder, out, err, clock: systemClock, signal: new AbortController().signal },
    ...{ connect: never, calculations: never, instances: never, startThread: never },
    ...change,
  };
  const exitCode = await runCommand(line.split(" "), cli, [addUp, addDown, addDemo]);
  return { exitCode, out: out.text(), err: err.text() };
}

describe("bad input", () => {
  it.each([
    ["up --instances 0", "invalid --instances: 0: must be from 1 to 16"],
    ["up --instances 100", "invalid --instances: 100: must be from 1 to 16"],
    ["up --instances abc", "invalid --instances: abc: it must be a whole number"],
    ["up --port 65535", "invalid --port: 65535: must be from 1 to 65533"],
    ["up --port 0", "invalid --port: 0: must be from 1 to 65533"],
    ["up --data ./kept", 'invalid --data: "./kept": must be a name of lower-case letters'],
    ["up --namespace A", 'invalid --namespace: "A": must be at most'],
    ["up --calculation missing.mjs", "missing.mjs"],
    ["up --calculation ./", "is a folder: name the file of a calculation in it"],
    ["up --calculation ", 'invalid --calculation: "": it must not be empty'],
    ["up --data=", 'invalid --data: "": it must not be empty'],
    ["up --watch", "invalid --watch: needs --calculation: there is no file to watch"],
    ["up --calculation broken.mjs", "not today"],
    ["up --calculation a,b.mjs", "a path must not contain a comma"],
    ["demo --instances 9", "invalid --instances: 9: must be from 1 to 8"],
    ["demo --to -1", "invalid --to: -1: must be from 0 to 100000000000000"],
    ["demo --to 1.5", "it must be a whole number"],
    ["demo --out .", "invalid --out: .: must be a file, and this is a folder"],
    ["demo --out file/result.json", "invalid --out: cannot write file/result.json"],
    ["demo --nonsense", "unknown option '--nonsense'"],
  ])("%s is refused in one line before anything starts", async (line, told) => {
    const { exitCode, out, err } = await run(line);
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: "" });
    expect(err).toContain(told);
    expect(err.trim().split("\n")).toHaveLength(1);
  });

  it
    .skipIf(process.platform !== "linux")
    .each([
      [
        "demo --out /proc/none/result.json",
        "invalid --out: cannot write /proc/none/result.json: no such file",
      ],
    ])("%s is refused at once, though Node's own mkdir would never end", async (line, told) => {
    const { exitCode, err } = await run(line);
    expect(exitCode).toBe(2);
    expect(err).toContain(told);
  });

  it("A port that somebody has is refused, also when it is the last one of the instances", async () => {
    for (const first of [takenPort, takenPort - 2]) {
      const { exitCode, err } = await run(`up --port ${first}`);
      expect(exitCode).toBe(2);
      expect(err).toMatch(/^leasefold: invalid --port: \d+: the port is in use\n$/);
    }
  });

  it("A second up in the same folder says that one is running and how to stop it", async () => {
    const own = await mkdtemp(join(tmpdir(), "leasefold-up-"));
    const supervisor = standInSupervisor();
    await writeLocalFile(await localFilePath(env, own), localFileOf(supervisor.pid ?? 0));
    const { exitCode, err } = await run("up", { folder: own });
    expect(exitCode).toBe(2);
    expect(err).toBe(
      `leasefold: 1 instance runs in this folder already (process ${supervisor.pid}); "leasefold down" stops it\n`,
    );
    supervisor.kill();
    await rm(own, { recursive: true });
  });
});

it("Down says when nothing runs, and never asks a stranger's process to end", async () => {
  const own = await mkdtemp(join(tmpdir(), "leasefold-up-"));
  expect(await run("down", { folder: own })).toEqual({
    ...{ exitCode: 0, out: "nothing runs here\n", err: "" },
  });
  const stranger = spawn(process.execPath, ["-e", "setTimeout(() => {}, 20_000)"], { stdio: "ignore" });
  await writeLocalFile(await localFilePath(env, own), localFileOf(stranger.pid ?? 0));
  expect((await run("down", { folder: own })).out).toBe("nothing runs here\n");
  expect([stranger.exitCode, stranger.signalCode]).toEqual([null, null]);
  stranger.kill();
  await rm(own, { recursive: true });
});

it("Up prints where everything is, and the command that comes next", () => {
  const connectionString =
    "AccountName=a;AccountKey=secret;BlobEndpoint=http://127.0.0.1:10000/a;QueueEndpoint=q";
  const local = { connectionString, instances: [{ name: "node-1", httpUrl: "http://127.0.0.1:7071" }] };
  expect(addressLines(local, "kept")).toEqual([
    "storage  http://127.0.0.1:10000/a (kept in kept)",
    "node-1   http://127.0.0.1:7071/api",
    expect.stringContaining("leasefold show"),
  ]);
  const dashboard = "http://127.0.0.1:7071/api/ui#token=k";
  expect(addressLines(local, "kept", dashboard)[2]).toBe(`dashboard  ${dashboard}`);
  expect(addressLines(local, undefined)[0]).toContain("(in memory)");
  expect(nextStep("/app")).toBe("leasefold submit primes --to 1e9 --wait");
  const none = { params: [], schema: { properties: {} } };
  expect(nextStep("/app", { file: "/app/my/b.ts", ...none })).toBe("leasefold submit ./my/b.ts --wait");
});

it("The command that comes next gives every required parameter a value, and leaves out the others", () => {
  const params = z.strictObject({
    source: z.string(),
    from: z.iso.date().meta({ examples: ["2024-01-31"] }),
    of: z.enum(["rows", "all files"]),
    stepsMax: z.coerce.number().int().min(2),
    rate: z.number().max(0.5),
    share: z.number().gt(3),
    label: z.string(),
    seed: z.number().default(1),
    note: z.string().optional(),
  });
  const described = describeParams({ ...sound, params });
  const own = { file: "/app/a b.ts", params: described, schema: paramsSchema({ ...sound, params }) };
  expect(nextStep("/app", own)).toBe(
    'leasefold submit "./a b.ts" --upload FOLDER --from 2024-01-31 --of rows --steps-max 2 --rate 0.5 --share 4 ' +
      "--label LABEL --wait",
  );
});

describe("a line of the status", () => {
  const log = (level: "information" | "warning" | "debug", message: string) =>
    instanceLine({ instance: "node-1", kind: "log", level, message });

  it("tells what is worth knowing and nothing else", () => {
    const told = [
      log("information", '{"event":"lease-claimed","holder":"node-1","term":3}'),
      log("information", '{"event":"lease-released","term":3,"cause":"budget"}'),
      log("information", '{"event":"run-ended","run":"r-1","phase":"complete","packs":12}'),
      log("information", '{"event":"run-ended","run":"r-2","phase":"failed","packs":1}'),
      log("warning", '{"event":"work-failed","run":"r-1","uid":"u","code":"time-limit"}'),
      log("warning", "a queue cannot\u001b[2J be read"),
      instanceLine({ instance: "node-1", kind: "state", state: "restarting", reason: "signal SIGKILL" }),
      instanceLine({ instance: "node-1", kind: "state", state: "running" }),
      instanceLine({ instance: "node-1", kind: "state", state: "dead", reason: "exit code 1" }),
    ];
    expect(told).toEqual([
      "node-1 leads in term 3",
      "node-1 gave up the lead of term 3 (budget)",
      "run r-1 is complete, 12 packs",
      "run r-2 is failed, 1 pack",
      "node-1 warning: work-failed run=r-1 code=time-limit",
      "node-1 warning: a queue cannot [2J be read",
      "node-1 ended (signal SIGKILL) and is started again",
      "node-1 is ready",
      "node-1 is dead (exit code 1)",
    ]);
    const quiet = [
      log("debug", '{"event":"work-done"}'),
      log("information", "anything"),
      log("information", '{"event":"lease-released","term":3,"cause":"done"}'),
      instanceLine({ instance: "node-1", kind: "state", state: "dead", reason: "stopped" }),
      instanceLine({ instance: "node-1", kind: "started", invocation: "i", function: "worker" }),
    ];
    expect(quiet.filter((line) => line !== undefined)).toEqual([]);
  });
});
