import { type CallCounts, subtractCalls, totalCalls } from "../../../src/model/calls.ts";
import { limits } from "../../../src/model/limits.ts";
import { namesOf } from "../../../src/model/names.ts";
import { shardSizeFor } from "../../../src/model/packs.ts";
import { memoryStorage } from "../../../src/storage/memory/memoryStorage.ts";
import type { Storage } from "../../../src/storage/ports.ts";
import { virtualWorld } from "../../support/virtualClock.ts";
import { farService } from "./farService.ts";
import { startLeader } from "./leader.ts";
import { type LeaderFigures, leaderWatch } from "./leaderWatch.ts";
import { withOrderlyRun } from "./orderlyRun.ts";
import { noLimits, throttle } from "./serviceLimits.ts";
import { makePlaces, runId, runUid, startRun } from "./startRun.ts";

export interface LeadingResult extends LeaderFigures {
  /** From the submit until the marker is gone. */
  readonly wallMs: number;
  /** The leader's calls but for the puts of work, which grow with the packs and not with time. */
  readonly calls: CallCounts;
  readonly callsPerMinute: number;
  readonly stateBytesPerShard: number;
  /** CPU time of each loop beside its sends, in ms; only measured where `cpuMs` was given. */
  readonly ownCpuMs: readonly number[];
}

/** The real coordinator alone, over a run of which the rest is worked out. */
export async function runLeading(options: {
  readonly packs: number;
  readonly packMs: number;
  readonly perS: number;
  /** CPU time of this process so far. */
  readonly cpuMs?: () => number;
}): Promise<LeadingResult> {
  const { packs, packMs, perS, cpuMs = () => 0 } = options;
  const world = virtualWorld();
  const { random } = world;
  const names = namesOf("leading");
  const near = memoryStorage({ clock: world.clock(), random });
  await makePlaces(near, names);
  const run = { id: runId, uid: runUid, packs, packMs, perS };
  const clock = world.clock();

  const cpu = ownCpu(cpuMs);
  const watch = leaderWatch(names, cpu.nextLoop);
  let closed = false;
  const storage = farService({
    near: withOrderlyRun(near, names, world.clock(), run),
    ...{ clock, random, throttle: throttle(noLimits) },
    onCall(call) {
      watch.onCall(call);
      if (call.method === "remove" && call.args[0] === names.active) closed = true;
    },
  });
  startLeader({ storage: cpu.apartFromSends(storage), names, clock, random, log: () => {}, host: near });
  await startRun(near, names, { chunks: packs, packSize: 1, cap: Math.max(limits.capDefault, 10 * perS) });
  const startedMs = world.nowMs();
  if (!(await world.until(() => closed, 4 * packMs + (4_000 * packs) / perS + 600_000)))
    throw new Error("the run did not end");
  const wallMs = world.nowMs() - startedMs;
  clock.crash();

  const { figures } = watch;
  const puts = figures.sends + figures.cleanUps;
  const calls = subtractCalls(storage.meter.counts(), { ...noPuts, queue: puts });
  const shards = Math.ceil(packs / shardSizeFor(packs));
  return {
    ...figures,
    ...{ wallMs, calls, ownCpuMs: cpu.loops },
    callsPerMinute: totalCalls(calls) / (wallMs / 60_000),
    stateBytesPerShard: figures.stateBytesMax / shards,
  };
}

const noPuts: CallCounts = { write: 0, list: 0, read: 0, other: 0, queue: 0, delete: 0 };

/** Adds up the CPU time of each loop while no send is under way. */
function ownCpu(cpuMs: () => number) {
  const loops: number[] = [];
  let sinceMs = cpuMs();
  let ownMs = 0;
  let sending = 0;
  const stop = (): void => {
    ownMs += cpuMs() - sinceMs;
  };
  return {
    loops,
    nextLoop(): void {
      if (sending > 0) return;
      stop();
      loops.push(ownMs);
      ownMs = 0;
      sinceMs = cpuMs();
    },
    apartFromSends: (storage: Storage): Storage => ({
      ...storage,
      queues: {
        ...storage.queues,
        async send(...args) {
          if (sending === 0) stop();
          sending += 1;
          try {
            return await storage.queues.send(...args);
          } finally {
            sending -= 1;
            if (sending === 0) sinceMs = cpuMs();
          }
        },
      },
    }),
  };
}
