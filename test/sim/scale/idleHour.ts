import { type CallCounts, subtractCalls } from "../../../src/engine/model/calls.ts";
import { containersOf, namesOf, queuesOf } from "../../../src/engine/model/names.ts";
import { createOnDemand } from "../../../src/engine/storage/createOnDemand.ts";
import { memoryStorage } from "../../../src/engine/storage/memory/memoryStorage.ts";
import { virtualWorld } from "../../support/virtualClock.ts";
import { farService } from "./farService.ts";
import { freshCoordinator } from "./leader.ts";
import { noLimits, throttle } from "./serviceLimits.ts";

/**
 * The calls of one hour in which there is nothing to lead and each minute's tick meets a fresh process, as it may on
 * Flex Consumption. The first hour is left out: it begins on an empty account and makes what later ones find. What the
 * platform itself calls to poll its queues is not among them.
 */
export async function idleHour(): Promise<CallCounts> {
  const world = virtualWorld();
  const { random } = world;
  const names = namesOf("idle");
  const near = memoryStorage({ clock: world.clock(), random });
  const clock = world.clock();
  const far = farService({ near, clock, random, throttle: throttle(noLimits) });
  const storage = createOnDemand(far, { containers: containersOf(names), queues: queuesOf(names) });
  const hour = async (): Promise<void> => {
    for (let minute = 0; minute < 60; minute += 1) {
      const { tick } = freshCoordinator({ storage, names, clock, random, log() {} });
      const ticked = await world.finish(
        tick({ startedBy: "tick", startedAtMonotonicMs: clock.monotonicMs() }),
      );
      if (ticked.kind !== "nothingToLead") throw new Error(`the tick ended as ${ticked.kind}`);
      await world.advance(60_000);
    }
  };
  await hour();
  const before = far.meter.counts();
  await hour();
  return subtractCalls(far.meter.counts(), before);
}
