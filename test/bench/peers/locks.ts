import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { type Azurite, startAzurite } from "../../../packages/cli/local/azurite.ts";
import { buildContender, contenderGroup, nowMs, size } from "../contenderGroup.ts";
import { type Ending, embedded, endLeaders } from "../takeover.ts";
import { ended, isInstalled, type Server, startEtcd, startRedis } from "./installed.ts";
import { failed, type LockCell, lockNeeds, type Measured, skipWord } from "./plan.ts";

const program = join(import.meta.dirname, "lockContender.ts");
const spreadMs = 2_000;

/** Kills of the leaders of all groups, side by side: nearly all of that time is waiting. */
export async function measureLocks(
  cells: readonly LockCell[],
  say: (line: string) => void,
): Promise<readonly Measured[]> {
  const azurite = await startAzurite();
  const folder = await mkdtemp(join(tmpdir(), "leasefold-bench-"));
  try {
    const contender = await buildContender(folder);
    return await Promise.all(
      cells.map(async (cell): Promise<Measured> => {
        const { name, kind, about, ttlS } = cell;
        const skipped = skipWord(lockNeeds[kind], isInstalled);
        const seconds = skipped ?? (await killsOf(cell, { program: contender, azurite }).catch(failed));
        const told = typeof seconds === "string" ? seconds : `${seconds.length} kills`;
        say(`    ${name} (${about}; held for ${ttlS} s): ${told}`);
        return { name, seconds };
      }),
    );
  } finally {
    await azurite.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function killsOf(
  cell: LockCell,
  on: { readonly program: string; readonly azurite: Azurite },
): Promise<readonly number[]> {
  const { name, kills, kind, early = "true" } = cell;
  const limitMs = 1_000 * Math.max(60, (cell.ttlS + 10) * kills);
  const kill = async (group: Ending): Promise<readonly number[]> => {
    const late = sleep(limitMs, undefined, { ref: false });
    const ended = await Promise.race([endLeaders(group, { signal: "SIGKILL", spreadMs }, kills), late]);
    if (ended === undefined) throw new Error(`not ${kills} in ${limitMs / 1_000} s`);
    return ended.seconds;
  };
  if (kind === "leasefold") {
    const env = { ...embedded, LEASEFOLD_EARLY_TAKEOVER: early };
    const group = await contenderGroup(on, name.toLowerCase().replace(", ", "-"), env);
    return await kill(group).finally(() => group.stop());
  }
  const servers = await serversOf(kind);
  try {
    const where = servers.map(({ port }) => port).join(",") || on.azurite.connectionString;
    const group = await lockGroup([kind, `${cell.ttlS}`, where]);
    return await kill(group).finally(() => group.stop());
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function serversOf(kind: LockCell["kind"]): Promise<readonly Server[]> {
  if (kind === "etcd") return [await startEtcd()];
  return kind === "redlock" ? await Promise.all([startRedis(), startRedis(), startRedis()]) : [];
}

/** Three contenders for one lock. A term here is what one of them says it leads. */
async function lockGroup(args: readonly string[]): Promise<Ending & { stop(): Promise<void> }> {
  let newest = { term: 0, index: -1, saidMs: 0 };
  let onTerm = (): void => {};
  const start = async (index: number): Promise<ChildProcess> => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ["pipe", "pipe", "inherit"] });
    const ready = new Promise<void>((resolve) => {
      createInterface({ input: child.stdout }).on("line", (line) => {
        const { what, atMs } = JSON.parse(line) as { what: "ready" | "leads"; atMs: number };
        if (what === "ready") return resolve();
        newest = { term: newest.term + 1, index, saidMs: atMs };
        onTerm();
      });
    });
    const died = once(child, "exit").then(([code]) => {
      if (code !== null) throw new Error(`a contender of ${args[0]} ended with code ${code}`);
    });
    await Promise.race([ready, died]);
    died.catch(() => {});
    return child;
  };
  const children: ChildProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(children.map((child) => ended(child)));
  };
  try {
    for (let index = 0; index < size; index += 1) children.push(await start(index));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    async nextTerm(term) {
      while (newest.term <= term) {
        await new Promise<void>((resolve) => {
          onTerm = resolve;
        });
      }
      return { ...newest, seenMs: nowMs() };
    },
    end(index, signal) {
      const child = children[index];
      if (child === undefined) throw new Error(`there is no contender ${index}`);
      const gone = once(child, "exit");
      const atMs = nowMs();
      child.kill(signal);
      const replaced = gone.then(async () => {
        children[index] = await start(index);
      });
      return { atMs, replaced };
    },
    letGoMs: () => 0,
    stop,
  };
}
