import { expect, test } from "vitest";
import type { LeaseStore } from "../../src/engine/storage/ports.ts";
import type { VirtualClock } from "../support/virtualClock.ts";
import { contenders } from "./contenders.ts";

/** Every call takes this long, so that a time tells how many calls follow each other. */
const roundTripMs = 100;
const slowly = (lease: LeaseStore, _holder: string, clock: VirtualClock): LeaseStore => {
  const after = async <T>(call: () => Promise<T>): Promise<T> => {
    await clock.sleep(roundTripMs);
    return call();
  };
  return {
    ensure: (options) => after(() => lease.ensure(options)),
    view: (options) => after(() => lease.view(options)),
    acquire: (id, durationS, options) => after(() => lease.acquire(id, durationS, options)),
    renew: (id, options) => after(() => lease.renew(id, options)),
    release: (id, options) => after(() => lease.release(id, options)),
    breakNow: (options) => after(() => lease.breakNow(options)),
    writeRecord: (id, metadata, options) => after(() => lease.writeRecord(id, metadata, options)),
  };
};

test("a leader that is asked to stop lets go after two round trips, and a successor leads after four of its own", async () => {
  const arena = contenders({ between: slowly });
  const one = arena.contender("node-1");
  const stopping = new AbortController();
  const led = one.race({ stopping: stopping.signal });
  await arena.world.advance(5_750);
  const askedMs = arena.world.nowMs();
  stopping.abort();
  expect(await arena.world.finish(led)).toMatchObject({ kind: "led", handedOver: true });
  const freeMs = arena.world.nowMs();
  expect(Math.round((freeMs - askedMs) / roundTripMs)).toBe(2);

  const two = arena.contender("node-2");
  void two.race({
    worthLeading: async () => {
      await two.clock.sleep(roundTripMs);
      return true;
    },
  });
  await arena.world.until(() => two.leadership !== undefined, 10_000);
  expect(Math.round((arena.world.nowMs() - freeMs) / roundTripMs)).toBe(4);
});

test("a contender that is told to polls at once instead of after its pause, and once for each time", async () => {
  const arena = contenders({ settings: { watching: true, pollEveryMs: 2_000 } });
  const one = arena.contender("node-1");
  const stopping = new AbortController();
  const led = one.race({ stopping: stopping.signal });
  await arena.world.advance(2_000);
  let polls = 0;
  const between = (lease: LeaseStore): LeaseStore => ({
    ...lease,
    view: (options) => {
      polls += 1;
      return lease.view(options);
    },
  });
  let told = new AbortController();
  const pollNow = (): AbortSignal => {
    const { signal } = told;
    if (signal.aborted) told = new AbortController();
    return signal;
  };
  const two = contenders({ on: arena, settings: { watching: true, pollEveryMs: 2_000 }, between }).contender(
    "node-2",
  );
  void two.race({ pollNow });
  await arena.world.advance(1_000);
  stopping.abort();
  await arena.world.finish(led);
  const [freeMs, before] = [arena.world.nowMs(), polls];
  told.abort();
  expect(await arena.world.until(() => two.leadership !== undefined, 5_000)).toBe(true);
  expect(arena.world.nowMs() - freeMs).toBeLessThan(10);
  expect(polls - before).toBe(1);
});
