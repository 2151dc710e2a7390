import { expect, test } from "vitest";
import { makeIdleWatch } from "../../local/supervision.ts";
import { manualClock } from "./manualClock.ts";

function watched(idleMs: number) {
  const clock = manualClock();
  let idleAtMs: number | undefined;
  const watch = makeIdleWatch(idleMs, clock, () => (idleAtMs ??= clock.monotonicMs()));
  const startMs = clock.monotonicMs();
  let runs = 0;
  return {
    watch,
    idleAfterMs: () => (idleAtMs === undefined ? undefined : idleAtMs - startMs),
    advance: (ms: number) => clock.advance(ms),
    async ran(name: string, ms: number) {
      runs += 1;
      watch.started(`${runs}`);
      await clock.advance(ms);
      watch.ended(`${runs}`, name, ms);
    },
  };
}

test("a member without any work is idle after its time", async () => {
  const { advance, idleAfterMs } = watched(60_000);
  await advance(59_999);
  expect(idleAfterMs()).toBeUndefined();
  await advance(1);
  expect(idleAfterMs()).toBe(60_000);
});

test("the time begins anew with each end of work, and not while any runs", async () => {
  const { advance, idleAfterMs, ran, watch } = watched(60_000);
  watch.started("long");
  await ran("worker", 100_000);
  await advance(100_000);
  expect(idleAfterMs()).toBeUndefined();
  watch.ended("long", "workerUrgent", 200_000);
  await advance(60_000);
  expect(idleAfterMs()).toBe(260_000);
});

test("ticks that find nothing to lead are no work, and one that leads is", async () => {
  const ticking = watched(60_000);
  for (let tick = 0; tick < 7; tick += 1) {
    await ticking.ran("coordinator", 100);
    await ticking.advance(9_900);
  }
  expect(ticking.idleAfterMs()).toBe(60_000);
  const leading = watched(60_000);
  await leading.ran("wake", 90_000);
  await leading.advance(59_999);
  expect(leading.idleAfterMs()).toBeUndefined();
  await leading.advance(1);
  expect(leading.idleAfterMs()).toBe(150_000);
});

test("what ran in a process that has ended was work until then, and one that is stopped is never idle", async () => {
  const { advance, idleAfterMs, watch } = watched(60_000);
  watch.started("killed");
  await advance(100_000);
  watch.exited();
  await advance(60_000);
  expect(idleAfterMs()).toBe(160_000);
  const stopped = watched(1_000);
  stopped.watch.clear();
  await stopped.advance(5_000);
  expect(stopped.idleAfterMs()).toBeUndefined();
});
