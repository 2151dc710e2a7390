import { registerHooks } from "node:module";
import { Socket } from "node:net";
import { resolve } from "node:path";
import { argv, env, exit } from "node:process";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import * as z from "zod";
import { connectStorage } from "../../../src/azure/connectStorage.ts";
import { dataStorageFrom, storageHostIn } from "../../../src/azure/dataStorage.ts";
import { ConfigError, messageOf } from "../../../src/engine/model/errors.ts";
import { shrinkHeap, systemClock, systemRandom } from "../../../src/engine/storage/system.ts";
import { type EmbeddedHost, startEmbeddedHost } from "../../../src/host/embeddedHost.ts";
import {
  type InstanceMessage,
  type InstanceRequest,
  requestSchema,
} from "../../../src/host/instanceMessages.ts";

/**
 * Entry of the child process that is one instance. Its supervisor (`instances.ts`) gives it an IPC channel and the
 * arguments `appDir drainMs [--storage-host=SUFFIX]`, and over the channel its secrets and its connections. It ends when that channel closes, so it
 * never outlives its parent.
 */
const argumentsSchema = z.tuple([z.string().min(1), z.coerce.number().min(0)]);

type Begin = Extract<InstanceRequest, { kind: "begin" }>;

const statsEveryMs = 1_000;
/** By then an instance has ticked, and loaded what it does that with. */
const startedMs = 5_000;

/**
 * By default V8 lets the small heap of an instance grow by a third or so until it collects. Each piece of a file, 8 MB outside
 * of that heap, counts as growth, so it collected for nearly every piece.
 */
setFlagsFromString("--heap-growing-percent=200");

let host: EmbeddedHost | undefined;
let ending = false;
let lastSent: Promise<void> = Promise.resolve();

function report(message: InstanceMessage): void {
  // A message to a supervisor that is gone is lost, and so is this process.
  lastSent = new Promise((resolve) => {
    if (process.send && process.connected) process.send(message, undefined, undefined, () => resolve());
    else resolve();
  });
}

/**
 * Reports a file of a calculation right before Node loads it in this thread: its own code may block the instance for ever,
 * and then only the supervisor can tell which file it was. `named` is the setting, paths separated by commas.
 */
function reportLoads(named: string, appDir: string): void {
  const files = named.split(",").filter((file) => file.trim() !== "");
  const byUrl = new Map(files.map((file) => [pathToFileURL(resolve(appDir, file.trim())).href, file.trim()]));
  registerHooks({
    load(url, context, next) {
      const file = byUrl.get(url);
      if (file !== undefined) report({ kind: "loading", file });
      return next(url, context);
    },
  });
}

async function end(code: number): Promise<void> {
  await Promise.race([lastSent, systemClock.sleep(500)]);
  exit(code);
}

async function stop(graceMs: number): Promise<void> {
  if (ending) return;
  ending = true;
  await host?.stop(graceMs);
  await end(0);
}

async function start(): Promise<void> {
  if (!process.send) {
    throw new ConfigError("no-supervisor", "An instance is started by `leasefold up`, not by hand");
  }
  const [appDir, graceMs] = argumentsSchema.parse(argv.slice(2, 4));
  process.once("disconnect", () => exit(1));
  // The supervisor may have ended while this process was still loading its code.
  if (!process.connected) exit(1);
  // Ctrl-C reaches the whole process group; the supervisor decides what it means.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => void stop(graceMs));
  const begun = Promise.withResolvers<Begin>();
  process.on("message", (message, handle) => {
    const { data: asked } = requestSchema.safeParse(message);
    if (asked?.kind === "begin") begun.resolve(asked);
    if (asked?.kind === "stop") void stop(graceMs);
    // Without a socket it was closed on its way.
    if (handle instanceof Socket) host?.http?.accept(handle);
  });
  process.on("uncaughtException", (error) => {
    // As in the real worker, an error that nobody caught ends the process and all that runs in it.
    report({ kind: "log", level: "critical", message: `Uncaught: ${error.stack ?? error.message}` });
    void end(1);
  });

  const { functionKey, settings } = await begun.promise;
  // The app reads them there. The system goes on to show what the process was started with.
  Object.assign(env, settings);

  reportLoads(env["LEASEFOLD_CALCULATIONS"] ?? "", appDir);

  host = await startEmbeddedHost({
    appDir,
    env,
    report,
    functionKey,
    clock: systemClock,
    random: systemRandom,
    storage: connectStorage(dataStorageFrom(env, storageHostIn(argv))),
  });
  const { functionTimeoutMs, queues } = host.settings;
  const limitMs = Number.isFinite(functionTimeoutMs) ? functionTimeoutMs : null;
  const { visibilityTimeoutMs } = queues;
  report({ kind: "ready", http: host.http !== undefined, functionTimeoutMs: limitMs, visibilityTimeoutMs });
  setTimeout(shrinkHeap, startedMs).unref();
  setInterval(() => host && report({ kind: "stats", ...host.stats() }), statsEveryMs).unref();
}

start().catch(async (error: unknown) => {
  report({ kind: "failed", message: messageOf(error) });
  if (!process.send) console.error(messageOf(error));
  await end(1);
});
