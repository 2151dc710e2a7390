import { expect, test } from "vitest";
import { fastTakeover } from "../../src/election/settings.ts";
import type { LeaseStore } from "../../src/engine/storage/ports.ts";
import type { VirtualClock } from "../support/virtualClock.ts";
import { contenders } from "./contenders.ts";
import { faultyLease, type LeaseOp, noAnswer } from "./faultyLease.ts";

const fast = { ...fastTakeover, watching: true };

/** Every call takes 9 ms. */
const far = (lease: LeaseStore, clock: VirtualClock): LeaseStore =>
  new Proxy(lease, {
    get(target, name) {
      const call: unknown = Reflect.get(target, name);
      if (typeof call !== "function") return call;
      return async (...given: unknown[]) => {
        await clock.sleep(9);
        return Reflect.apply(call, target, given);
      };
    },
  });

/** A leader that writes heartbeats, and a challenger whose calls of the lease are counted. */
async function leaderAndChallenger() {
  const arena = contenders({ settings: fast });
  const one = arena.contender("node-1");
  void one.race();
  await arena.world.advance(5_000);
  const ops: LeaseOp[] = [];
  const between = (lease: Parameters<typeof faultyLease>[0]) =>
    faultyLease(
      lease,
      () => "none",
      (op) => ops.push(op),
    );
  const two = contenders({ on: arena, settings: fast, between }).contender("node-2");
  void two.race();
  await arena.world.advance(1_000);
  return { arena, one, two, ops };
}

test("with fast settings and calls of 9 ms a leader of three that died is replaced within 2.6 s, at any moment of a second", async () => {
  const milliseconds: number[] = [];
  for (let seed = 1; seed <= 200; seed += 1) {
    const arena = contenders({ seed, settings: fast, between: (lease, _holder, clock) => far(lease, clock) });
    const all = ["node-1", "node-2", "node-3"].map((holder) => arena.contender(holder));
    for (const one of all) void one.race({ worthLeading: () => one.clock.sleep(9).then(() => true) });
    await arena.world.advance(4_000 + seed * 97);
    const [leader] = all.filter(({ leadership }) => leadership !== undefined);
    leader?.clock.crash();
    const diedMs = arena.world.nowMs();
    const led = () => all.some((one) => one !== leader && one.leadership !== undefined);
    expect(await arena.world.until(led, 20_000)).toBe(true);
    milliseconds.push(arena.world.nowMs() - diedMs);
  }
  milliseconds.sort((a, b) => a - b);
  expect(milliseconds[100]).toBeLessThan(2_100);
  expect(milliseconds[197]).toBeLessThan(2_400);
  expect(milliseconds[199]).toBeLessThan(2_600);
  // The leader's own deadline, less a heartbeat and what follows the death in flight.
  expect(milliseconds[0]).toBeGreaterThan(1_500);
});

test("a challenger that was stopped itself never takes its own sleep for the leader's silence", async () => {
  const { arena, one, two, ops } = await leaderAndChallenger();
  for (let count = 0; count < 50; count += 1) {
    two.clock.pause();
    await arena.world.advance(300 + count * 211);
    two.clock.resume();
    await arena.world.advance(130 + count * 17);
  }
  expect(one.leadership?.term).toBe(1);
  expect(new Set(ops)).toEqual(new Set(["view"]));
});

test("a challenger whose clock was set does not take the step for the leader's silence", async () => {
  const { arena, one, two, ops } = await leaderAndChallenger();
  // Between two polls of the same heartbeat, at many moments of it.
  for (let count = 0; count < 60; count += 1) {
    two.clock.jumpWall(count % 2 === 0 ? 3_600_000 : -3_600_000);
    await arena.world.advance(1_000 + count * 37);
  }
  expect(one.leadership?.term).toBe(1);
  expect(new Set(ops)).toEqual(new Set(["view"]));
});

test("a poll without an answer says nothing about the leader", async () => {
  const arena = contenders({ settings: fast });
  const one = arena.contender("node-1");
  void one.race();
  await arena.world.advance(5_000);
  let deaf = false;
  const ops: LeaseOp[] = [];
  const between = (lease: Parameters<typeof faultyLease>[0]) => {
    const counted = faultyLease(
      lease,
      () => "none",
      (op) => ops.push(op),
    );
    return { ...counted, view: () => (deaf ? Promise.reject(noAnswer()) : counted.view()) };
  };
  void contenders({ on: arena, settings: fast, between }).contender("node-2").race();
  for (let count = 0; count < 20; count += 1) {
    deaf = !deaf;
    await arena.world.advance(deaf ? 4_000 : 700);
  }
  expect(one.leadership?.term).toBe(1);
  expect(new Set(ops)).toEqual(new Set(["view"]));
});

test("a slow first poll counts from its answer, not from when it was sent", async () => {
  const arena = contenders({ settings: fast });
  const one = arena.contender("node-1");
  void one.race();
  await arena.world.advance(5_000);
  // Its request takes 1.9 s to storage, and the leader writes heartbeats meanwhile.
  let first = true;
  const two = contenders({
    on: arena,
    settings: fast,
    between: (lease, _holder, clock) => ({
      ...lease,
      view: async (options) => {
        if (first) await clock.sleep(1_900);
        first = false;
        return lease.view(options);
      },
    }),
  }).contender("node-2");
  void two.race();
  await arena.world.advance(1_890);
  one.clock.pause();
  const leadership = one.leadership;
  expect(await arena.world.until(() => two.events.includes("acquired"), 20_000)).toBe(true);
  // Looking at the paused leader's clocks runs none of its timers.
  expect(leadership?.remainingMs()).toBe(0);
});
