import { join } from "node:path";
import { startAzurite } from "../../../packages/cli/local/azurite.ts";
import { findAppDir } from "../../../packages/cli/local/embedded.ts";
import { embeddedEnv } from "../../../packages/cli/local/instanceEnv.ts";
import { type Instances, startInstances } from "../../../packages/cli/local/instances.ts";
import { endMarks } from "../../../packages/cli/local/markEnded.ts";
import { builtIn } from "../../../packages/sql/builtIn.ts";
import { connectStorage } from "../../../src/azure/connectStorage.ts";
import { loadCalculations } from "../../../src/calculations/registry.ts";
import type { Client } from "../../../src/engine/client/client.ts";
import { namesOf } from "../../../src/engine/model/names.ts";
import { systemClock as clock, systemRandom as random } from "../../../src/engine/storage/system.ts";
import { type FaultProxy, startFaultProxy } from "../faultProxy.ts";
import { blockedS } from "./plan.ts";

/** Built instances as `leasefold up` starts them, but with all their storage behind a fault proxy. */
export interface Fleet {
  readonly instances: Instances["instances"];
  readonly proxy: FaultProxy;
  readonly azuritePid: number;
  /** Past the proxy, for whoever watches. */
  readonly direct: Client;
  /** On the same bad way as the instances. */
  readonly far: Client;
  /** Processes that have ended so far, as planned or not. */
  deaths(): number;
  stop(): Promise<void>;
}

interface FleetOptions {
  readonly count: number;
  readonly calculations: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Folder of another build of the app, such as the version before, of which two more instances run. */
  readonly older?: string | undefined;
}

const seam = new URL("./loopSeam.ts", import.meta.url).href;

/** If anything fails, nothing is left running. */
export async function startFleet({ count, calculations, env, older }: FleetOptions): Promise<Fleet> {
  const azurite = await startAzurite();
  const ending: (() => Promise<unknown>)[] = [azurite.stop];
  const stop = async (): Promise<void> => {
    while (ending.length > 0) await ending.pop()?.();
  };
  try {
    const proxy = await startFaultProxy(azurite, { queues: true, forget: true });
    ending.push(proxy.close);
    const names = namesOf("leasefold");
    const loaded = await loadCalculations(calculations, builtIn);
    const clientOf = (connectionString: string): Client => {
      const storage = connectStorage({ connectionString });
      return { storage, names, clock, random, calculations: loaded };
    };
    const direct = clientOf(azurite.connectionString);
    const marks = endMarks(direct.storage, names.coordination);
    let deaths = 0;
    const start = async (appDir: string, name: string, howMany: number) => {
      const started = await startInstances({
        count: howMany,
        appDir,
        instanceEntry: join(appDir, "dist", "instance.cjs"),
        nameOf: (index) => `${name}-${index + 1}`,
        httpPort: null,
        storage: { DataStorage: proxy.connectionString },
        env: (_name, index) => ({
          ...embeddedEnv({ instances: count, index, cores: 2, calculations }),
          NODE_OPTIONS: `--import=${seam}`,
          LEASEFOLD_TEST_BLOCK_MS: String(1_000 * blockedS),
          ...env,
        }),
        stopGraceMs: 4_000,
        onEvent(event) {
          if (event.kind !== "exited") return;
          deaths += 1;
          marks.ended(event.instance, event.how, event.failed, event.visibleInS);
        },
      });
      ending.push(started.stopAll);
      return started.instances;
    };
    const instances = await start(findAppDir(), "node", count);
    const before = older === undefined ? [] : await start(older, "older", 2);
    return {
      ...{ instances: [...instances, ...before], proxy, azuritePid: azurite.pid, direct, stop },
      far: clientOf(proxy.connectionString),
      deaths: () => deaths,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
