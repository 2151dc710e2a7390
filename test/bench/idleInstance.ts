import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { readManifest } from "../../src/engine/client/runDocuments.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { systemClock as clock, systemRandom as random } from "../../src/engine/storage/system.ts";
import { startAzurite } from "../../src/tools/local/azurite.ts";
import { findAppDir } from "../../src/tools/local/embedded.ts";
import { embeddedEnv } from "../../src/tools/local/instanceEnv.ts";
import { startInstances } from "../../src/tools/local/instances.ts";
import { chainFile } from "../support/chain.ts";

/** Resident MB of an instance that has nothing to do, NaN where the system does not tell. */
export interface IdleInstance {
  /** Of one that has not worked yet. */
  readonly freshMb: number;
  /** Of the larger of two that have worked, some time after their run ended. */
  readonly workedMb: number;
}

/** Two built instances as `leasefold up` starts them, before a run of trivial chunks and so many seconds after it. */
export async function idleInstance(afterS: number): Promise<IdleInstance> {
  const { connectionString, onMessage, stop } = await startAzurite();
  const appDir = findAppDir();
  const env = (_name: string, index: number) =>
    embeddedEnv({ instances: 2, index, cores: 2, calculations: [chainFile] });
  const instanceEntry = join(appDir, "dist", "instance.cjs");
  try {
    const started = await startInstances({
      count: 2,
      appDir,
      storage: { DataStorage: connectionString },
      instanceEntry,
      env,
    });
    onMessage(started.pollNow);
    const residentMb = () => Math.max(...started.instances.map(({ pid }) => residentMbOf(pid ?? 0)));
    try {
      await sleep(15_000);
      const freshMb = residentMb();
      const calculations = await loadCalculations([chainFile]);
      const storage = connectStorage({ connectionString });
      const client = { storage, names: namesOf("leasefold"), clock, random, calculations };
      const params = { chunks: 50_000 };
      const { run, uid } = await submit(client, { calculation: "chain", params, packSize: 100 });
      while ((await readManifest(client, { run, uid }, 1)) === undefined) await sleep(500);
      await sleep(afterS * 1_000);
      return { freshMb, workedMb: residentMb() };
    } finally {
      await started.stopAll();
    }
  } finally {
    await stop();
  }
}

function residentMbOf(pid: number): number {
  try {
    const kb = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Math.round(Number(kb) / 1024);
  } catch {
    return Number.NaN;
  }
}
