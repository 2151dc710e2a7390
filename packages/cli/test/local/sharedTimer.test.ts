import { describe, expect, test } from "vitest";
import type { Clock } from "../../../../src/engine/storage/ports.ts";
import { type Listener, parseSchedule, startTimer } from "../../../../src/host/timerTrigger.ts";
import { registeredFunctions } from "../../../../test/functions/hostWorld.ts";
import { platformTimer } from "../../../../test/support/platformTimer.ts";
import { type VirtualClock, type VirtualWorld, virtualWorld } from "../../../../test/support/virtualClock.ts";

const minuteMs = 60_000;
interface Fired {
  readonly atS: number;
  readonly pastDue: boolean;
}

/** An app whose instances share a timer, each minute unless told otherwise. */
function app(world: VirtualWorld, { schedule = "0 * * * * *", takesMs = 0 } = {}) {
  const store = platformTimer(world.clock());
  const fired: Fired[] = [];
  return {
    fired,
    start(clock: VirtualClock, monitor: boolean): Listener {
      return startTimer({
        ...{ schedule: parseSchedule(schedule), clock, monitor, store: store(clock as Clock) },
        async invoke(input) {
          const { IsPastDue } = JSON.parse(input.json ?? "") as { IsPastDue: boolean };
          fired.push({ atS: world.nowMs() / 1_000, pastDue: IsPastDue });
          if (takesMs > 0) await clock.sleep(takesMs);
        },
      });
    },
  };
}

describe("a timer on instances that come a second late and go after half a minute, as on Flex Consumption", () => {
  const ticksOf = async (monitor: boolean): Promise<readonly Fired[]> => {
    const world = virtualWorld();
    const { fired, start } = app(world);
    for (let minute = 0; minute < 10; minute += 1) {
      await world.advance(1_000);
      const listener = start(world.clock(), monitor);
      await world.advance(30_000);
      await world.finish(listener.stop());
      await world.advance(minuteMs - 31_000);
    }
    return fired;
  };
  test("never fires without a monitor, because each instance waits for the next minute", async () => {
    expect(await ticksOf(false)).toEqual([]);
  });
  test("fires at once with one, as past due", async () => {
    const fired = await ticksOf(true);
    expect(fired).toHaveLength(9);
    expect(fired.every(({ atS, pastDue }) => pastDue && atS % 60 === 1)).toBe(true);
  });
});

test("one instance of an app ticks; another does when the lease of a killed one has run out, and the missed tick follows", async () => {
  const world = virtualWorld();
  const { fired, start } = app(world);
  const first = world.clock();
  start(first, true);
  await world.advance(5_000);
  start(world.clock(), true);
  await world.advance(2 * minuteMs);
  expect(fired.map(({ atS }) => atS)).toEqual([60, 120]);
  first.crash();
  await world.advance(3 * minuteMs);
  const [next] = fired.slice(2);
  // Killed at 125 s, its lease runs out at 180 s; the other asks at 185 s.
  expect(next).toEqual({ atS: 185, pastDue: true });
});

test("an instance that stops lets the timer go only when its invocation has ended", async () => {
  const world = virtualWorld();
  const { fired, start } = app(world, { takesMs: 150_000 });
  const listener = start(world.clock(), true);
  await world.advance(minuteMs + 1_000);
  const stopping = listener.stop();
  start(world.clock(), true);
  await world.advance(4 * minuteMs);
  await stopping;
  // The first leads until 210 s; the second asks at 61, 121, 181 and 241 s.
  expect(fired.map(({ atS }) => atS)).toEqual([60, 241]);
});

test("a schedule that fires twice a minute has no status and is never past due", async () => {
  const world = virtualWorld();
  const { fired, start } = app(world, { schedule: "*/20 * * * * *" });
  await world.finish(start(world.clock(), true).stop());
  await world.advance(50_000);
  start(world.clock(), true);
  await world.advance(15_000);
  expect(fired).toEqual([{ atS: 60, pastDue: false }]);
});

test("the app's timer has a monitor", async () => {
  const { functions } = await registeredFunctions();
  const coordinator = [...functions.values()].find(({ metadata }) => metadata.name === "coordinator");
  const binding = Object.values(coordinator?.metadata.bindings ?? {}).find(
    ({ type }) => type === "timerTrigger",
  );
  expect(binding).toMatchObject({ useMonitor: true, schedule: "%LEASEFOLD_SCHEDULE%" });
});
