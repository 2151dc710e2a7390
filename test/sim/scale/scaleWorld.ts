import { addCalls, type CallCounts, noCalls } from "../../../src/model/calls.ts";
import { decodeJson } from "../../../src/model/decode.ts";
import { encodeMarker } from "../../../src/model/marker.ts";
import { encodeWake } from "../../../src/model/message.ts";
import { namesOf, runBlobs, specBlob } from "../../../src/model/names.ts";
import type { Spec } from "../../../src/model/run.ts";
import { type State, stateSchema } from "../../../src/model/state.ts";
import { memoryStorage } from "../../../src/storage/memory/memoryStorage.ts";
import { virtualWorld } from "../../support/virtualClock.ts";
import { callsOf, type FarStorage, farService, type MadeCall } from "./farService.ts";
import { startLeader } from "./leader.ts";
import { azureScaling, type Scaling, startFleet } from "./platform.ts";
import { hostedWorker } from "./hostedWorker.ts";
import { thinWorker } from "./thinWorker.ts";
import { azureLimits, type ServiceLimits, throttle } from "./serviceLimits.ts";

/** One run of so many packs in virtual time, on a modelled service and platform. */
export interface ScaleCase {
  readonly packs: number;
  readonly packMs: number;
  readonly chunksPerPack?: number;
  readonly threadsEach?: number;
  /** Messages an instance takes beyond its threads, so that a thread need not wait for storage between two packs. */
  readonly ahead?: number;
  readonly scaling?: Partial<Scaling>;
  readonly limits?: ServiceLimits;
  readonly cap?: number;
  readonly seed?: number;
  /** Under the embedded host instead of the thin one. */
  readonly hosted?: boolean;
}

export interface ScaleResult {
  /** From submit until the manifest is there. */
  readonly wallMs: number;
  /** Computing time over the time that threads were there for. */
  readonly utilisation: number;
  readonly threadsPeak: number;
  readonly leaderCalls: CallCounts;
  readonly workerCalls: CallCounts;
  /** Looks at an empty queue, which are the platform's and not in `workerCalls`. */
  readonly emptyPolls: number;
  readonly refused: { readonly account: number; readonly queue: number; readonly blob: number };
  readonly state: State;
  /** Partials written in each second since the submit. */
  readonly perSecond: readonly number[];
}

export async function runScale(scale: ScaleCase): Promise<ScaleResult> {
  const { packs, packMs, chunksPerPack = 100, threadsEach = 2, ahead = 0 } = scale;
  const takes = threadsEach + ahead;
  const world = virtualWorld({ seed: scale.seed ?? 1 });
  const { random } = world;
  const near = memoryStorage({ clock: world.clock(), random });
  const names = namesOf("scale");
  for (const container of [names.coordination, names.active, names.runs, names.results])
    await near.blobs.ensureContainer(container);
  for (const queue of [names.packs, names.urgent, names.wake]) await near.queues.ensureQueue(queue);

  const limit = throttle(scale.limits ?? azureLimits);
  let emptyPolls = 0;
  let finishedMs: number | undefined;
  let closed = false;
  let submittedMs = 0;
  const perSecond: number[] = [];
  const onCall = ({ method, args, reply }: MadeCall): void => {
    if (method === "receive" && (reply as unknown[]).length === 0) emptyPolls += 1;
    if (method === "create" && String(args[1]).includes("/parts/")) {
      const second = Math.floor((world.nowMs() - submittedMs) / 1_000);
      while (perSecond.length <= second) perSecond.push(0);
      perSecond[second] = (perSecond[second] ?? 0) + 1;
    }
    if (method === "create" && String(args[1]).endsWith("manifest.json")) finishedMs ??= world.nowMs();
    if (method === "remove" && args[0] === names.active) closed = true;
  };
  const door = (clock = world.clock()): FarStorage => farService({ near, clock, random, throttle: limit, onCall });

  const leaderClock = world.clock();
  const leaderStorage = door(leaderClock);
  startLeader({ storage: leaderStorage, names, clock: leaderClock, random, log: () => {}, host: door(leaderClock) });

  const workerClock = world.clock();
  const workers: FarStorage[] = [];
  const fleet = startFleet(
    { clock: workerClock, random },
    { ...azureScaling, ...scale.scaling },
    takes,
    async () => {
      const [visible, stats] = await Promise.all([near.queues.peek(names.packs, 1), near.queues.stats(names.packs)]);
      return { visible: visible.length, messages: stats.kind === "found" ? stats.approximateCount : 0 };
    },
    () => {
      const storage = door(workerClock);
      workers.push(storage);
      return (scale.hosted ? hostedWorker : thinWorker)({
        ...{ storage, names, clock: workerClock, random, threads: threadsEach, takes },
        chunkMs: packMs / chunksPerPack,
      });
    },
  );

  await world.advance(5_000);
  const idle = callsOf(workers);
  const uid = "u1";
  const spec: Spec = {
    ...{ v: 1, run: "r", uid, calculation: "ranges", requestHash: "h" },
    ...{ params: { chunks: packs * chunksPerPack }, packSize: chunksPerPack },
  };
  submittedMs = world.nowMs();
  const leaderBefore = leaderStorage.meter.counts();
  await near.blobs.create(names.runs, specBlob("r"), JSON.stringify(spec));
  const marker = { uid, want: "run", generation: 1, cap: scale.cap ?? 2_000, turn: 0, command: 0 } as const;
  await near.blobs.create(names.active, "r", "", { metadata: encodeMarker(marker) });
  await near.queues.send(names.wake, encodeWake("client"));
  await near.queues.send(names.wake, encodeWake("client"), { visibleInS: 5 });

  const idealMs = packs * packMs;
  if (!(await world.until(() => closed, 10 * idealMs + 3_600_000))) throw new Error("the run did not end");
  const instanceMs = fleet.instanceMs();
  const found = await near.blobs.read(names.runs, runBlobs("r", uid).state);
  if (found.kind === "missing") throw new Error("the run left no state");
  const state = decodeJson(stateSchema, found.body, "state");
  void idle;
  void leaderBefore;
  void submittedMs;
  void addCalls;
  void noCalls;
  return {
    wallMs: (finishedMs ?? 0) - submittedMs,
    utilisation: (packs * packMs) / (instanceMs * threadsEach),
    threadsPeak: fleet.peak() * threadsEach,
    leaderCalls: leaderStorage.meter.counts(),
    workerCalls: callsOf(workers),
    emptyPolls,
    refused: limit.refused,
    state,
    perSecond,
  };
}
