import { createHash } from "node:crypto";
import * as z from "zod";
import { encodeRecord, type LeaderRecord } from "../../src/election/record/record.ts";
import type { Calculations } from "../../src/engine/calculation/contract.ts";
import { type AnyCalculation, defineCalculation } from "../../src/engine/calculation/contract.ts";
import { describeParams, parseParams } from "../../src/engine/calculation/params.ts";
import type { Client } from "../../src/engine/client/client.ts";
import { ensureContainersAndQueues } from "../../src/engine/client/containersAndQueues.ts";
import { InputError } from "../../src/engine/model/errors.ts";
import { encodeMarker, type Marker } from "../../src/engine/model/marker.ts";
import { leaderBlob, namesOf } from "../../src/engine/model/names.ts";
import type { Manifest } from "../../src/engine/model/run.ts";
import { resultBlobs, runBlobs } from "../../src/engine/model/runBlobs.ts";
import { firstState, type State } from "../../src/engine/model/state.ts";
import { type MemoryStorage, memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";
import { type VirtualWorld, virtualWorld } from "../support/virtualClock.ts";

/** A client on an in-memory account, and hands to play the leader and the workers with. */
export interface ClientWorld {
  readonly world: VirtualWorld;
  readonly storage: MemoryStorage;
  readonly client: Client;
  /** The same account through another storage, such as a faulty one. */
  clientOn(storage: Storage): Client;
  /** Writes the state as a leader would, over whatever is there. */
  putState(run: { run: string; uid: string }, change?: Partial<State>): Promise<void>;
  /** Writes the marker as any client may have left it, over whatever is there. */
  putMarker(run: { run: string; uid: string }, change?: Partial<Marker>): Promise<void>;
  /** Writes a result and its manifest as a finishing worker would; a run that has no state is complete by it. */
  putResult(run: { run: string; uid: string }, text: string, change?: Partial<Manifest>): Promise<Manifest>;
  wakes(): Promise<number>;
}

export const names = namesOf("test");

/** A state whose counts fit what `putResult` writes. */
export const counted: Partial<State> = {
  layout: { chunks: 10, packSize: 2, shardSize: 256, fanIn: 1_000, packMs: 1 },
  cursor: 5,
  sealed: { 0: { gen: 1, node: false } },
};

const grant = "00000000-0000-4000-8000-000000000000";

/** Has node-1 lead in term 7, but for what `record` says, under a lease of so many seconds. */
export async function leadsOn(
  storage: MemoryStorage,
  record: Partial<LeaderRecord> = {},
  { name = leaderBlob, leaseS = 15 } = {},
) {
  const lease = storage.lease(names.coordination, name);
  await lease.ensure();
  await lease.acquire(grant, leaseS);
  const term = {
    term: 7,
    termid: "t",
    state: "leading",
    holder: "node-1",
    sinceMs: 0,
    cameBy: "free",
  } as const;
  const plain = { ...term, heartbeat: "b", breakAfterMs: 0, notes: {}, lastTerms: [] };
  await lease.writeRecord(grant, encodeRecord({ ...plain, ...record }));
  return lease;
}

export async function clientWorld(options: { seed?: number; places?: boolean } = {}): Promise<ClientWorld> {
  const world = virtualWorld({ seed: options.seed ?? 1 });
  const clock = world.clock();
  const storage = memoryStorage({ clock, random: world.random });
  const clientOn = (on: Storage): Client => ({
    storage: on,
    names,
    clock,
    random: world.random,
    calculations,
  });
  const client = clientOn(storage);
  if (options.places !== false) await ensureContainersAndQueues(client);
  const putState: ClientWorld["putState"] = async ({ run, uid }, change = {}) => {
    const first = firstState({ run, uid, generation: 1, cap: 2000, nowMs: clock.wallMs() });
    const state = { ...first, ...change };
    storage.operator.overwriteBlob(names.runs, runBlobs(run, uid).state, JSON.stringify(state));
  };
  return {
    world,
    storage,
    client,
    clientOn,
    putState,
    putMarker: async ({ run, uid }, change = {}) => {
      const first: Marker = { uid, want: "run", generation: 1, cap: 2000, turn: 0, command: 0 };
      const metadata = encodeMarker({ ...first, ...change });
      storage.operator.deleteBlob(names.active, run);
      await storage.blobs.create(names.active, run, "", { metadata });
    },
    putResult: async ({ run, uid }, text, change = {}) => {
      const blobs = resultBlobs(run, uid);
      const sha256 = createHash("sha256").update(text).digest("hex");
      const manifest = manifestOf({ run, uid }, { bytes: Buffer.byteLength(text), sha256, ...change });
      storage.operator.overwriteBlob(names.results, manifest.blob, text);
      storage.operator.overwriteBlob(
        names.results,
        blobs.manifest(manifest.generation),
        JSON.stringify(manifest),
      );
      const state = await storage.blobs.head(names.runs, runBlobs(run, uid).state);
      if (state.kind === "missing") await putState({ run, uid }, { ...counted, phase: "complete" });
      return manifest;
    },
    wakes: async () => {
      const stats = await storage.queues.stats(names.wake);
      return stats.kind === "found" ? stats.approximateCount : 0;
    },
  };
}

/** A manifest of a result of JSON, as a finishing worker would write it. */
function manifestOf(
  { run, uid }: { run: string; uid: string },
  change: Pick<Manifest, "bytes" | "sha256"> & Partial<Manifest>,
): Manifest {
  const { generation = 1 } = change;
  return {
    v: 1,
    run,
    uid,
    generation,
    calculation: "sum",
    spec: "a".repeat(64),
    plan: "a".repeat(64),
    requestHash: "h",
    attempt: "1-1-abcdefgh",
    blob: resultBlobs(run, uid).result(generation, "1-1-abcdefgh", "json"),
    contentType: "application/json",
    chunks: 10,
    folded: 10,
    packs: 5,
    complete: true,
    missing: [],
    code: [],
    attempts: 5,
    terms: [],
    ...change,
  };
}

const sum: AnyCalculation = defineCalculation({
  name: "sum",
  summary: "adds the whole numbers below N",
  params: z.object({
    to: z.int().min(0).max(1e15).describe("exclusive end"),
    label: z.string().default("none").describe("a text"),
    exact: z.boolean().default(false).describe("a flag"),
    maxSize: z.number().default(10).describe("a number with a long name"),
  }),
  plan: ({ to }) => to,
  compute: ({ index }) => index,
  merge: (a: number, b: number) => a + b,
  zero: () => 0,
});

/** Stands for the registry, with one calculation. */
export const calculations: Calculations = {
  list: () => [sum],
  get: (name) => {
    if (name === "sum") return sum;
    throw new InputError("unknown", "unknown-calculation", `calculation: there is no ${name}; there is sum`, {
      field: "calculation",
    });
  },
  versionOf: () => "test",
  parseParams,
  describeParams,
};

/** What a promise is rejected with, or a failed test. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}
