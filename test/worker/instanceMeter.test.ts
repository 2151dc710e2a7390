import { expect, it } from "vitest";
import { callsFor } from "../../src/engine/storage/calls.ts";
import { instanceMeter } from "../../src/engine/worker/instanceMeter.ts";

/** A meter of an instance of 2,048 MB, and executions that begin and end when told. */
function metered(memoryMb = 2_048) {
  let nowMs = 5_000;
  const meter = instanceMeter({ monotonicMs: () => nowMs }, memoryMb);
  return {
    pass(ms: number): void {
      nowMs += ms;
    },
    /** Begins an execution; gives what ends it. */
    begin(uid: string): () => Promise<void> {
      const gate = Promise.withResolvers<void>();
      const done = meter.during(uid, () => gate.promise);
      return () => {
        gate.resolve();
        return done;
      };
    },
    /** Seconds of the instance, and executions, that a run has not told of. */
    take(uid: string): readonly [seconds: number, executions: number] {
      const { mbMs, executions } = callsFor(uid, meter.take);
      return [mbMs / memoryMb / 1_000, executions];
    },
  };
}

it("an execution is billed for its time in steps of 100 ms, and at least a second", async () => {
  const { pass, begin, take } = metered();
  const end = begin("a");
  expect(take("a")).toEqual([1, 1]);
  pass(1_000);
  expect(take("a")).toEqual([0, 0]);
  pass(10);
  expect(take("a")).toEqual([0.1, 0]);
  pass(2_500);
  await end();
  expect(take("a")).toEqual([2.5, 0]);
});

it("executions at the same time share the instance, so no moment is counted twice", async () => {
  const { pass, begin, take } = metered();
  const ends = [begin("a"), begin("b"), begin("b")];
  pass(4_000);
  for (const end of ends) await end();
  const [a, b] = [take("a"), take("b")];
  expect(a[0] + b[0]).toBeCloseTo(4, 3);
  // The first second was billed to the run that woke the instance.
  expect(a).toEqual([2, 1]);
  expect(b).toEqual([2, 2]);
});

it("an instance at rest costs nothing, and an execution within a second that is billed begins no other one", async () => {
  const { pass, begin, take } = metered();
  await begin("a")();
  pass(400);
  await begin("a")();
  expect(take("a")).toEqual([1, 2]);
  pass(60_000);
  expect(take("a")).toEqual([0, 0]);
  await begin("a")();
  expect(take("a")).toEqual([1, 1]);
});

it("half the memory is half the use", async () => {
  const { pass, begin } = metered();
  const meter = instanceMeter({ monotonicMs: () => 0 }, 1_024);
  await meter.during("a", async () => pass(0));
  expect(callsFor("a", meter.take)).toEqual({ mbMs: 1_024_000, executions: 1 });
  await begin("a")();
});

it("a run whose handling throws has used its instance all the same", async () => {
  let nowMs = 0;
  const meter = instanceMeter({ monotonicMs: () => nowMs }, 1_000);
  const failing = meter.during("a", async () => {
    nowMs = 3_000;
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(callsFor("a", meter.take)).toEqual({ mbMs: 3_000_000, executions: 1 });
});
