import { expect, it } from "vitest";
import type { TypedData } from "../../../../src/host/coreModule.ts";
import { parseSchedule, startTimer } from "../../../../src/host/timerTrigger.ts";
import { type ManualClock, manualClock } from "./manualClock.ts";

function timer(clock: ManualClock, schedule: string, takesMs = 0) {
  const firedMs: number[] = [];
  const inputs: unknown[] = [];
  const listener = startTimer({
    schedule: parseSchedule(schedule),
    clock,
    async invoke(input: TypedData) {
      firedMs.push(clock.monotonicMs());
      inputs.push(JSON.parse(input.json ?? "null"));
      if (takesMs > 0) await clock.sleep(takesMs);
    },
  });
  return { firedMs, inputs, listener };
}

it("fires at each occurrence", async () => {
  const clock = manualClock();
  const { firedMs } = timer(clock, "*/2 * * * * *");
  await clock.advance(7_000);
  expect(firedMs).toEqual([2_000, 4_000, 6_000]);
});

it("never overlaps itself, and occurrences missed collapse into one that follows at once", async () => {
  const clock = manualClock();
  const { firedMs } = timer(clock, "* * * * * *", 3_500);
  await clock.advance(10_000);
  expect(firedMs).toEqual([1_000, 4_500, 8_000]);
});

it("gives no schedule status, as the real host does to a timer without a monitor", async () => {
  const clock = manualClock();
  const { inputs } = timer(clock, "0 * * * * *");
  await clock.advance(60_000);
  expect(inputs).toEqual([{ Schedule: { AdjustForDST: true }, ScheduleStatus: null, IsPastDue: false }]);
});

it("fires no more after a stop, which waits for the running invocation", async () => {
  const clock = manualClock();
  const { firedMs, listener } = timer(clock, "* * * * * *", 5_000);
  await clock.advance(1_500);
  let stopped = false;
  const stopping = listener.stop().then(() => {
    stopped = true;
  });
  await clock.advance(4_000);
  expect(stopped).toBe(false);
  await clock.advance(600);
  await stopping;
  await clock.advance(10_000);
  expect(firedMs).toEqual([1_000]);
});
