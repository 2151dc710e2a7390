import type { Client } from "../../src/engine/client/client.ts";
import { ensureContainersAndQueues } from "../../src/engine/client/containersAndQueues.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import type { LogEvent } from "../../src/engine/model/log.ts";
import { decodeMarker, encodeMarker, type Marker } from "../../src/engine/model/marker.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import type { TreeLimits } from "../../src/engine/model/packs.ts";
import { type Manifest, manifestSchema, type Spec, specSchema } from "../../src/engine/model/run.ts";
import { resultBlobs, runBlobs, specBlob } from "../../src/engine/model/runBlobs.ts";
import { isFinal, type State, stateSchema } from "../../src/engine/model/state.ts";
import { type MemoryStorage, memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";
import { type EngineInstance, type InstanceParts, type Role, startInstance } from "./engineInstance.ts";
import type { FarCall } from "./farStorage.ts";
import type { Weather } from "./network.ts";
import { type RangesOptions, rangesCalculations } from "./rangesCode.ts";
import { type VirtualWorld, virtualWorld } from "./virtualClock.ts";

/** Faults of the way to storage, each as a probability per call. */
interface Faults {
  /** The call never arrives. */
  readonly lostRequest?: number;
  /** The call is carried out, and the caller learns nothing of it. */
  readonly lostReply?: number;
}

export interface EngineOptions {
  readonly seed?: number;
  readonly code?: RangesOptions;
  readonly tree?: TreeLimits;
  readonly foldBytesMax?: number;
  readonly packLimitMs?: number;
  /** False: an account on which there is nothing yet. Default true. */
  readonly places?: boolean;
  /** Stands between in-memory storage and everyone. */
  readonly watched?: (storage: Storage, world: VirtualWorld) => Storage;
  readonly handling?: InstanceParts["handling"];
  readonly takenHere?: InstanceParts["takenHere"];
}

/**
 * The whole system in virtual time: instances that tick, wake and work as the Functions host would have them, on
 * the in-memory storage behind a simulated network. The calculation is `rangesCode`, whose partials are chunk ranges:
 * its fold fails when a chunk is lost, doubled or out of order.
 */
export interface EngineWorld {
  readonly world: VirtualWorld;
  readonly storage: MemoryStorage;
  /** Acts at once and without faults. */
  readonly client: Client;
  readonly log: LogEvent[];
  /** Changed by a test while the world runs. */
  faults: Faults;
  readonly instances: EngineInstance[];
  start(role?: Role): EngineInstance;
  submit(run: SubmitRequest): Promise<void>;
  /** Writes the marker as no client would. */
  mark(id: string, change: (marker: Marker) => Marker): Promise<void>;
  state(id: string): Promise<State | undefined>;
  manifest(id: string, generation?: number): Promise<Manifest | undefined>;
  result(id: string, generation?: number): Promise<string>;
  /** Lets time pass until the run's state is final; throws after the limit. */
  untilEnd(id: string, limitMs?: number): Promise<State>;
}

export interface SubmitRequest {
  readonly id: string;
  readonly chunks: number;
  readonly packSize?: number;
  readonly tolerate?: Spec["tolerate"];
  readonly cap?: number;
  readonly maxCost?: number;
  readonly attempts?: number;
  readonly retryAfterS?: number[];
  readonly deadline?: { readonly ms: number; readonly keep: boolean };
  /** The plan is a list of inputs. */
  readonly list?: boolean;
  /** The run stops after a prefix of which so many chunks are folded. */
  readonly stopAt?: number;
  readonly reuse?: string;
  readonly acceptCode?: boolean;
  readonly keepPartials?: boolean;
  readonly priority?: Spec["priority"];
  readonly tags?: Readonly<Record<string, string>>;
}

/** The names of every simulated installation. */
export const simNames = namesOf("sim");

export const requestOf = ({ chunks, list = false, stopAt, ...request }: SubmitRequest) => ({
  ...{ calculation: "ranges", params: { chunks, list, ...(stopAt === undefined ? {} : { stopAt }) } },
  ...request,
});

export function engineWorld(options: EngineOptions = {}): EngineWorld {
  const world = virtualWorld({ seed: options.seed ?? 1 });
  const { random } = world;
  const service = world.clock();
  const storage = memoryStorage({ clock: service, random });
  const names = simNames;
  const log: LogEvent[] = [];
  const near = options.watched?.(storage, world) ?? storage;
  const client: Client = { storage: near, names, clock: service, random, calculations: rangesCalculations };
  const ready = options.places === false ? Promise.resolve() : ensureContainersAndQueues(client);
  const weather: Weather<FarCall> = {
    calm: false,
    fateOf() {
      const { lostRequest = 0, lostReply = 0 } = engine.faults;
      const draw = random.number();
      if (draw < lostRequest) return "lost request";
      return draw < lostRequest + lostReply ? "lost reply" : "arrives";
    },
  };

  const engine: EngineWorld = {
    ...{ world, storage, client, log, faults: {}, instances: [] },
    start(role) {
      const { code, tree, foldBytesMax, packLimitMs, handling, takenHere } = options;
      const name = `node-${engine.instances.length + 1}`;
      const parts = {
        name,
        world,
        service,
        near,
        names,
        weather,
        code,
        tree,
        foldBytesMax,
        packLimitMs,
        handling,
        takenHere,
      };
      const instance = startInstance(
        {
          ...parts,
          log: (event) => void log.push(event),
        },
        role,
      );
      engine.instances.push(instance);
      return instance;
    },
    async submit(run) {
      await world.finish(ready.then(() => submit(client, requestOf(run))));
    },
    async mark(id, change) {
      const found = await near.blobs.head(names.active, id);
      if (found.kind === "missing") throw new Error(`run ${id} has no marker`);
      const before = decodeMarker(found.properties.metadata, id);
      const next = encodeMarker(change({ ...before, command: before.command + 1 }));
      await near.blobs.setMetadata(names.active, id, next, { ifMatch: found.properties.etag });
    },
    async state(id) {
      const spec = await storage.blobs.read(names.runs, specBlob(id));
      if (spec.kind === "missing") return undefined;
      const { uid } = decodeJson(specSchema, spec.body, id);
      const found = await storage.blobs.read(names.runs, runBlobs(id, uid).state);
      return found.kind === "found" ? decodeJson(stateSchema, found.body, id) : undefined;
    },
    async manifest(id, generation = 1) {
      const state = await engine.state(id);
      if (state === undefined) return undefined;
      const found = await storage.blobs.read(names.results, resultBlobs(id, state.uid).manifest(generation));
      return found.kind === "found" ? decodeJson(manifestSchema, found.body, id) : undefined;
    },
    async result(id, generation = 1) {
      const manifest = await engine.manifest(id, generation);
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
