import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Azurite, startAzurite } from "../../packages/cli/local/azurite.ts";
import { type InstanceEvent, type Instances, startInstances } from "../../packages/cli/local/instances.ts";
import { isAlive } from "../../packages/cli/local/supervisor.ts";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import type { QueueStore } from "../../src/engine/storage/queuePort.ts";
import { patienceMs } from "../support/patience.ts";

/** Real child processes, the real library and Azurite. The app is `test/fixtures/apps/trio`. */
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/apps/${name}`, import.meta.url));

let azurite: Azurite;
let queues: QueueStore;
let queue = "";
let started: Instances | undefined;
let events: InstanceEvent[] = [];
let queuesMade = 0;

beforeAll(async () => {
  azurite = await startAzurite();
  queues = connectStorage({ connectionString: azurite.connectionString }).queues;
});
afterAll(() => azurite.stop());

async function newQueue(): Promise<void> {
  queuesMade += 1;
  queue = `jobs-${queuesMade}`;
  events = [];
  await queues.ensureQueue(queue);
}
async function stopAll(): Promise<void> {
  await started?.stopAll();
  started = undefined;
  expect(instanceProcesses()).toEqual([]);
}

/** The processes that this one started as instances and that are still there, frozen ones included. */
const instanceProcesses = () =>
  execFileSync("ps", ["-o", "pid=,args=", "--ppid", String(process.pid)])
    .toString()
    .split("\n")
    .filter((line) => line.includes("packages/cli/local/instance.ts"));

type Env = Record<string, string>;

async function start(count: number, envOf: (name: string) => Env = () => ({})): Promise<Instances> {
  started = await startInstances({
    count,
    appDir: fixture("trio"),
    storage: { DataStorage: azurite.connectionString },
    env: (name) => ({
      QUEUE: queue,
      TICK_SCHEDULE: "* * * * * *",
      AzureFunctionsJobHost__extensions__queues__maxPollingInterval: "00:00:00.2",
      ...envOf(name),
    }),
    stopGraceMs: 3_000,
    onEvent: (event) => events.push(event),
  });
  return started;
}

const hello = ({ functionKey }: Instances, httpUrl: string | undefined) =>
  fetch(`${httpUrl}/api/hello/ada/hi`, { headers: { "x-functions-key": functionKey } });
const send = (work: object) => queues.send(queue, JSON.stringify(work));
const logged = (text: string, instance?: string) =>
  events.filter(
    (one) =>
      one.kind === "log" &&
      one.message.includes(text) &&
      (instance === undefined || one.instance === instance),
  );
const statesOf = (instance: string) =>
  events.flatMap((one) => (one.kind === "state" && one.instance === instance ? [one.state] : []));

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + patienceMs;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`not within ${patienceMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe("embedded instances", () => {
  beforeEach(newQueue);
  afterEach(stopAll);

  it("start side by side, each with its own name and address, and run timers, queues and HTTP", async () => {
    const handle = await start(3);
    const { instances } = handle;
    expect(instances.map(({ name, state }) => [name, state])).toEqual([
      ["node-1", "running"],
      ["node-2", "running"],
      ["node-3", "running"],
    ]);
    for (const { httpUrl, name, pid } of instances) {
      const answer = (await (await hello(handle, httpUrl)).json()) as object;
      expect(answer).toMatchObject({ instance: name, pid, keyInEnv: false });
    }
    for (const { name } of instances) await until(`${name} ticks`, () => logged("tick {", name).length > 0);
    for (let sent = 0; sent < 12; sent += 1) await send({ do: "sleep", ms: 100 });
    await until("all work is done", () => logged("work ended").length === 12);
    expect(new Set(logged("work ended").map((one) => one.instance)).size).toBeGreaterThan(1);
    await until("the queue is empty", async () => {
      const stats = await queues.stats(queue);
      return stats.kind === "found" && stats.approximateCount === 0;
    });
    await until("stats come in", () =>
      events.some((one) => one.kind === "stats" && one.hostCalls.queue > 5 && one.hostCalls.write === 0),
    );
  });

  it("set a message aside after its last failed delivery", async () => {
    await start(1);
    await send({ do: "fail" });
    await until("the poison function runs", () => logged('poisoned {"do":"fail"}').length === 1);
    expect(logged("work failed with asked to fail")).toHaveLength(2);
  });

  it("can be killed, and stay dead until they are started again at the same address", async () => {
    const handle = await start(2);
    const [one] = handle.instances;
    const before = { pid: one?.pid ?? 0, httpUrl: one?.httpUrl };
    await one?.kill();
    expect(isAlive(before.pid)).toBe(false);
    // Whoever takes the port of an instance without a process would get the key with the next request.
    expect(await listenOn(before.httpUrl)).toBe("EADDRINUSE");
    const down = await hello(handle, before.httpUrl);
    expect([down.status, (await down.json()) as object]).toMatchObject([503, { code: "instance-down" }]);
    expect(one).toMatchObject({ state: "dead", pid: undefined });
    await send({ do: "ok" });
    await until("the other one works on", () => logged("work ended", "node-2").length === 1);
    await one?.restart();
    expect(one).toMatchObject({ state: "running", httpUrl: before.httpUrl });
    expect(one?.pid).not.toBe(before.pid);
    expect((await hello(handle, one?.httpUrl)).status).toBe(200);
    expect(statesOf("node-1")).toEqual(["starting", "running", "dead", "starting", "running"]);
  });

  it("can be stopped while they are frozen", async () => {
    const pid = (await start(1)).instances[0]?.pid as number;
    process.kill(pid, "SIGSTOP");
    const stateOf = () => execFileSync("ps", ["-o", "stat=", "-p", String(pid)]).toString();
    await until("the process is frozen", () => stateOf().startsWith("T"));
    // The end of the test waits for it.
  });

  it("tell the app when they stop, and let running work end", async () => {
    const handle = await start(1);
    await send({ do: "sleep", ms: 1_000 });
    await until("it works", () => logged("work sleep").length === 1);
    await handle.stopAll();
    expect(logged("work ended")).toHaveLength(1);
    expect(logged("terminated node-1")).toHaveLength(1);
    const stats = await queues.stats(queue);
    expect(stats).toMatchObject({ kind: "found", approximateCount: 0 });
  });

  it("are cut off when running work takes longer than the grace", async () => {
    const handle = await start(1);
    await send({ do: "sleep", ms: 60_000 });
    await until("it works", () => logged("work sleep").length === 1);
    await handle.stopAll();
    expect(logged("1 invocations still ran").length).toBe(1);
  });
});

/** What a program of another user would get that tries to listen there. */
const listenOn = (httpUrl = ""): Promise<unknown> =>
  new Promise((resolve) => {
    const thief = createServer().once("error", ({ code }: NodeJS.ErrnoException) => resolve(code));
    thief.listen(Number(new URL(httpUrl).port), "127.0.0.1", () => thief.close(() => resolve("listens")));
  });

it.runIf(process.platform === "linux")(
  "neither the key nor the connection string is in what the system shows of an instance's process",
  async () => {
    await newQueue();
    const { instances, functionKey } = await start(1);
    const shown = ["environ", "cmdline"].map((name) =>
      readFileSync(`/proc/${instances[0]?.pid}/${name}`, "utf8"),
    );
    const [, accountKey = "no key"] = /AccountKey=([^;]+)/.exec(azurite.connectionString) ?? [];
    for (const secret of [functionKey, accountKey]) expect(shown.join()).not.toContain(secret);
    expect(shown[0]).toContain("LEASEFOLD_INSTANCE=node-1");
    await stopAll();
  },
);

describe("an instance that ends by itself is started again after a moment, and says why", () => {
  const reasonOf = (instance: string) =>
    events.flatMap((one) =>
      one.kind === "state" && one.state === "restarting" && one.instance === instance ? [one.reason] : [],
    );
  const runsAgain = (instance: string) =>
    until(`${instance} runs again`, () => statesOf(instance).filter((one) => one === "running").length === 2);

  beforeAll(async () => {
    await newQueue();
    const kinds: Env = { "node-1": "hang", "node-2": "block", "node-3": "crash" };
    for (const kind of Object.values(kinds)) {
      await queues.ensureQueue(`${queue}-${kind}`);
      await queues.send(`${queue}-${kind}`, JSON.stringify({ do: kind, ms: 60_000 }));
    }
    await start(3, (name) => ({ QUEUE: `${queue}-${kinds[name]}` }));
  });
  afterAll(stopAll);

  it("by an error that nobody catches", async () => {
    await runsAgain("node-3");
    expect(reasonOf("node-3")).toEqual(["exit code 1"]);
    expect(logged("nobody catches this", "node-3").length).toBeGreaterThan(0);
  });

  it("by an invocation longer than functionTimeout", async () => {
    await runsAgain("node-1");
    expect(reasonOf("node-1")).toEqual(["work ran longer than functionTimeout"]);
  });

  it("by such an invocation that blocks the instance", async () => {
    await runsAgain("node-2");
    expect(reasonOf("node-2")).toEqual(["work ran longer than functionTimeout"]);
  });
});

it("an instance that a calculation's file blocks is started again ever later, and the file is named", async () => {
  events = [];
  const folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
  const file = join(folder, "endless.mjs");
  await writeFile(
    file,
    'if (process.env.LEASEFOLD_INSTANCE === "node-1") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);',
  );
  started = await startInstances({
    ...{ count: 1, appDir: fixture("trio"), storage: { DataStorage: azurite.connectionString } },
    env: () => ({ QUEUE: queue, TICK_SCHEDULE: "* * * * * *", LEASEFOLD_CALCULATIONS: file }),
    loadMsMax: 50,
    onEvent: (event) => events.push(event),
  });
  const restarts = () =>
    events.flatMap((one) => (one.kind === "state" && one.state === "restarting" ? [one] : []));
  await until("it ended twice", () => restarts().length === 2);
  const reason = `${file}: loading the file has blocked it for 0.05 s`;
  expect(restarts()).toMatchObject([
    { reason, pauseMs: 1_000 },
    { reason, pauseMs: 2_000 },
  ]);
  await stopAll();
  await rm(folder, { recursive: true });
});

describe("an app that cannot run", () => {
  beforeAll(newQueue);

  it.each([
    ["empty", {}, "registers no function"],
    ["broken", {}, "broken while loading"],
    ["trio", { TICK_SCHEDULE: "nonsense" }, '"nonsense" is no NCRONTAB expression'],
    ["trio", { AzureFunctionsJobHost__extensions__queues__batchSize: "99" }, "a whole number from 1 to 32"],
    ["nowhere", {}, "There is no folder"],
  ])("(%s %j) is refused with a reason, and no process is left", async (name, env, reason) => {
    const starting = startInstances({
      count: 1,
      appDir: fixture(name),
      storage: { DataStorage: azurite.connectionString },
      env: () => ({ QUEUE: queue, TICK_SCHEDULE: "* * * * * *", ...env }),
      onEvent: (event) => events.push(event),
    });
    await expect(starting).rejects.toThrow(reason);
    expect(instanceProcesses()).toEqual([]);
  });
});

it("an instance dies with its supervisor, even one that is killed", async () => {
  const module = new URL("../../packages/cli/local/instances.ts", import.meta.url).href;
  const script = `
    const { startInstances } = await import(${JSON.stringify(module)});
    const { instances } = await startInstances({
      count: 2,
      appDir: ${JSON.stringify(fixture("trio"))},
      storage: { DataStorage: ${JSON.stringify(azurite.connectionString)} },
      env: () => ({ QUEUE: ${JSON.stringify(queue)}, TICK_SCHEDULE: "* * * * * *" }),
    });
    console.log(JSON.stringify(instances.map((one) => one.pid)));
    setInterval(() => {}, 1000);
  `;
  const supervisor = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pids = await new Promise<number[]>((resolve) => {
    supervisor.stdout.on("data", (data: Buffer) => resolve(JSON.parse(data.toString()) as number[]));
  });
  expect(pids.map(isAlive)).toEqual([true, true]);
  supervisor.kill("SIGKILL");
  await until("both are gone", () => !pids.some(isAlive));
});
