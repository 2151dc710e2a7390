import { expect, test } from "vitest";
import { blob, container, contenders } from "./contenders.ts";
import { faultyLease, type LeaseOp, noAnswer } from "./faultyLease.ts";

const early = { breakAfterMs: 4_000 };

test("a leader that died is replaced after its lease, by a contender that a wake has started", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  void one.race();
  await arena.world.advance(8_000);
  one.clock.crash();
  await arena.world.advance(6_000);
  const two = arena.contender("node-2");
  void two.race({ startedBy: "wake" });
  expect(await arena.world.until(() => two.leadership !== undefined, 20_000)).toBe(true);
  expect(two.leadership?.term).toBe(2);
  expect(two.leadership?.cameBy).toBe("expired");
  expect(arena.world.nowMs()).toBeLessThan(5_000 + 15_000 + 700);
});

test("a wake that finds a living leader waits for one heartbeat and then follows", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  void one.race();
  await arena.world.advance(8_200);
  const outcome = await arena.world.finish(arena.contender("node-2").race({ startedBy: "wake" }));
  expect(outcome).toMatchObject({ kind: "follower" });
  expect(arena.world.nowMs()).toBeLessThan(9_800);
});

test("a wake that sees no heartbeat at all waits for the lease and two seconds, and not longer", async () => {
  const arena = contenders();
  const lease = arena.storage.lease(container, blob);
  await lease.ensure();
  await lease.acquire("11111111-2222-4333-8444-555555555555", 60);
  const outcome = await arena.world.finish(arena.contender("node-2").race({ startedBy: "wake" }));
  expect(outcome).toEqual({ kind: "follower", leader: { kind: "none" } });
  expect(arena.world.nowMs()).toBeGreaterThan(16_900);
  expect(arena.world.nowMs()).toBeLessThan(17_600);
});

test("with early takeover a silent leader is deposed once its record is as old as it published", async () => {
  const arena = contenders({ settings: early });
  const one = arena.contender("node-1");
  void one.race();
  await arena.world.advance(8_000);
  one.clock.crash();
  const died = arena.world.nowMs();
  const two = arena.contender("node-2");
  void two.race({ startedBy: "wake" });
  expect(await arena.world.until(() => two.leadership !== undefined, 20_000)).toBe(true);
  expect(arena.world.nowMs() - died).toBeLessThan(5_500);
  expect(two.log).toContainEqual(
    expect.objectContaining({ kind: "tookOver", cause: "broken", from: "node-1" }),
  );
});

test("the old leader is always past its own deadline before anyone may break its lease", async () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const arena = contenders({ seed, settings: { ...early, watching: true } });
    const one = arena.contender("node-1");
    void one.race();
    await arena.world.advance(5_000 + seed * 37);
    one.clock.pause();
    const leadership = one.leadership;
    let brokenWhileLeading = false;
    const two = arena.contender("node-2");
    void two.race();
    await arena.world.until(() => {
      // Looking at the paused leader's clocks runs none of its timers.
      const broken = two.events.includes("acquired");
      if (broken && (leadership?.remainingMs() ?? 0) > 0) brokenWhileLeading = true;
      return two.leadership !== undefined;
    }, 20_000);
    expect(two.leadership?.term).toBe(2);
    expect(brokenWhileLeading).toBe(false);
  }
});

test("a heartbeat that arrives just before the break keeps the leader", async () => {
  const arena = contenders({ settings: early });
  let heartbeats = true;
  let late: (() => Promise<unknown>) | undefined;
  const one = contenders({
    on: arena,
    settings: early,
    between: (lease) => ({
      ...lease,
      writeRecord: (id, metadata, options) => {
        const write = () => lease.writeRecord(id, metadata, options);
        if (heartbeats) return write();
        late = write;
        return Promise.reject(noAnswer());
      },
    }),
  }).contender("node-1");
  void one.race();
  await arena.world.advance(5_000);
  heartbeats = false;
  await arena.world.advance(1_100);
  one.clock.pause();
  await arena.world.advance(5_000);
  const refused: unknown[] = [];
  const two = contenders({
    on: arena,
    settings: early,
    between: (lease) => ({
      ...lease,
      breakNow: async (options) => {
        await late?.();
        return lease.breakNow(options).catch((error: unknown) => {
          refused.push(error);
          throw error;
        });
      },
    }),
  }).contender("node-2");
  expect(await arena.world.finish(two.race())).toMatchObject({ kind: "follower" });
  expect(refused).toMatchObject([{ storageCode: "ConditionNotMet" }]);
  expect((await arena.view()).leaseState).toBe("leased");
});

test("a leader that published no threshold is never broken, whatever the challenger's own setting", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  void one.race();
  await arena.world.advance(6_000);
  one.clock.crash();
  await arena.world.advance(7_000);
  const eager = contenders({ on: arena, settings: early }).contender("eager");
  expect(await eager.race()).toMatchObject({ kind: "follower" });
});

test("slightly late heartbeats depose no leader", async () => {
  const arena = contenders({ settings: early });
  const slow = contenders({
    on: arena,
    settings: early,
    between: (lease, _holder, clock) => ({
      ...lease,
      writeRecord: async (id, metadata, options) => {
        await clock.sleep(850);
        return lease.writeRecord(id, metadata, options);
      },
    }),
  }).contender("slow");
  void slow.race();
  await arena.world.advance(5_000);
  const two = contenders({ on: arena, settings: { ...early, watching: true } }).contender("node-2");
  void two.race();
  await arena.world.advance(600_000);
  expect(slow.leadership?.term).toBe(1);
  expect(two.events).toEqual([]);
});

test("of many challengers one leads, and they do not depose each other for long", async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const arena = contenders({ seed, settings: { ...early, watching: true } });
    const one = arena.contender("node-1");
    void one.race();
    await arena.world.advance(5_000);
    const crowd = Array.from({ length: 8 }, (_, index) => arena.contender(`challenger ${index}`));
    for (const each of crowd) void each.race();
    await arena.world.advance(3_000);
    one.clock.crash();
    arena.leading.clear();
    expect(await arena.world.until(() => arena.leading.size > 0, 7_000)).toBe(true);
    await arena.world.advance(10_000);
    expect(arena.leading.size).toBe(1);
  }
});

test("watching contenders replace a leader that hands over within one poll interval", async () => {
  const arena = contenders({ settings: { watching: true } });
  const one = arena.contender("node-1");
  const stopping = new AbortController();
  const race = one.race({ stopping: stopping.signal });
  await arena.world.advance(2_000);
  const two = arena.contender("node-2");
  void two.race();
  await arena.world.advance(20_000);
  stopping.abort();
  await arena.world.finish(race);
  const freeAt = arena.world.nowMs();
  expect(await arena.world.until(() => two.leadership !== undefined, 5_000)).toBe(true);
  expect(arena.world.nowMs() - freeAt).toBeLessThan(600);
  expect(two.leadership?.cameBy).toBe("handed-over");
});

test("a watching follower costs two polls a second, no refusal and no write", async () => {
  const ops: LeaseOp[] = [];
  const arena = contenders({ settings: { watching: true } });
  void arena.contender("node-1").race();
  await arena.world.advance(2_000);
  const between = (lease: Parameters<typeof faultyLease>[0]) =>
    faultyLease(
      lease,
      () => "none",
      (op) => ops.push(op),
    );
  void contenders({ on: arena, settings: { watching: true }, between })
    .contender("node-2")
    .race();
  await arena.world.advance(60_000);
  expect(new Set(ops)).toEqual(new Set(["view"]));
  expect(ops.length).toBeGreaterThan(110);
  expect(ops.length).toBeLessThan(130);
});
