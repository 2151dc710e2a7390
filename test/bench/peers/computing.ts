import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Piscina } from "piscina";
import { chainFile } from "../../support/chain.ts";
import { startRealApp } from "../../support/realApp.ts";
import { runUntilManifest } from "../runUntilManifest.ts";
import { ended, importPeer, startRedis } from "./installed.ts";
import type { WorkCell, WorkerName } from "./plan.ts";
import { chunksOf, foldParts, type Part, tasksOf } from "./work.ts";

/** A peer with two workers that have started. */
export interface Computing {
  /** From the call until the answer is at hand. */
  run(cell: WorkCell): Promise<{ readonly seconds: number; readonly answer: Part }>;
  stop(): Promise<void>;
}

const two = [0, 1];
const startMs = 60_000;
const peerProcess = join(import.meta.dirname, "peerProcess.ts");
/** Trivial tasks wait for Redis more than for the processor. */
const concurrencyOf = ({ work }: WorkCell): string => (work.kind === "chain" ? "50" : "1");

export const starters: Readonly<Record<WorkerName, (cell: WorkCell) => Promise<Computing>>> = {
  Leasefold: leasefold,
  Piscina: piscina,
  BullMQ: bullmq,
  Celery: celery,
  Dask: () => python("dask_peer.py", {}),
};

async function leasefold(): Promise<Computing> {
  const app = await startRealApp({ instances: two.length, calculations: [chainFile] });
  return {
    stop: () => app.stop(),
    async run({ work, packSize }) {
      const { kind, ...params } = work;
      const calculation = kind === "chain" ? "chain" : "primes";
      const size = packSize === undefined ? {} : { packSize };
      const { run, seconds } = await runUntilManifest(app, { calculation, params, ...size });
      const result = JSON.parse(await app.result(run));
      await app.until(run, ({ active }) => !active);
      return { seconds, answer: kind === "chain" ? [result.times, result.plus] : [result.primes] };
    },
  };
}

async function piscina(): Promise<Computing> {
  const filename = new URL("./work.ts", import.meta.url).href;
  const pool = new Piscina({ filename, name: "computeTask", minThreads: two.length, maxThreads: two.length });
  return {
    stop: () => pool.destroy(),
    run: timed((tasks) => Promise.all(tasks.map((task) => pool.run(task) as Promise<Part>))),
  };
}

interface BullMq {
  readonly Queue: new (
    name: string,
    options: object,
  ) => { addBulk(jobs: readonly object[]): Promise<unknown>; close(): Promise<void> };
  readonly QueueEvents: new (
    name: string,
    options: object,
  ) => {
    on(
      event: "completed",
      listener: (told: { readonly jobId: string; readonly returnvalue: unknown }) => void,
    ): void;
    on(event: "failed", listener: (told: { readonly failedReason: string }) => void): void;
    waitUntilReady(): Promise<unknown>;
    close(): Promise<void>;
  };
}

async function bullmq(cell: WorkCell): Promise<Computing> {
  const redis = await startRedis();
  const { Queue, QueueEvents } = await importPeer<BullMq>("bullmq");
  const connection = { host: "127.0.0.1", port: redis.port, maxRetriesPerRequest: null };
  // By default the stream of events keeps 10,000 of them, and each job has several.
  const queue = new Queue("peers", { connection, streams: { events: { maxLen: 10_000_000 } } });
  const events = new QueueEvents("peers", { connection });
  await events.waitUntilReady();
  let told: (task: number, part: Part) => void = () => {};
  let fail: (error: Error) => void = () => {};
  events.on("completed", ({ jobId, returnvalue }) => {
    const part = typeof returnvalue === "string" ? JSON.parse(returnvalue) : returnvalue;
    told(Number(jobId.split("-").at(-1)), part as Part);
  });
  events.on("failed", ({ failedReason }) => fail(new Error(failedReason)));
  const children = two.map(() =>
    spawn(process.execPath, [peerProcess, "bullmq", `${redis.port}`, concurrencyOf(cell)], {
      stdio: ["pipe", "pipe", "inherit"],
    }),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(children.map((child) => ended(child)));
    await Promise.allSettled([queue.close(), events.close()]);
    await redis.stop();
  };
  const [ready, anyDied] = [
    Promise.all(children.map((child) => once(child.stdout, "data"))).then(() => true),
    Promise.race(children.map((child) => once(child, "exit"))).then(() => false),
  ];
  if (!(await Promise.race([ready, anyDied]))) {
    await stop();
    throw new Error("a worker of BullMQ ended as it started");
  }
  return {
    stop,
    run: timed((tasks) => {
      const [id, parts, left] = [randomUUID(), Array<Part>(tasks.length), new Set(tasks.keys())];
      return new Promise((resolve, reject) => {
        fail = reject;
        told = (task, part) => {
          parts[task] = part;
          left.delete(task);
          if (left.size === 0) resolve(parts);
        };
        const jobs = tasks.map((data, task) => ({
          ...{ name: "task", data, opts: { jobId: `${id}-${task}`, removeOnComplete: true } },
        }));
        queue.addBulk(jobs).catch(reject);
      });
    }),
  };
}

async function celery(): Promise<Computing> {
  const redis = await startRedis();
  try {
    const peer = await python("celery_peer.py", { PEERS_REDIS: `${redis.port}` });
    return { ...peer, stop: () => peer.stop().finally(() => redis.stop()) };
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

/** A program that answers a line of tasks by a line of their parts. It and its workers are a group of their own. */
async function python(script: string, env: Readonly<Record<string, string>>): Promise<Computing> {
  const folder = import.meta.dirname;
  const files = await mkdtemp(join(tmpdir(), "leasefold-bench-"));
  const path = [folder, process.env["PYTHONPATH"]].filter((one) => one !== undefined).join(delimiter);
  const child = spawn("python3", [join(folder, script)], {
    ...{ cwd: folder, detached: true, stdio: ["pipe", "pipe", "inherit"] },
    env: {
      ...{ ...process.env, ...env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: "1", PYTHONWARNINGS: "ignore" },
      ...{ PEERS_NODE: process.execPath, PEERS_PROCESS: peerProcess, DASK_TEMPORARY_DIRECTORY: files },
    },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`${script} ended`);
    return value;
  };
  const stop = async (): Promise<void> => {
    await ended(child, true);
    await rm(files, { recursive: true, force: true });
  };
  const started = next().catch(() => "ended");
  const first = await Promise.race([started, sleep(startMs, "late", { ref: false })]);
  if (first !== "ready") {
    await stop();
    throw new Error(`${script} did not start: ${first}`);
  }
  return {
    stop,
    run: timed(async (tasks) => {
      child.stdin.write(`${JSON.stringify(tasks)}\n`);
      return JSON.parse(await next());
    }),
  };
}

function timed(compute: (tasks: ReturnType<typeof tasksOf>) => Promise<readonly Part[]>): Computing["run"] {
  return async ({ work, taskChunks }) => {
    const tasks = tasksOf(work, taskChunks || Math.ceil(chunksOf(work) / 64));
    const startedMs = performance.now();
    const parts = await compute(tasks);
    const seconds = (performance.now() - startedMs) / 1000;
    if (parts.length !== tasks.length) throw new Error(`${parts.length} parts of ${tasks.length} tasks`);
    return { seconds, answer: foldParts(work, parts) };
  };
}
