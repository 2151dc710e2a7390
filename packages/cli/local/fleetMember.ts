import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import { hostname } from "node:os";
import { join } from "node:path";
import { connectStorage, type StorageConnection } from "../../../src/azure/connectStorage.ts";
import { namesOf } from "../../../src/engine/model/names.ts";
import { systemClock } from "../../../src/engine/storage/system.ts";
import { guardConnections } from "../../../src/host/connectionGuard.ts";
import { findAppDir } from "./embedded.ts";
import { memberEnv } from "./instanceEnv.ts";
import { type InstanceEvent, type Instances, startInstances } from "./instances.ts";
import { endMarks } from "./markEnded.ts";
import { makeIdleWatch } from "./supervision.ts";

/** One instance of the built app on storage that others share: an account's, or that of `leasefold up` on this machine. */
export interface FleetMember {
  readonly name: string;
  /** Resolves once it has computed nothing for `idleMs`, and leads nothing. */
  readonly idle: Promise<void>;
  /** Ends it: what it computes is enqueued again after two seconds, and its lease is released. */
  stop(): Promise<void>;
}

interface MemberOptions {
  readonly connection: StorageConnection;
  /** The settings that name the same storage. */
  readonly storage: Readonly<Record<string, string>>;
  readonly namespace: string;
  readonly threads: number;
  readonly lead: boolean;
  /** The user's own, as absolute paths. */
  readonly calculations: readonly string[];
  /** Names of the calculations that it computes; all by default. */
  readonly only?: readonly string[] | undefined;
  /** Endless by default. */
  readonly idleMs?: number | undefined;
  /** Port on all addresses that answers whether it runs; none by default. */
  readonly healthPort?: number | undefined;
  readonly onEvent: (event: InstanceEvent) => void;
}

/** Resolves when it is ready. Throws `ConfigError` where it cannot start, and then leaves nothing running. */
export async function startFleetMember(options: MemberOptions): Promise<FleetMember> {
  const { connection, storage, namespace, idleMs, onEvent } = options;
  // Host names of machines may be equal, and of processes on one machine they are.
  const name = process.env["LEASEFOLD_INSTANCE"] || `${hostname()}-${randomBytes(3).toString("hex")}`;
  const appDir = findAppDir();
  const marks = endMarks(connectStorage(connection), namesOf(namespace).coordination);
  const idle = Promise.withResolvers<void>();
  const idleWatch = idleMs === undefined ? undefined : makeIdleWatch(idleMs, systemClock, idle.resolve);
  const isRunning = (): boolean => started?.instances.every(({ state }) => state === "running") === true;
  const health =
    options.healthPort === undefined ? undefined : await serveHealth(options.healthPort, isRunning);
  const end = (): void => {
    idleWatch?.clear();
    health?.close();
  };
  let started: Instances | undefined;
  try {
    started = await startInstances({
      count: 1,
      appDir,
      storage,
      nameOf: () => name,
      httpPort: null,
      instanceEntry: join(appDir, "dist", "instance.cjs"),
      env: () => memberEnv(options),
      onEvent(event) {
        onEvent(event);
        if (event.kind === "exited") marks.ended(name, event.how, event.failed, event.visibleInS);
        if (event.kind === "exited") idleWatch?.exited();
        if (event.kind === "started") idleWatch?.started(event.invocation);
        if (event.kind === "ended") idleWatch?.ended(event.invocation, event.function, event.ms);
      },
    });
  } catch (error) {
    end();
    throw error;
  }
  const instances = started;
  return {
    name,
    idle: idle.promise,
    async stop() {
      end();
      await instances.stopAll();
      await marks.settled();
    },
  };
}

/** Answers every request with 200 while the instance runs, else with 503: what runs containers asks for no more. */
async function serveHealth(port: number, isRunning: () => boolean): Promise<Server> {
  const server = createServer((_request, response) => {
    const runs = isRunning();
    response.writeHead(runs ? 200 : 503, { "content-type": "text/plain", connection: "close" });
    response.end(runs ? "ok\n" : "the instance does not run\n");
  });
  guardConnections(server);
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(port, listening.resolve);
  await listening.promise;
  return server.unref();
}
