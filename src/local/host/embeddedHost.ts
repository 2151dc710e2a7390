import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { CallCounts } from "../../model/calls.ts";
import { ConfigError } from "../../model/errors.ts";
import { type HostSettings, readHostSettings } from "../../model/hostSettings.ts";
import type { Clock, Random, Storage } from "../../storage/ports.ts";
import type { Report } from "../instanceMessages.ts";
import { listenerOf, type Surroundings, startHttpFunctions } from "./functionListeners.ts";
import { makeHostLog } from "./hostLog.ts";
import type { HttpPort } from "./httpTrigger.ts";
import { makeInvoker } from "./invoker.ts";
import { loadApp } from "./loadApp.ts";
import { makeStorages } from "./storages.ts";

/**
 * The part of the Functions host that one instance of an app needs, inside its own process: it loads the app,
 * reads `host.json` and its overrides, and runs timer, queue and HTTP functions with the host's semantics.
 * `local/instances.ts` says what it is not.
 */
export interface EmbeddedHost {
  readonly httpPort: number | null;
  readonly functions: readonly string[];
  readonly settings: HostSettings;
  /** Invocations running, and the host's own storage calls so far. */
  stats(): { readonly running: number; readonly hostCalls: CallCounts };
  /** Takes no new work, tells the app, waits for what runs, all within `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

export interface EmbeddedHostOptions {
  readonly appDir: string;
  readonly httpPort: HttpPort;
  /** Asked of callers of HTTP functions that are not anonymous. */
  readonly functionKey: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** Opens storage with a meter of its own, so that the host's calls are counted apart from the app's. */
  readonly connect: (connectionString: string) => Storage;
  readonly onTimeout: (functionName: string) => void;
}

export async function startEmbeddedHost(options: EmbeddedHostOptions): Promise<EmbeddedHost> {
  const { appDir, env, clock, random, report, functionKey } = options;
  const log = makeHostLog(report);
  const settings = readHostSettings(await readHostJson(appDir), env, availableParallelism());
  const app = await loadApp(appDir, (level, message) => report({ kind: "log", level, message }));
  const invoker = makeInvoker({ ...options, ...app, functionTimeoutMs: settings.functionTimeoutMs });
  const storages = makeStorages(env, options.connect);
  const around: Surroundings = { env, settings, clock, random, invoker, storages, log, functionKey };

  const functions = [...app.registrations.functions.values()];
  const starters = functions.map((one) => listenerOf(one, around));
  const http = await startHttpFunctions(functions, options.httpPort, around);
  await invoker.runAppHooks("appStart");
  const listeners = [http, ...starters.map((start) => start?.())].filter((one) => one !== undefined);

  return {
    httpPort: http?.port ?? null,
    functions: functions.map((one) => one.metadata.name),
    settings,
    stats: () => ({ running: invoker.running(), hostCalls: storages.calls() }),
    async stop(graceMs) {
      log.stopping();
      // Listeners refuse new work as soon as they are asked to stop; the hooks then see only what runs already.
      const drained = Promise.all([
        ...listeners.map((one) => one.stop()),
        invoker.runAppHooks("appTerminate"),
      ]);
      const waited = new AbortController();
      const late = clock.sleep(graceMs, waited.signal).then(() => "late" as const);
      if ((await Promise.race([drained, late])) === "late") log.notDrained(invoker.running(), graceMs);
      waited.abort();
    },
  };
}

async function readHostJson(appDir: string): Promise<string> {
  try {
    return await readFile(join(appDir, "host.json"), "utf8");
  } catch (cause) {
    throw new ConfigError("no-host-json", `${appDir} has no host.json that can be read`, { cause });
  }
}
