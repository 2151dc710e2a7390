import {
  addCalls,
  type CallCounts,
  dollarsOf,
  subtractCalls,
  totalCalls,
} from "../../../src/engine/model/calls.ts";
import { limits as engineLimits } from "../../../src/engine/model/limits.ts";
import { type Names, namesOf } from "../../../src/engine/model/names.ts";
import { resultBlobs } from "../../../src/engine/model/runBlobs.ts";
import { memoryStorage } from "../../../src/engine/storage/memory/memoryStorage.ts";
import type { Storage } from "../../../src/engine/storage/ports.ts";
import { seededRandom, type VirtualWorld, virtualWorld } from "../../support/virtualClock.ts";
import { callsOf, type FarStorage, farService, type Way } from "./farService.ts";
import { hostedWorker } from "./hostedWorker.ts";
import { appHost, startLeader } from "./leader.ts";
import { azureScaling, type Fleet, type Scaling, startFleet } from "./platform.ts";
import { runWatch } from "./runWatch.ts";
import { azureLimits, type ServiceLimits, type Throttle, throttle } from "./serviceLimits.ts";
import { makePlaces, runId, runUid, startRun } from "./startRun.ts";
import { thinWorker } from "./thinWorker.ts";

/**
 * One run of so many packs in virtual time, on a modelled service and platform. A worker is one instance of the app
 * as it is deployed by default: one core (Flex Consumption, 2 GB), on which its two threads take turns, so that the
 * one computes while the other waits for storage.
 */
export interface ScaleCase {
  readonly packs: number;
  /** Core time of a pack. */
  readonly packMs: number;
  /** Workers that are always there, or those that the platform makes of the queue. */
  readonly workers: number | Scaling;
  /** Cores of a worker. Default 1. */
  readonly cores?: number;
  readonly chunksPerPack?: number;
  readonly limits?: ServiceLimits;
  readonly cap?: number;
  /** Packs at once that the submit says there are. */
  readonly told?: number;
  readonly latencyMs?: Way["latencyMs"];
  readonly seed?: number;
  /** The app's worker under the embedded host instead of the thin one. */
  readonly hosted?: boolean;
  /**
   * Each function scales by itself and from zero, as on Flex Consumption, but for those that are always ready; `workers`
   * then says how the platform scales each. Otherwise the leader is awake, and every worker takes from both queues.
   */
  readonly apart?: { readonly ready: readonly ("wake" | "urgent" | "packs")[] };
}

export interface ScaleResult {
  /** From the submit until the manifest is there. */
  readonly wallMs: number;
  /** Core time of all packs over that of the workers while they were there, until the manifest. */
  readonly utilisation: number;
  readonly workersPeak: number;
  /** Calls until everything is cleaned up; looks at empty queues are the platform's and counted apart. */
  readonly leaderCalls: CallCounts;
  readonly workerCalls: CallCounts;
  readonly emptyPolls: number;
  /** Billed calls per pack, deletes being free. */
  readonly callsPerPack: number;
  readonly dollars: number;
  readonly refused: Throttle["refused"];
  /** Packs that threads have computed, samples of the plan among them. */
  readonly computed: number;
  /** Partials written in each second since the submit. */
  readonly perSecond: readonly number[];
  /** The result, which is `[[0,chunks]]` where every chunk was folded once and in order. */
  readonly result: string;
}

export async function runScale(scale: ScaleCase): Promise<ScaleResult> {
  const { packs, packMs, chunksPerPack = 100, seed = 1 } = scale;
  const world = virtualWorld({ seed });
  const names = namesOf("scale");
  const near = memoryStorage({ clock: world.clock(), random: cheapRandom(seed) });
  await makePlaces(near, names);
  const service = throttle(scale.limits ?? azureLimits);
  const watch = runWatch(world, names);
  const { latencyMs } = scale;
  const way = { near, random: world.random, throttle: service, latencyMs, onAnswer: watch.onAnswer };
  const door = (clock = world.clock()): FarStorage => farService({ ...way, clock });

  const leader = door();
  const host = scale.apart === undefined ? door() : wokenHost(door(), scale, world, names, near);
  startLeader({ storage: leader, host, names, clock: world.clock(), random: world.random, log() {} });
  let computed = 0;
  const onPack = () => {
    computed += 1;
  };
  const { fleet, doors } = startWorkers({ ...scale, onPack }, world, names, near, door);
  await world.advance(5_000);

  const workersBefore = callsOf(doors);
  const leaderBefore = leader.meter.counts();
  const emptyBefore = watch.emptyPolls();
  const aliveBefore = fleet.instanceMs();
  const submittedMs = world.nowMs();
  await startRun(near, names, {
    ...{ chunks: packs * chunksPerPack, packSize: chunksPerPack },
    cap: scale.cap ?? engineLimits.capDefault,
    ...(scale.told && { workers: scale.told }),
  });
  const limitMs = 3_600_000 + 20 * packs * packMs;
  if (!(await world.until(() => watch.manifestMs() !== undefined, limitMs)))
    throw new Error("the run made no result");
  const wallMs = (watch.manifestMs() ?? 0) - submittedMs;
  const aliveMs = fleet.instanceMs() - aliveBefore;
  await world.until(watch.closed, 600_000);
  await cleanedUp(world, near, names);

  const leaderCalls = subtractCalls(leader.meter.counts(), leaderBefore);
  const emptyPolls = watch.emptyPolls() - emptyBefore;
  const polls: CallCounts = { write: 0, list: 0, read: 0, other: 0, queue: emptyPolls, delete: 0 };
  const workerCalls = subtractCalls(subtractCalls(callsOf(doors), workersBefore), polls);
  const calls = addCalls(leaderCalls, workerCalls);
  return {
    ...{ wallMs, leaderCalls, workerCalls, emptyPolls, computed, refused: service.refused },
    utilisation: (packs * packMs) / (aliveMs * (scale.cores ?? 1)),
    workersPeak: fleet.peak(),
    callsPerPack: (totalCalls(calls) - calls.delete) / packs,
    dollars: dollarsOf(calls),
    perSecond: watch.perSecond(submittedMs),
    result: await resultOf(near, names),
  };
}

type Scaled = Pick<ScaleCase, "workers" | "apart">;

/** How the platform scales the instances for a queue. */
function scalingOf({ workers, apart }: Scaled, queue: "wake" | "urgent" | "packs" | "both"): Scaling {
  const scaling = typeof workers === "number" ? { ...azureScaling, warm: workers } : workers;
  return queue !== "both" && apart?.ready.includes(queue) === true ? { ...scaling, alwaysReady: 1 } : scaling;
}

/**
 * The way of the wakes to the leader's process: nothing comes while no instance listens for them. While somebody leads no
 * wake is visible, so the platform drains the instance; what leads goes on in it.
 */
function wokenHost(
  storage: FarStorage,
  scale: Scaled,
  world: VirtualWorld,
  names: Names,
  near: Storage,
): FarStorage {
  let awake = 0;
  const ports = { clock: world.clock(), random: world.random };
  const look = () => lengthOf(near, [names.wake]);
  startFleet(ports, scalingOf(scale, "wake"), 1, look, () => {
    awake += 1;
    return {
      idle: () => true,
      stop() {
        awake -= 1;
      },
    };
  });
  const queues = {
    ...storage.queues,
    receive: async (...given: Parameters<Storage["queues"]["receive"]>) =>
      awake > 0 ? await storage.queues.receive(...given) : [],
  };
  return { ...storage, queues };
}

function startWorkers(
  scale: ScaleCase & { readonly onPack: () => void },
  world: VirtualWorld,
  names: Names,
  near: Storage,
  door: (clock: ReturnType<VirtualWorld["clock"]>) => FarStorage,
) {
  const { packMs, cores = 1, chunksPerPack = 100 } = scale;
  const { threads, takes } = appHost();
  const clock = world.clock();
  const { random } = world;
  const doors: FarStorage[] = [];
  const groups = scale.apart === undefined ? (["both"] as const) : (["urgent", "packs"] as const);
  const fleets = groups.map((group) => {
    const listens = group === "both" ? [names.packs, names.urgent] : [names[group]];
    const look = () => lengthOf(near, listens);
    return startFleet({ clock, random }, scalingOf(scale, group), takes, look, () => {
      const storage = door(clock);
      doors.push(storage);
      const instance = { takes, threads, cores, chunkMs: packMs / chunksPerPack, onPack: scale.onPack };
      const options = { storage, names, clock, random, ...instance, listens };
      return (scale.hosted === true ? hostedWorker : thinWorker)(options);
    });
  });
  const sum = (of: (fleet: Fleet) => number): number => fleets.reduce((total, one) => total + of(one), 0);
  const fleet = { instanceMs: () => sum((one) => one.instanceMs()), peak: () => sum((one) => one.peak()) };
  return { fleet, doors };
}

/** What the platform sees of the queues. */
async function lengthOf({ queues }: Storage, all: readonly string[]) {
  let messages = 0;
  let visible = 0;
  for (const queue of all) {
    const stats = await queues.stats(queue);
    messages += stats.kind === "found" ? stats.approximateCount : 0;
    visible += (await queues.peek(queue, 1)).length;
  }
  return { messages, visible };
}

async function cleanedUp(world: VirtualWorld, near: Storage, names: Names): Promise<void> {
  for (let spentMs = 0; spentMs < 600_000; spentMs += 1_000) {
    if ((await lengthOf(near, [names.packs, names.urgent])).messages === 0) return;
    await world.advance(1_000);
  }
  throw new Error("the queues were not emptied");
}

async function resultOf({ blobs }: Storage, names: Names): Promise<string> {
  const manifest = await blobs.read(names.results, resultBlobs(runId, runUid).manifest(1));
  if (manifest.kind === "missing") throw new Error("there is no manifest");
  const { blob } = JSON.parse(Buffer.from(manifest.body).toString()) as { blob: string };
  const result = await blobs.read(names.results, blob);
  return result.kind === "found" ? Buffer.from(result.body).toString() : "";
}

/** Message ids need only be different from one another, and there are millions. */
function cheapRandom(seed: number) {
  const { number } = seededRandom(seed);
  let count = 0;
  return { number, uuid: () => `id-${++count}` };
}
