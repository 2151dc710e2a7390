import { expect, it } from "vitest";
import { addCalls, calls } from "../../src/engine/model/calls.ts";
import { callMeter, callsFor } from "../../src/engine/storage/calls.ts";

it("calls of runs that work side by side are counted apart, and those for nobody go with the next that are taken", async () => {
  const meter = callMeter();
  meter.count("list");
  const turn = Promise.withResolvers<void>();
  const taken = await Promise.all([
    callsFor("a", async () => {
      meter.count("read");
      await turn.promise;
      meter.count("write");
      return [meter.take(), meter.take()];
    }),
    callsFor("b", async () => {
      meter.count("queue");
      await callsFor(undefined, async () => meter.count("other"));
      const took = [meter.take(), meter.take()];
      turn.resolve();
      return took;
    }),
  ]);
  expect(taken).toEqual([
    [calls({ read: 1, write: 1 }), calls({})],
    [calls({ list: 1, queue: 1, other: 1 }), calls({})],
  ]);
  expect(meter.counts()).toEqual(taken.flat().reduce(addCalls));
});

it("the calls of runs that nobody takes any more are not kept for ever, and are not lost", () => {
  const meter = callMeter();
  for (let run = 0; run < 1_000; run += 1) callsFor(`r-${run}`, () => meter.count("read"));
  const [last, first] = ["r-999", "r-0"].map((run) => callsFor(run, () => meter.take().read));
  expect(first).toBe(0);
  expect(last).toBeGreaterThan(800);
});
