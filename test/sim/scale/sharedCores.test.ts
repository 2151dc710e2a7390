import { expect, test } from "vitest";
import { sharedCores } from "../../support/sharedCores.ts";
import { virtualWorld } from "../../support/virtualClock.ts";

/** When each job of so much core time ends that begins at such a moment. */
async function endsOf(cores: number, jobs: readonly (readonly [startMs: number, workMs: number])[]) {
  const world = virtualWorld();
  const clock = world.clock();
  const shared = sharedCores(clock, cores);
  const ends = await world.finish(
    Promise.all(
      jobs.map(async ([startMs, workMs]) => {
        if (startMs > 0) await clock.sleep(startMs);
        await shared.work(workMs);
        return Math.round(world.nowMs());
      }),
    ),
  );
  return ends;
}

test("one thread has the whole core", async () => {
  expect(await endsOf(1, [[0, 1_000]])).toEqual([1_000]);
});

test("two threads take twice as long on one core, and their own time on two", async () => {
  const both = [
    [0, 1_000],
    [0, 1_000],
  ] as const;
  expect(await endsOf(1, both)).toEqual([2_000, 2_000]);
  expect(await endsOf(2, both)).toEqual([1_000, 1_000]);
});

test("a thread has the core to itself before another begins and after it has ended", async () => {
  // 500 ms alone, 400 ms of each in 800 ms together, then 300 ms alone again.
  expect(
    await endsOf(1, [
      [0, 1_200],
      [500, 400],
    ]),
  ).toEqual([1_600, 1_300]);
});
