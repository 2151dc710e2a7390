import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach } from "vitest";
import { type LocalFile, localFilePath, readLocalFile } from "../../packages/cli/local/localFile.ts";
import { isAlive } from "../../packages/cli/local/supervisor.ts";
import { patienceMs } from "./patience.ts";

const bin = join(import.meta.dirname, "../../bin/leasefold.js");

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Started {
  readonly process: ChildProcess;
  /** What it has printed so far. */
  out(): string;
  readonly ended: Promise<{ readonly code: number | null }>;
}

/** The built program as a user calls it, in a folder of its own. */
export interface BuiltProgram {
  /** Of the test that runs. */
  folder(): string;
  leasefold(...args: readonly string[]): Promise<Ended>;
  /** A command that runs until it is told to end; it is killed after the test. */
  start(...args: readonly string[]): Started;
  localFile(): Promise<LocalFile | undefined>;
  /** Resolves when `up` says that it is ready. */
  startUp(...args: readonly string[]): Promise<{ readonly local: LocalFile; out(): string }>;
  /** The process of `startUp`. */
  up(): ChildProcess | undefined;
  /** Ctrl-C for `up`: its instances and its storage end with it. */
  down(): Promise<void>;
}

/** Gives each test of a file its own folder, and ends what it started. `npm test` builds the program before. `settings` are read by each command. */
export function builtProgram(settings: Readonly<Record<string, string>> = {}): BuiltProgram {
  let folder = "";
  let up: ChildProcess | undefined;
  const begun: ChildProcess[] = [];
  /** Without the settings of whoever runs the tests, with those given, and with folders of its own for state and temporary files. */
  const environment = (): Record<string, string | undefined> => ({
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(LEASEFOLD|DataStorage|AzureWebJobs)/.test(name)),
    ),
    ...settings,
    TMPDIR: join(folder, "tmp"),
    XDG_RUNTIME_DIR: join(folder, "run"),
    XDG_STATE_HOME: join(folder, "state"),
  });
  const localFile = async (): Promise<LocalFile | undefined> => {
    const found = await readLocalFile(await localFilePath(environment(), folder));
    return found.kind === "missing" ? undefined : found.local;
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "leasefold-e2e-"));
    await mkdir(join(folder, "tmp"));
    await mkdir(join(folder, "run"), { mode: 0o700 });
  });
  afterEach(async () => {
    for (const child of begun.splice(0)) child.kill("SIGKILL");
    up = undefined;
    const local = await localFile();
    if (local !== undefined && isAlive(local.supervisorPid)) process.kill(local.supervisorPid, "SIGKILL");
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  });

  const start = (...args: readonly string[]): Started => {
    let out = "";
    const child = spawn(process.execPath, [bin, ...args], { cwd: folder, env: environment() });
    begun.push(child);
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (out += data));
    const ended = new Promise<{ code: number | null }>((resolve) =>
      child.once("close", (code) => resolve({ code })),
    );
    return { process: child, out: () => out, ended };
  };

  return {
    folder: () => folder,
    up: () => up,
    localFile,
    start,
    leasefold: (...args) =>
      new Promise((resolve) => {
        const options = { cwd: folder, env: environment(), timeout: patienceMs };
        execFile(process.execPath, [bin, ...args], options, (error, out, err) => {
          resolve({ code: error === null ? 0 : Number(error.code), out, err });
        });
      }),
    async startUp(...args) {
      const { process: child, out } = start("up", ...args);
      up = child;
      const local = await until("ready", async () => {
        const found = out().includes("ready in") ? await localFile() : undefined;
        return found !== undefined && isAlive(found.supervisorPid) && found;
      });
      return { local, out };
    },
    async down() {
      const child = up;
      up = undefined;
      if (child === undefined || child.exitCode !== null) return;
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGINT");
      const deadline = setTimeout(() => child.kill("SIGKILL"), 20_000);
      await gone;
      clearTimeout(deadline);
    },
  };
}

/** Polls until there is a value; throws after `withinMs`. A poll that starts a process is worth a longer interval. */
export async function until<T>(
  what: string,
  poll: () => Promise<T | undefined | false>,
  { withinMs = patienceMs, everyMs = 50 } = {},
): Promise<T> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const seen = await poll();
    if (seen !== undefined && seen !== false) return seen;
    if (performance.now() > endMs) throw new Error(`not in ${withinMs} ms: ${what}`);
    await sleep(everyMs);
  }
}
