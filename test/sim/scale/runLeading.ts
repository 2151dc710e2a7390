import { type CallCounts, noCalls, subtractCalls, totalCalls } from "../../../src/engine/model/calls.ts";
import { limits } from "../../../src/engine/model/limits.ts";
import { namesOf } from "../../../src/engine/model/names.ts";
import { memoryStorage } from "../../../src/engine/storage/memory/memoryStorage.ts";
import type { Storage } from "../../../src/engine/storage/ports.ts";
import { virtualWorld } from "../../support/virtualClock.ts";
import { farService } from "./farService.ts";
import { startLeader } from "./leader.ts";
import { type LeaderFigures, leaderWatch } from "./leaderWatch.ts";
import { withOrderlyRun } from "./orderlyRun.ts";
import { noLimits, throttle } from "./serviceLimits.ts";
import { makePlaces, runUid, startRun } from "./startRun.ts";

export interface LeadingCase {
  readonly packs: number;
  readonly packMs: number;
  /** Packs that the workers of a run finish in a second. */
  readonly perS: number;
  /** Equal runs at the same time. Default one. */
  readonly runs?: number;
}

export interface LeadingResult extends LeaderFigures {
  /** From the submit until all markers are gone. */
  readonly wallMs: number;
  /** The leader's calls but for the puts of work, which grow with the packs and not with time. */
  readonly calls: CallCounts;
  readonly callsPerMinute: number;
  /** Messages of work put per second, over the second half of them. */
  readonly sendsPerS: number;
}

/** The real coordinator alone, over runs of which all the rest is worked out. */
export async function runLeading(leading: LeadingCase): Promise<LeadingResult> {
  const { packs, packMs, perS, runs = 1 } = leading;
  const world = virtualWorld();
  const { random } = world;
  const names = namesOf("leading");
  const near = memoryStorage({ clock: world.clock(), random });
  await makePlaces(near, names);
  const ids = Array.from({ length: runs }, (_, place) => `r${place}`);
  const orderly = ids.reduce<Storage>(
    (storage, id) => withOrderlyRun(storage, names, world.clock(), { id, uid: runUid, packs, packMs, perS }),
    near,
  );

  const watch = leaderWatch(names);
  const clock = world.clock();
  let left = runs;
  let halfMs = 0;
  let lastMs = 0;
  const storage = farService({
    ...{ near: orderly, clock, random, throttle: throttle(noLimits) },
    onCall(call) {
      const { sends } = watch.figures;
      watch.onCall(call);
      if (watch.figures.sends > sends) lastMs = world.nowMs();
      if (watch.figures.sends <= (packs * runs) / 2) halfMs = lastMs;
    },
    onAnswer({ method, args }) {
      if (method === "remove" && args[0] === names.active) left -= 1;
    },
  });
  startLeader({ storage, host: near, names, clock, random, log() {} });
  const cap = Math.max(limits.capDefault, 10 * perS);
  for (const id of ids) await startRun(near, names, { chunks: packs, packSize: 1, cap }, id);
  const startedMs = world.nowMs();
  const limitMs = 600_000 + 4 * packMs + (4_000 * packs * runs) / Math.min(perS, 500);
  if (!(await world.until(() => left === 0, limitMs))) throw new Error(`${left} runs did not end`);
  const wallMs = world.nowMs() - startedMs;
  clock.crash();

  const { figures } = watch;
  const puts = { ...noCalls, queue: figures.sends + figures.cleanUps };
  const calls = subtractCalls(storage.meter.counts(), puts);
  return {
    ...figures,
    ...{ wallMs, calls },
    callsPerMinute: totalCalls(calls) / (wallMs / 60_000),
    sendsPerS: (figures.sends - (packs * runs) / 2) / ((lastMs - halfMs) / 1_000),
  };
}
