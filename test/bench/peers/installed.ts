import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Need } from "./plan.ts";

/** From the project's packages or a folder of NODE_PATH: no peer is a dependency of the project. */
const { resolve } = createRequire(import.meta.url);

export function isInstalled(need: Need): boolean {
  if ("program" in need) return spawnSync(need.program, ["--version"]).status === 0;
  if ("python" in need) return spawnSync("python3", ["-c", `import ${need.python.join(", ")}`]).status === 0;
  try {
    return resolve(need.npm) !== "";
  } catch {
    return false;
  }
}

/** The module's namespace; a CommonJS one's exports are its `default`. */
export async function importPeer<Module>(name: string): Promise<Module> {
  return (await import(pathToFileURL(resolve(name)).href)) as Module;
}

export interface Server {
  readonly port: number;
  stop(): Promise<void>;
}

/** Keeps everything in memory and writes no file, which is the fastest that it can be. */
export function startRedis(): Promise<Server> {
  return startServer("redis-server", (port, folder) => [
    ...["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder],
  ]);
}

export async function startEtcd(): Promise<Server> {
  const peer = `http://127.0.0.1:${await freePort()}`;
  return startServer("etcd", (port, folder) => {
    const client = `http://127.0.0.1:${port}`;
    return [
      ...["--name", "bench", "--data-dir", folder, "--initial-cluster", `bench=${peer}`],
      ...["--listen-client-urls", client, "--advertise-client-urls", client],
      ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer],
    ];
  });
}

async function startServer(
  program: string,
  argsOf: (port: number, folder: string) => readonly string[],
): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), "leasefold-bench-"));
  const port = await freePort();
  const child = spawn(program, argsOf(port, folder), { stdio: "ignore" });
  const stop = async (): Promise<void> => {
    await ended(child);
    await rm(folder, { recursive: true, force: true });
  };
  for (let look = 0; look < 100; look += 1) {
    if (await answers(port)) return { port, stop };
    await sleep(100);
  }
  await stop();
  throw new Error(`${program} does not answer on port ${port}`);
}

/** With all its children where it leads a group of processes, as one that is spawned detached does. */
export async function ended(child: ChildProcess, group = false): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  if (group) process.kill(-child.pid, "SIGKILL");
  else child.kill("SIGKILL");
  await gone;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((tell) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => tell(true)).once("error", () => tell(false));
    socket.once("connect", () => socket.destroy());
  });
}
