import { electionSettings } from "../../src/election/settings.ts";
import { awaitRun, type Lead } from "../../src/engine/client/awaitRun.ts";
import type { Client } from "../../src/engine/client/client.ts";
import type { LocalWorker } from "../../src/engine/leader/perform/localWork.ts";
import { Coordinator, type TickRequest } from "../../src/engine/leader/tick.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { LogEvent } from "../../src/engine/model/log.ts";
import { encodeMessage } from "../../src/engine/model/message.ts";
import { containersOf, type Names, queuesOf } from "../../src/engine/model/names.ts";
import type { TreeLimits } from "../../src/engine/model/packs.ts";
import { createOnDemand } from "../../src/engine/storage/createOnDemand.ts";
import type { Clock, Storage } from "../../src/engine/storage/ports.ts";
import { handlePoison, handleWork } from "../../src/engine/worker/handleWork.ts";
import { localWorker } from "../../src/engine/worker/localWorker.ts";
import type { Delivery, WorkerPorts } from "../../src/engine/worker/ports.ts";
import { processState } from "../../src/engine/worker/processState.ts";
import { makeHostLog } from "../../src/host/hostLog.ts";
import type { HeldMessage } from "../../src/host/instanceMessages.ts";
import { startQueueListener } from "../../src/host/queueTrigger.ts";
import { type Listener, parseSchedule, startTimer, type TimerStore } from "../../src/host/timerTrigger.ts";
import { type FarCall, farStorage } from "./farStorage.ts";
import { heartbeatProcess } from "./heartbeatProcess.ts";
import { network, type Weather } from "./network.ts";
import { firstCode, type RangesOptions, rangesCalculations, rangesCode } from "./rangesCode.ts";
import { onCores } from "./sharedCores.ts";
import { simProcess } from "./simProcess.ts";
import type { VirtualClock, VirtualWorld } from "./virtualClock.ts";

/** What one instance is there for, and how it fares. */
export interface Role {
  /** Ticks and wakes. Default true. */
  readonly leads?: boolean;
  /** Takes work from the queues. Default true. */
  readonly works?: boolean;
  /** Worker threads. Default 2. */
  readonly threads?: number;
  /** Cores that its threads share. Default one for each. */
  readonly cores?: number | undefined;
  readonly weather?: Weather<FarCall>;
  /** How far its clock is off, beside some seconds. */
  readonly skewMs?: number;
  /** Default 5 s. */
  readonly tickEveryMs?: number;
  /** Ticks each minute as on Azure instead, where the instances of an app share one timer. */
  readonly timer?: (own: VirtualClock) => TimerStore;
  readonly budgetMs?: number;
  /** Pause of a leader between two polls when it polls fast. Default 100 ms. */
  readonly fastLoopMs?: number;
  /** Finished runs are deleted after so many days. Default never. */
  readonly keepDays?: number;
  /** Early takeover; default never. */
  readonly breakAfterMs?: number;
  /** Queue that gets completion events; default none. */
  readonly endedQueue?: string;
  /** Identity of its calculation's code. */
  readonly code?: string;
  /** Seen from outside, everything it writes is of another wire version. */
  readonly translated?: (storage: Storage) => Storage;
}

/** One simulated process of the app. */
export interface EngineInstance {
  readonly name: string;
  readonly clock: VirtualClock;
  readonly leading: () => boolean;
  readonly isDead: () => boolean;
  /** In true time; undefined while it lives. */
  readonly diedMs: () => number | undefined;
  readonly isStopped: () => boolean;
  /** Ends host and worker: messages stay hidden for the rest of their ten minutes. */
  kill(): void;
  /**
   * Ends the worker, as its own code or memory does, and its host goes on: what it ran fails, so that the messages come back after
   * `visibilityTimeout`. After a `timeout` only one of them does; the host takes the others for running until their own.
   */
  crash(how?: "timeout"): void;
  /** SIGSTOP, and SIGCONT after so long. */
  stopFor(ms: number): void;
  resume(): void;
  /** A request to its API that waits for a run. Resolves when it is answered. Never rejects. */
  waitFor(id: string, waitMs: number): Promise<void>;
  /**
   * SIGTERM to the host, which waits for what runs for up to ten seconds and takes new messages meanwhile; then the app is asked to
   * hand over and has five.
   */
  terminate(): void;
}

export interface InstanceParts {
  readonly name: string;
  readonly world: VirtualWorld;
  /** The service's clock: requests travel on it. */
  readonly service: VirtualClock;
  readonly near: Storage;
  readonly names: Names;
  readonly weather: Weather<FarCall>;
  readonly code?: RangesOptions | undefined;
  readonly tree?: TreeLimits | undefined;
  /** Bytes that a worker folds at once. */
  readonly foldBytesMax?: number | undefined;
  /** Time limit of one attempt. Default that of the app. */
  readonly packLimitMs?: number | undefined;
  log(event: LogEvent): void;
  /** Told of a message that a leader hands to the worker of its own process, instead of to a queue. */
  readonly takenHere?: ((text: string, queue: string) => void) | undefined;
  /** Stands around each delivery of work. */
  readonly handling?:
    | ((delivery: Delivery, work: () => Promise<void>, instance: string) => Promise<void>)
    | undefined;
}

const threadsEach = 2;

/** For checkers that count sends: a message that the local worker takes is as good as sent. */
const toldOf = (
  worker: LocalWorker,
  names: Names,
  told: InstanceParts["takenHere"] = () => {},
): LocalWorker => ({
  recordPoison: worker.recordPoison,
  take(message, work) {
    const done = worker.take(message, work);
    if (done !== undefined) told(encodeMessage(message), work.urgent ? names.urgent : names.packs);
    return done;
  },
});

/** As host.json has it. */
const visibilityTimeoutMs = 30_000;
/** How long the real host waits for invocations when it stops, and then grants the worker (functions-host, ProcessShutdownTimeout). */
const stopWaitMs = 10_000;
const stopGraceMs = 5_000;

/** Starts an instance that ticks, wakes and works as the Functions host would have it, behind a network of its own. */
export function startInstance(parts: InstanceParts, role: Role = {}): EngineInstance {
  const { name, world, names } = parts;
  const { random } = world;
  const self = simProcess(world, parts.service, name, role.skewMs);
  const { clock } = self;
  let leading = false;
  const carry = network<FarCall>(parts.service, self, random, role.weather ?? parts.weather);
  const translated = role.translated ?? ((storage: Storage) => storage);
  const places = { containers: containersOf(names), queues: queuesOf(names) };
  const storage = createOnDemand(translated(farStorage(parts.near, clock, carry)), places);
  const log = (event: LogEvent) => {
    self.tell(event.event, event.fields);
    parts.log({ ...event, fields: { ...event.fields, instance: name } });
  };
  const stopping = new AbortController();
  /** Messages that it runs for, by their ids, with the receipts that are valid now. */
  const held = new Map<string, HeldMessage>();
  const crash = (how?: "timeout"): void => {
    if (self.isDead()) return;
    self.die();
    // Its host is another process, near storage.
    for (const { queue, id, receipt } of [...held.values()].slice(0, how === "timeout" ? 1 : undefined))
      void parts.near.queues
        .update(queue, id, receipt, { visibleInS: visibilityTimeoutMs / 1_000 })
        .catch(() => {});
  };
  const packLimitMs = parts.packLimitMs ?? limits.packLimitMs;
  const shared = { storage, names, clock, random, log };

  const own = role.code ?? firstCode;
  const userCode = (busy: Clock) =>
    rangesCode(busy, role.threads ?? threadsEach, random, {
      ...(role.code === undefined && parts.code?.signed !== true ? {} : { code: own }),
      ...{ ...parts.code, kill: crash },
    });
  const worker: WorkerPorts = {
    ...shared,
    userCode: role.cores === undefined ? userCode(clock) : onCores(clock, role.cores, userCode),
    ...processState(shared, heartbeatProcess(name, role.threads ?? threadsEach)),
    packLimitMs,
    endRetryMs: limits.endRetryMs,
    tree: parts.tree ?? limits,
    versionOf: () => own,
    foldBytesMax: parts.foldBytesMax ?? limits.foldBytesMax,
  };
  const handling = parts.handling ?? ((_delivery, work) => work());
  const handle = (delivery: Delivery) => handling(delivery, () => handleWork(worker, delivery), name);

  const recordPoison = (delivery: Delivery) => handlePoison(worker, delivery);
  const local = localWorker(worker, { work: handle, recordPoison });

  const coordinate = new Coordinator(
    {
      ...shared,
      worker:
        role.works === false ? { ...local, take: () => undefined } : toldOf(local, names, parts.takenHere),
      endedQueue: role.endedQueue,
      onElection(event) {
        if (event.kind === "claimed") leading = true;
        if (event.kind === "released" || event.kind === "lost" || event.kind === "deposed") leading = false;
        log({ level: "info", event: `lease-${event.kind}`, fields: { term: event.term } });
      },
    },
    {
      holder: name,
      election: electionSettings({
        budgetMs: role.budgetMs ?? 300_000,
        breakAfterMs: role.breakAfterMs ?? 0,
      }),
      loop: { loopMs: 2_000, fastLoopMs: role.fastLoopMs ?? 100 },
      keepDays: role.keepDays ?? 0,
      packLimitMs,
    },
  );
  const tick = (startedBy: TickRequest["startedBy"], until: AbortSignal = stopping.signal) =>
    coordinate.tick({ startedBy, startedAtMonotonicMs: clock.monotonicMs(), stopping: until });
  const lead: Lead = (until) => tick("wait", AbortSignal.any([until, stopping.signal]));
  const client: Client = { storage, names, clock, random, calculations: rangesCalculations };

  const listeners: Listener[] = [];
  const listen = (queue: string, work: (delivery: Delivery) => Promise<void>): void => {
    const listener = startQueueListener({
      ...{ queue, clock, random, queues: storage.queues },
      ...{ batchSize: 1, newBatchThreshold: (role.threads ?? threadsEach) - 1, maxPollingIntervalMs: 2_000 },
      ...{ maxDequeueCount: 5, visibilityTimeoutMs, log: makeHostLog(() => {}) },
      onReceipt: (message) => void held.set(message.id, message),
      async invoke({ id, popReceipt: receipt, text, dequeueCount: attempt }) {
        held.set(id, { queue, id, receipt });
        try {
          await work({ queue, text, attempt, urgent: queue === names.urgent });
          return true;
        } catch {
          return false;
        } finally {
          held.delete(id);
        }
      },
    });
    listeners.push(listener);
  };
  if (role.works !== false) {
    for (const queue of [names.packs, names.urgent]) {
      listen(queue, handle);
    }
  }
  if (role.leads !== false) {
    listen(names.wake, async () => void (await tick("wake")));
    if (role.timer !== undefined) {
      const schedule = parseSchedule("0 * * * * *");
      listeners.push(startTimer({ schedule, clock, store: role.timer(clock), invoke: () => tick("tick") }));
    } else
      void (async () => {
        await clock.sleep(random.number() * 1_000);
        while (!stopping.signal.aborted) {
          await tick("tick");
          await clock.sleep(role.tickEveryMs ?? 5_000, stopping.signal);
        }
      })();
  }

  return {
    ...{ name, clock, crash, kill: self.die, stopFor: self.stopFor, resume: self.resume },
    ...{ isDead: self.isDead, diedMs: self.diedMs, isStopped: self.isStopped },
    leading: () => leading && !self.isDead(),
    waitFor: (id, waitMs) =>
      awaitRun(client, id, waitMs, lead).then(
        () => {},
        () => {},
      ),
    terminate() {
      const handOver = (): void => {
        stopping.abort();
        for (const one of listeners) void one.stop();
        parts.service.after(stopGraceMs, () => held.size > 0 && crash());
      };
      if (held.size === 0 && !leading) handOver();
      else parts.service.after(stopWaitMs, handOver);
    },
  };
}
