import { createHash } from "node:crypto";
import { coordinator } from "../../src/coordinator/tick.ts";
import { electionSettings } from "../../src/election/settings.ts";
import { makeHostLog } from "../../src/local/host/hostLog.ts";
import { hostQueueTimings } from "../../src/local/host/queueDelivery.ts";
import { startQueueListener } from "../../src/local/host/queueTrigger.ts";
import { canonicalJson, decodeJson } from "../../src/model/decode.ts";
import type { LogEvent } from "../../src/model/log.ts";
import { encodeMarker, type Marker } from "../../src/model/marker.ts";
import { encodeWake } from "../../src/model/message.ts";
import { namesOf, poisonOf, resultBlobs, runBlobs, specBlob } from "../../src/model/names.ts";
import { type Manifest, manifestSchema, type Spec } from "../../src/model/run.ts";
import { isFinal, type State, stateSchema } from "../../src/model/state.ts";
import { type MemoryStorage, memoryStorage } from "../../src/storage/memory/memoryStorage.ts";
import { callReport } from "../../src/worker/callReport.ts";
import { documents } from "../../src/worker/documents.ts";
import { handlePoison } from "../../src/worker/handlePoison.ts";
import { handleWork } from "../../src/worker/handleWork.ts";
import { markerWatch } from "../../src/worker/markerWatch.ts";
import type { Delivery, WorkerPorts } from "../../src/worker/ports.ts";
import { type Faults, farStorage } from "./farStorage.ts";
import { type RangesOptions, rangesCode } from "./rangesCode.ts";
import { type VirtualClock, type VirtualWorld, virtualWorld } from "./virtualClock.ts";

/**
 * The whole system in virtual time: instances that tick, wake and work as the Functions host would have them, on
 * the storage twin behind a simulated network. The calculation is `rangesCode`, whose partials are chunk ranges:
 * its fold fails when a chunk is lost, doubled or out of order.
 */
export interface EngineWorld {
  readonly world: VirtualWorld;
  readonly storage: MemoryStorage;
  readonly log: LogEvent[];
  /** Changed by a test while the world runs. */
  faults: Faults;
  readonly instances: EngineInstance[];
  start(): EngineInstance;
  submit(run: { id: string; chunks: number; packSize?: number; tolerate?: Spec["tolerate"] }): Promise<void>;
  mark(id: string, change: (marker: Marker) => Marker): Promise<void>;
  state(id: string): Promise<State | undefined>;
  manifest(id: string, generation?: number): Promise<Manifest | undefined>;
  result(id: string): Promise<string>;
  /** Lets time pass until the run's state is final; throws after the limit. */
  untilEnd(id: string, limitMs?: number): Promise<State>;
}

export interface EngineInstance {
  readonly name: string;
  readonly clock: VirtualClock;
  kill(): void;
  readonly leading: () => boolean;
}

const threadsEach = 2;

export function engineWorld(
  options: { seed?: number; latencyMs?: number; code?: RangesOptions } = {},
): EngineWorld {
  const world = virtualWorld({ seed: options.seed ?? 1 });
  const storage = memoryStorage({ clock: world.clock(), random: world.random });
  const names = namesOf("sim");
  const log: LogEvent[] = [];
  const ready = (async () => {
    const containers = [names.coordination, names.active, names.runs, names.results];
    for (const container of containers) await storage.blobs.ensureContainer(container);
    for (const queue of [names.packs, names.urgent, names.wake]) await storage.queues.ensureQueue(queue);
  })();

  const engine: EngineWorld = {
    world,
    storage,
    log,
    faults: {},
    instances: [],
    start() {
      const instance = startInstance(engine, `i${engine.instances.length + 1}`, names, options);
      engine.instances.push(instance);
      return instance;
    },
    async submit({ id, chunks, packSize, tolerate }) {
      await ready;
      const params = { chunks };
      const uid = world.random.uuid().slice(0, 8);
      const request = {
        calculation: "ranges",
        params,
        ...(packSize ? { packSize } : {}),
        ...(tolerate ? { tolerate } : {}),
      };
      const requestHash = createHash("sha256").update(canonicalJson(request)).digest("hex");
      const spec: Spec = { v: 1, run: id, uid, ...request, requestHash };
      await storage.blobs.create(names.runs, specBlob(id), JSON.stringify(spec));
      const marker: Marker = { uid, want: "run", generation: 1, cap: 2000, turn: 0, command: 0 };
      await storage.blobs.create(names.active, id, "", { metadata: encodeMarker(marker) });
      await storage.queues.send(names.wake, encodeWake("client"));
      await storage.queues.send(names.wake, encodeWake("client"), { visibleInS: 5 });
    },
    async mark(id, change) {
      const found = await storage.blobs.head(names.active, id);
      if (found.kind === "missing") throw new Error(`run ${id} has no marker`);
      const { v: _v, ...raw } = found.properties.metadata as unknown as Marker & { v: string };
      const before: Marker = {
        ...raw,
        generation: +raw.generation,
        cap: +raw.cap,
        turn: +raw.turn,
        command: +raw.command,
      };
      const next = change({ ...before, command: before.command + 1 });
      await storage.blobs.setMetadata(names.active, id, encodeMarker(next), {
        ifMatch: found.properties.etag,
      });
    },
    async state(id) {
      const spec = await storage.blobs.read(names.runs, specBlob(id));
      if (spec.kind === "missing") return undefined;
      const { uid } = JSON.parse(Buffer.from(spec.body).toString()) as Spec;
      const found = await storage.blobs.read(names.runs, runBlobs(id, uid).state);
      return found.kind === "found" ? decodeJson(stateSchema, found.body, id) : undefined;
    },
    async manifest(id, generation = 1) {
      const state = await engine.state(id);
      if (state === undefined) return undefined;
      const found = await storage.blobs.read(names.results, resultBlobs(id, state.uid).manifest(generation));
      return found.kind === "found" ? decodeJson(manifestSchema, found.body, id) : undefined;
    },
    async result(id) {
      const manifest = await engine.manifest(id);
      const found = await storage.blobs.read(names.results, manifest?.blob ?? "");
      if (found.kind === "missing") throw new Error(`run ${id} has no result`);
      return Buffer.from(found.body).toString();
    },
    async untilEnd(id, limitMs = 3_600_000) {
      for (let spentMs = 0; spentMs < limitMs; spentMs += 500) {
        await world.advance(500);
        const bug = log.find(
          ({ event, fields }) => event === "run-skipped" && fields["code"] === "unexpected",
        );
        if (bug !== undefined) throw new Error(String(bug.fields["message"]));
        const state = await engine.state(id);
        if (state !== undefined && isFinal(state.phase)) return state;
      }
      const state = await engine.state(id);
      throw new Error(`run ${id} did not end in ${limitMs} ms of virtual time: ${JSON.stringify(state)}`);
    },
  };
  return engine;
}

function startInstance(
  engine: EngineWorld,
  name: string,
  names: ReturnType<typeof namesOf>,
  options: { latencyMs?: number; code?: RangesOptions },
): EngineInstance {
  const { world } = engine;
  const { random } = world;
  const clock = world.clock({ skewMs: (random.number() - 0.5) * 10_000 });
  const storage = farStorage(engine.storage, clock, random, {
    latencyMs: options.latencyMs ?? 10,
    faults: () => engine.faults,
  });
  const log = (event: LogEvent) =>
    void engine.log.push({ ...event, fields: { ...event.fields, instance: name } });
  let leading = false;
  const coordinate = coordinator(
    {
      ...{ storage, names, clock, random, log },
      onElection(event) {
        if (event.kind === "claimed") leading = true;
        if (event.kind === "released" || event.kind === "lost" || event.kind === "deposed") leading = false;
        log({ level: "info", event: `lease-${event.kind}`, fields: { term: event.term } });
      },
    },
    {
      holder: name,
      election: electionSettings({ budgetMs: 300_000 }),
      loop: { loopMs: 2_000, fastLoopMs: 100 },
      packLimitMs: 300_000,
    },
  );
  const worker: WorkerPorts = {
    ...{ storage, names, clock, random, log },
    userCode: rangesCode(clock, threadsEach, random, options.code),
    documents: documents(storage.blobs, names),
    watch: markerWatch(storage.blobs, names, clock),
    report: callReport(storage.meter),
    packLimitMs: 300_000,
  };
  const tick = (startedBy: "tick" | "wake") =>
    coordinate.tick({ startedBy, startedAtMonotonicMs: clock.monotonicMs() });

  const listen = (queue: string, work: (delivery: Delivery) => Promise<unknown>): void => {
    startQueueListener({
      ...{ queue, clock, random, queues: storage.queues, encoding: "none", timings: hostQueueTimings },
      ...{ batchSize: 1, newBatchThreshold: 1, maxPollingIntervalMs: 2_000 },
      ...{ maxDequeueCount: 5, visibilityTimeoutMs: 1_000, log: makeHostLog(() => {}) },
      async invoke({ text, dequeueCount: attempt }) {
        try {
          await work({ queue, text, attempt, urgent: queue === names.urgent, last: attempt >= 5 });
          return true;
        } catch {
          return false;
        }
      },
    });
  };
  listen(names.wake, () => tick("wake"));
  for (const queue of [names.packs, names.urgent]) {
    listen(queue, (delivery) => handleWork(worker, delivery));
    listen(poisonOf(queue), (delivery) => handlePoison(worker, delivery));
  }
  void (async () => {
    await clock.sleep(random.number() * 1_000);
    for (;;) {
      await tick("tick");
      await clock.sleep(5_000);
    }
  })();

  return {
    name,
    clock,
    kill() {
      leading = false;
      clock.crash();
    },
    leading: () => leading,
  };
}
