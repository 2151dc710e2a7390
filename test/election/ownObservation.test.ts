import { expect, test } from "vitest";
import { fastTakeover } from "../../src/election/settings.ts";
import { contenders } from "./contenders.ts";
import { faultyLease, type LeaseOp, noAnswer } from "./faultyLease.ts";

const fast = { ...fastTakeover, watching: true };

/** A leader that beats, and a challenger whose calls of the lease are counted. */
async function leaderAndChallenger(seed = 1) {
  const arena = contenders({ seed, settings: fast });
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

test("a watching challenger with fast settings replaces a leader that died within 2.6 s, at any moment of a second", async () => {
  const seconds: number[] = [];
  for (let seed = 1; seed <= 100; seed += 1) {
    const { arena, one, two } = await leaderAndChallenger(seed);
    await arena.world.advance(seed * 97);
    one.clock.crash();
    const died = arena.world.nowMs();
    expect(await arena.world.until(() => two.leadership !== undefined, 20_000)).toBe(true);
    seconds.push((arena.world.nowMs() - died) / 1_000);
  }
  expect(Math.max(...seconds)).toBeLessThan(2.6);
  expect(Math.min(...seconds)).toBeGreaterThan(1.4);
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
  for (const ms of [3_600_000, -7_200_000, 3_600_000]) {
    two.clock.jumpWall(ms);
    await arena.world.advance(5_000);
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
  // Its request takes 1.9 s to storage, and the leader beats meanwhile.
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
