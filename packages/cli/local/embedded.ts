import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, resolve } from "node:path";
import { connectStorage } from "../../../src/azure/connectStorage.ts";
import { ConfigError } from "../../../src/engine/model/errors.ts";
import { namesOf } from "../../../src/engine/model/names.ts";
import { systemClock } from "../../../src/engine/storage/system.ts";
import { startAzurite } from "./azurite.ts";
import type { DataFolder } from "./dataFolder.ts";
import { embeddedEnv } from "./instanceEnv.ts";
import { type InstanceEvent, type Instances, startInstances } from "./instances.ts";
import { type LocalFile, removeLocalFile, writeLocalFile } from "./localFile.ts";
import { endMarks } from "./markEnded.ts";
import { startOf } from "./supervisor.ts";

/** Azurite and some instances of this very app, on this machine. */
export interface Embedded {
  readonly connectionString: string;
  readonly azuritePid: number;
  readonly instances: Instances;
  /** From the call to the moment when all were ready. */
  readonly startMs: number;
  /** Resolves with a reason when it cannot go on: its storage has ended. */
  readonly broken: Promise<string>;
  /** Ends the instances, then the storage, and waits until no process is left. May be called again. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  readonly instances: number;
  /** Folder of the app that they run: that of the program by default. */
  readonly appDir?: string | undefined;
  /** Keeps the storage between starts; without it the storage lives in memory. */
  readonly data?: DataFolder | undefined;
  /** Port of the first instance; the others follow it. Free ones without it. */
  readonly httpPort?: number | undefined;
  /** The user's own, as absolute paths. Read at each start of an instance, so the caller may add some. */
  readonly calculations?: readonly string[];
  readonly namespace?: string | undefined;
  /** More settings; they win over the embedded ones. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** File for the state of the instances (`localFilePath`); without it nothing is written. */
  readonly stateFile?: string | undefined;
  /** Told in that file: the caller loads changed calculations anew. */
  readonly watch?: boolean | undefined;
  /** Time that a stop waits for running work. */
  readonly stopGraceMs?: number;
  readonly onEvent?: (event: InstanceEvent) => void;
}

/** A leader drains and releases its lease in a second or two; a pack that takes longer is computed again. */
const stopGraceMsDefault = 4_000;

/**
 * Starts storage and instances; if anything fails, nothing is left running. They end with this process, even when that is
 * killed. `local/instances.ts` lists what such instances do not do.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { stateFile, calculations = [] } = options;
  const startedMs = systemClock.monotonicMs();
  const startedAt = new Date(systemClock.wallMs()).toISOString();
  const programDir = findAppDir();
  const azurite = await startAzurite(options.data);

  const storage = connectStorage({ connectionString: azurite.connectionString });
  const marks = endMarks(storage, namesOf(namespaceOf(options)).coordination);
  let instances: Instances | undefined;
  let stopping: Promise<void> | undefined;
  let writing: Promise<unknown> = Promise.resolve();
  /** Runs again when an instance ended or got another process. */
  const saveState = async (): Promise<void> => {
    if (stateFile === undefined || instances === undefined || stopping !== undefined) return;
    const local: LocalFile = {
      v: 1,
      connectionString: azurite.connectionString,
      functionKey: instances.functionKey,
      namespace: namespaceOf(options),
      supervisorPid: process.pid,
      supervisorStart: startOf(process.pid),
      watch: options.watch,
      azuritePid: azurite.pid,
      instances: instances.instances.map(({ name, pid, httpUrl, down }) => ({ name, pid, httpUrl, down })),
      startedAt,
    };
    writing = Promise.allSettled([writing]).then(() => writeLocalFile(stateFile, local));
    await writing;
  };
  const stop = async () => {
    await instances?.stopAll();
    await marks.settled();
    await azurite.stop();
    await Promise.allSettled([writing]);
    if (stateFile !== undefined) await removeLocalFile(stateFile, process.pid);
  };

  try {
    instances = await startInstances({
      count: options.instances,
      appDir: options.appDir ?? programDir,
      // Also where this file runs from source: what users run is the bundle, which takes less memory.
      instanceEntry: join(programDir, "dist", "instance.cjs"),
      storage: { DataStorage: azurite.connectionString },
      env: (_name, index) => embeddedEnv({ ...options, calculations, index, cores: availableParallelism() }),
      ...(options.httpPort === undefined ? {} : { httpPort: options.httpPort }),
      stopGraceMs: options.stopGraceMs ?? stopGraceMsDefault,
      onEvent(event) {
        options.onEvent?.(event);
        if (event.kind === "exited") marks.ended(event.instance, event.how, event.failed, event.visibleInS);
        const moved = event.kind === "state" && ["running", "restarting"].includes(event.state);
        if (moved) saveState().catch(() => undefined);
      },
    });
    await saveState();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    connectionString: azurite.connectionString,
    azuritePid: azurite.pid,
    instances,
    startMs: systemClock.monotonicMs() - startedMs,
    broken: azurite.exited.then(() => "the storage emulator has ended"),
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** The folder of the built app: the first above this file that has what a Functions host asks for. */
export function findAppDir(): string {
  for (let folder = resolve(import.meta.dirname); dirname(folder) !== folder; folder = dirname(folder)) {
    if (!existsSync(join(folder, "host.json"))) continue;
    if (existsSync(join(folder, "dist", "index.cjs"))) return folder;
    throw new ConfigError("not-built", 'the app is not built yet: run "npm run build" first');
  }
  throw new ConfigError("no-app", "there is no folder with a host.json above the program");
}

const namespaceOf = ({ namespace, env = {} }: EmbeddedOptions): string =>
  env[namespaceSetting] ?? namespace ?? (process.env[namespaceSetting] || "leasefold");
const namespaceSetting = "LEASEFOLD_NAMESPACE";
