import { type CallCounts, subtractCalls } from "../../../src/model/calls.ts";
import { namesOf } from "../../../src/model/names.ts";
import { memoryStorage } from "../../../src/storage/memory/memoryStorage.ts";
import { virtualWorld } from "../../support/virtualClock.ts";
import { farService } from "./farService.ts";
import { startLeader } from "./leader.ts";
import { noLimits, throttle } from "./serviceLimits.ts";
import { makePlaces } from "./startRun.ts";

/**
 * The calls of one hour in which an instance ticks each minute and there is nothing to lead; the first hour is left
 * out, because it makes what later ones find. What the platform itself calls to look at its queues is not among them.
 */
export async function idleHour(): Promise<CallCounts> {
  const world = virtualWorld();
  const { random } = world;
  const names = namesOf("idle");
  const near = memoryStorage({ clock: world.clock(), random });
  await makePlaces(near, names);
  const clock = world.clock();
  const storage = farService({ near, clock, random, throttle: throttle(noLimits) });
  startLeader({ storage, host: near, names, clock, random, log() {} });
  await world.advance(3_600_000);
  const before = storage.meter.counts();
  await world.advance(3_600_000);
  return subtractCalls(storage.meter.counts(), before);
}
