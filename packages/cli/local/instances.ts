import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError, messageOf } from "../../../src/engine/model/errors.ts";
import { instanceEnv, instanceName } from "./instanceEnv.ts";
import { type InstanceReport, SupervisedInstance } from "./supervisedInstance.ts";

/**
 * Embedded instances: N copies of a built Functions app as child processes of this one, against any storage, without the
 * Functions host. Bindings, converters and handlers are the real `@azure/functions`; the host around them is ours.
 *
 * What it is not:
 * - no listener singleton: on Azure a timer fires on one instance of an app, here on each, so that they race;
 * - no scale controller: there are as many instances as you start;
 * - no triggers but timer, queue and HTTP, no input bindings, and outputs of HTTP functions to queues alone; one storage for all queues, whose messages are
 *   text, whatever `messageEncoding` says; trigger metadata, routes and hooks only as far as the app uses them;
 * - one key for all functions that are not anonymous, drawn anew with each start; only 127.0.0.1 is served;
 * - no schedule status: a timer is never past due, and never fires at the start; no retry policies;
 * - no gRPC and no separate host process: user code that blocks the event loop also blocks polling and renewal (on Azure
 *   it would only block the worker), and a timeout ends all that runs in the process (there the others keep their slots);
 * - a stop takes no new work from its begin and asks the app at once to hand over; the real host waits for up to ten seconds first,
 *   while timers fire and messages are taken, and the app then has five;
 * - storage that is away for half a minute is waited for; the real host was seen to end;
 * - files that change are not looked at: the real host replaces its worker in Development, and deliveries fail meanwhile;
 * - no `local.settings.json`: settings come from the environment and from `env`.
 *
 * An instance ends with this process, even when that is killed; only a frozen one then stays frozen.
 * It signals only processes that it started itself.
 */
export type InstanceEvent = { readonly instance: string } & InstanceReport;

export interface Instances {
  /** They always show the present state. */
  readonly instances: readonly Omit<SupervisedInstance, "start" | "stop" | "closePort">[];
  /** The `x-functions-key` of HTTP functions that are not anonymous, the same for all instances. */
  readonly functionKey: string;
  /** Ends all: a request and SIGTERM first, SIGKILL after `stopGraceMs`. Resolves when no process is left. */
  stopAll(): Promise<void>;
}

const stopGraceMsDefault = 10_000;

/**
 * Starts `count` instances of the app in `appDir` side by side and resolves when all are ready. When one cannot
 * start, the others are ended and a `ConfigError` says why.
 */
export async function startInstances(options: {
  readonly count: number;
  /** The folder with `package.json`, `host.json` and what `main` names. */
  readonly appDir: string;
  /** The settings that name the storage of each instance. */
  readonly storage: Readonly<Record<string, string>>;
  /** More settings of each, asked at each start. */
  readonly env: (name: string, index: number) => Readonly<Record<string, string | undefined>>;
  /** `node-1`, `node-2`, … by default. */
  readonly nameOf?: (index: number) => string;
  /** Port of the first instance; the others follow it. Free ports without it, and none with `null`. */
  readonly httpPort?: number | null;
  /** File of the child process; from the source by default. */
  readonly instanceEntry?: string;
  readonly stopGraceMs?: number;
  /** Time that the code of a calculation's file may block an instance while the file is loaded; a minute by default. */
  readonly loadMsMax?: number;
  readonly onEvent?: (event: InstanceEvent) => void;
}): Promise<Instances> {
  const { count, storage, env, httpPort, stopGraceMs = stopGraceMsDefault, onEvent } = options;
  const entry = options.instanceEntry ?? join(import.meta.dirname, "instance.ts");
  const appDir = resolve(options.appDir);
  if (!existsSync(appDir)) throw new ConfigError("no-app", `There is no folder ${appDir}`);

  const functionKey = randomBytes(24).toString("base64url");
  const supervised = Array.from({ length: count }, (_, index) => {
    const name = options.nameOf?.(index) ?? instanceName(index);
    return new SupervisedInstance({
      name,
      entry,
      appDir,
      stopGraceMs,
      loadMsMax: options.loadMsMax,
      httpPort: httpPort == null ? (httpPort ?? 0) : httpPort + index,
      functionKey,
      env: () => instanceEnv(process.env, name, storage, env(name, index)),
      onReport: (report) => onEvent?.({ instance: name, ...report }),
    });
  });
  const handle: Instances = {
    instances: supervised,
    functionKey,
    async stopAll() {
      await Promise.all(supervised.map((one) => one.stop()));
      for (const one of supervised) one.closePort();
    },
  };

  const started = await Promise.allSettled(supervised.map((one) => one.start()));
  const failed = started.findIndex((one) => one.status === "rejected");
  const outcome = started[failed];
  if (outcome?.status !== "rejected") return handle;
  await handle.stopAll();
  // A setting, a port or a build keeps an instance from starting: the user can change it.
  throw new ConfigError(
    "instance-not-started",
    `Instance ${supervised[failed]?.name} did not start: ${messageOf(outcome.reason)}`,
    { cause: outcome.reason },
  );
}
