import type { Random } from "../../../src/engine/storage/ports.ts";
import { simNames as names } from "../../support/engineWorld.ts";
import type { FarCall } from "../../support/farStorage.ts";
import type { Fate, Weather } from "../../support/network.ts";
import type { VirtualWorld } from "../../support/virtualClock.ts";

/** The network of a whole world: some trouble all the time, and at times the service refuses most of what it is asked. */
export interface Storm extends Weather<FarCall> {
  calm: boolean;
  /** Share of calls that the service refuses as too many. */
  throttled: number;
  /** Calls about the lease get no answer. */
  leaseCut: boolean;
  /** Share of the heartbeats of workers that are late or lost, or whose process is stopped with them for 20 s. */
  oddHeartbeats: number;
}

/** Dying and stopping in the middle of a call strike through `mishaps`; here only the way is bad. */
const troubles: readonly Fate[] = [
  "lost request",
  "lost reply",
  "lost reply",
  "refused",
  "late",
  "very late",
  "slow reply",
  "twice",
  "hangs",
  "hangs after",
  "dies after",
  "stops before",
  "stops after",
];

/** What everything else stands on meets trouble more often than the rest. */
const isStateWrite = ({ op, args }: FarCall): boolean =>
  op === "blobs.replace" && String(args[1]).endsWith("state.json");

/** A worker tells what it computes. */
export const isHeartbeat = ({ args }: FarCall): boolean =>
  args[0] === names.coordination && String(args[1]).startsWith("workers/");

export const oddHeartbeats: readonly Fate[] = [
  "lost request",
  "refused",
  "late",
  "very late",
  "hangs",
  "stops before",
];

export function storm({ random }: VirtualWorld, trouble: number): Storm {
  const self: Storm = {
    calm: false,
    throttled: 0,
    leaseCut: false,
    oddHeartbeats: 0,
    delays: { veryLate: minutes, stop: minutes },
    fateOf(call): Fate {
      if (self.calm) return "arrives";
      if (self.leaseCut && call.op.startsWith("lease.")) return "hangs";
      if (self.oddHeartbeats > 0 && isHeartbeat(call) && random.number() < self.oddHeartbeats)
        return oddHeartbeats[Math.floor(random.number() * oddHeartbeats.length)] ?? "arrives";
      if (self.throttled > 0 && random.number() < self.throttled) return "refused";
      const often = isStateWrite(call) ? 5 * trouble : trouble;
      if (random.number() >= often) return "arrives";
      const fate = troubles[Math.floor(random.number() * troubles.length)] ?? "arrives";
      const drastic = fate.startsWith("stops") || fate.startsWith("dies");
      return drastic && random.number() < 0.8 ? "arrives" : fate;
    },
  };
  return self;
}

/** What was sent or begun under one leader may go on under the next but one. */
const minutes = (random: Random): number => 1_000 + random.number() * random.number() * 240_000;
