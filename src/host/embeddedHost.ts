import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { CallCounts } from "../engine/model/calls.ts";
import { ConfigError, messageOf } from "../engine/model/errors.ts";
import { type HostSettings, readHostSettings } from "../engine/model/hostSettings.ts";
import type { Clock, Random, Storage } from "../engine/storage/ports.ts";
import { installCoreModule, makeCoreModule } from "./coreModule.ts";
import { isDisabled, listenerOf, type Surroundings, startHttpFunctions } from "./functionListeners.ts";
import { makeHostLog } from "./hostLog.ts";
import type { HttpListener, HttpPort } from "./httpServer.ts";
import type { Report } from "./instanceMessages.ts";
import { makeInvoker } from "./invoker.ts";
import type { Listener } from "./timerTrigger.ts";

/**
 * The part of the Functions host that one instance of an app needs, inside its own process: it loads the app, reads
 * `host.json` and its overrides, and runs timer, queue and HTTP functions with the host's semantics.
 * `local/instances.ts` lists what it does not do.
 */
export interface EmbeddedHost {
  /** Undefined in an app without HTTP functions. */
  readonly http: HttpListener | undefined;
  readonly settings: HostSettings;
  /** Invocations running, and the host's own storage calls so far. */
  stats(): { readonly running: number; readonly hostCalls: CallCounts };
  /** Takes no new work, calls the app's hooks and waits for invocations, all within `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

interface EmbeddedHostOptions {
  readonly appDir: string;
  /** Without it connections come by `http.accept` alone. */
  readonly httpPort?: HttpPort;
  /** The key of HTTP functions that are not anonymous. */
  readonly functionKey: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** With a meter of its own, so that the host's calls are counted apart from the app's. */
  readonly storage: Storage;
}

export async function startEmbeddedHost(options: EmbeddedHostOptions): Promise<EmbeddedHost> {
  const { appDir, env, clock, random, report, functionKey, storage } = options;
  const log = makeHostLog(report);
  const settings = readHostSettings(await readHostJson(appDir), env, availableParallelism());
  const app = await loadApp(appDir, report);
  const invoker = makeInvoker({ ...options, ...app });
  const around: Surroundings = { env, settings, clock, random, invoker, storage, log, functionKey };

  const functions = [...app.registrations.functions.values()].filter(
    ({ metadata }) => !isDisabled(metadata.name, env),
  );
  const starters = functions.map((one) => listenerOf(one, around));
  const http = await startHttpFunctions(functions, options.httpPort, around);
  const triggered = starters.map((start) => start?.()).filter((one) => one !== undefined);
  const listeners: Listener[] = [...(http === undefined ? [] : [http]), ...triggered];

  return {
    http,
    settings,
    stats: () => ({ running: invoker.running(), hostCalls: storage.meter.counts() }),
    async stop(graceMs) {
      log.stopping();
      // Listeners refuse new work as soon as they are stopped; the hooks then see only what runs already.
      const drained = Promise.all([...listeners.map((one) => one.stop()), invoker.terminateApp()]);
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

/**
 * Loads the file that `main` in the folder's `package.json` names, whose functions register themselves. Throws
 * `ConfigError` where nothing could run; the real worker would start an app without any function.
 */
async function loadApp(appDir: string, report: Report) {
  const { module, registrations } = makeCoreModule((level, message) =>
    report({ kind: "log", level, message }),
  );
  installCoreModule(module);
  try {
    const load = createRequire(join(appDir, "package.json"));
    const file = load.resolve(appDir);
    // As the real worker does. Node 22.18 has no hooks for what a CommonJS module requires that was imported.
    if (file.endsWith(".cjs")) load(file);
    else await import(pathToFileURL(file).href);
  } catch (cause) {
    const missing = /MODULE_NOT_FOUND$/.test(String((cause as { code?: unknown }).code));
    const hint = missing ? " (is the app built? npm run build)" : "";
    const text = `the app in ${appDir} could not be loaded: ${messageOf(cause)}${hint}`;
    throw new ConfigError("app-not-loaded", text, { cause });
  }
  registrations.close();
  const model = registrations.model();
  if (!model || registrations.functions.size === 0) {
    throw new ConfigError("no-functions", `the app in ${appDir} registers no function`);
  }
  return { registrations, model };
}
