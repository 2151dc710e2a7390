import { readFileSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import type { App } from "../../src/app/functions/app.ts";
import { electionSettings } from "../../src/election/settings.ts";
import { Coordinator } from "../../src/engine/leader/tick.ts";
import { readHostSettings } from "../../src/engine/model/hostSettings.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { LogEvent } from "../../src/engine/model/log.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";
import { localWorker } from "../../src/engine/worker/localWorker.ts";
import type { WorkerPorts } from "../../src/engine/worker/ports.ts";
import { processState } from "../../src/engine/worker/processState.ts";
import { installCoreModule, makeCoreModule, type ProgrammingModel } from "../../src/host/coreModule.ts";
import { listenerOf } from "../../src/host/functionListeners.ts";
import { makeHostLog } from "../../src/host/hostLog.ts";
import type { InstanceMessage } from "../../src/host/instanceMessages.ts";
import { makeInvoker } from "../../src/host/invoker.ts";
import { portsOf } from "../api/apiWorld.ts";
import { engineWorld } from "../support/engineWorld.ts";
import { heartbeatProcess } from "../support/heartbeatProcess.ts";
import { firstCode, rangesCode } from "../support/rangesCode.ts";

const hostJson = readFileSync(join(import.meta.dirname, "../../host.json"), "utf8");
const env = { LEASEFOLD_SCHEDULE: "*/5 * * * * *", DataStorage: "memory" };
let app: Omit<App, "api">;

/** The app's timer and queue functions, registered with the real library once for all worlds: its hook stays. */
export async function registeredFunctions() {
  const { module, registrations } = makeCoreModule(() => {});
  installCoreModule(module);
  const { registerTriggers } = await import("../../src/app/functions/registerTriggers.ts");
  const { shallowBodies } = await import("../../src/app/functions/shallowBodies.ts");
  registerTriggers("sim", async () => app, {
    stopping: new AbortController().signal,
    during: (tick) => tick(),
    ticked: () => {},
  });
  shallowBodies(module);
  return registrations;
}

export type Registered = Awaited<ReturnType<typeof registeredFunctions>>;

/**
 * One instance as the host runs it, in virtual time: its queues are the in-memory storage's, the conversions are the real library's, and
 * the functions are those that the app registers. `seenByApp` stands between in-memory storage and the app.
 */
export function hostWorld(
  registrations: Registered,
  seed: number,
  seenByApp: (storage: Storage, nowMs: () => number) => Storage = (storage) => storage,
) {
  const engine = engineWorld({ seed });
  const { world, client } = engine;
  const { names } = client;
  const { random } = world;
  const clock = world.clock();
  // A tick is begun by the clock of its process.
  vi.spyOn(performance, "now").mockImplementation(() => clock.monotonicMs());
  const events: LogEvent[] = [];
  const messages: InstanceMessage[] = [];
  const report = (message: InstanceMessage) => void messages.push(message);
  const storage = seenByApp(engine.storage, world.nowMs);
  const shared = { storage, names, clock, random, log: (event: LogEvent) => void events.push(event) };
  const { packLimitMs, endRetryMs, foldBytesMax } = limits;
  const worker: WorkerPorts = {
    ...{ ...shared, packLimitMs, endRetryMs, foldBytesMax, tree: limits, versionOf: () => firstCode },
    ...processState(shared, heartbeatProcess()),
    userCode: rangesCode(clock, 2, random),
  };
  const settings = readHostSettings(hostJson, {}, 2);
  const election = electionSettings({ budgetMs: 300_000, breakAfterMs: 0 });
  const loop = { loopMs: 2_000, fastLoopMs: 100 };
  app = {
    ...{ host: settings, worker, api: portsOf(client) },
    coordinator: new Coordinator(
      { ...shared, worker: localWorker(worker), onElection: () => {} },
      { holder: "node-1", election, loop, keepDays: 0, packLimitMs },
    ),
  };
  const invoker = makeInvoker({
    ...{ registrations, clock, random, report },
    model: registrations.model() as ProgrammingModel,
  });
  const log = makeHostLog(report);
  const around = { env, settings, clock, random, invoker, storage: engine.storage, log, functionKey: "" };
  const starters = [...registrations.functions.values()].map((one) => listenerOf(one, around));

  return {
    ...{ engine, world, events },
    /** What the host and the app logged, by level. */
    logged: (...levels: readonly string[]): string[] =>
      messages.flatMap((one) => (one.kind === "log" && levels.includes(one.level) ? [one.message] : [])),
    /** Invocations that ended. */
    invocations: () => messages.filter(({ kind }) => kind === "ended").length,
    failed: () => messages.filter((one) => one.kind === "ended" && !one.ok).length,
    /** Listens on all queues; gives how to end that. */
    start(): () => Promise<void> {
      const listeners = starters.map((start) => start?.());
      return async () => {
        await world.finish(Promise.all(listeners.map((one) => one?.stop())));
      };
    },
  };
}
