import { expect, test } from "vitest";
import type { Leadership } from "../../src/election/hold/leadership.ts";
import { blob, container, contenders } from "./contenders.ts";
import { type Fault, faultyLease, type LeaseOp, noAnswer } from "./faultyLease.ts";

const arenaWith = (faultOf: (op: LeaseOp, nth: number) => Fault, seen?: (op: LeaseOp) => void) =>
  contenders({ between: (lease) => faultyLease(lease, faultOf, seen) });

const once =
  (op: LeaseOp, fault: Fault, nth = 1) =>
  (one: LeaseOp, count: number): Fault =>
    one === op && count === nth ? fault : "none";

test.each<[LeaseOp, Fault]>([
  ["ensure", "lost reply"],
  ["ensure", "hang after"],
  ["view", "lost request"],
  ["view", "hang"],
  ["acquire", "lost request"],
  ["acquire", "lost reply"],
  ["acquire", "hang after"],
  ["write leading", "lost request"],
  ["write leading", "lost reply"],
  ["write leading", "hang after"],
  ["write ended", "lost reply"],
])("one %s with a %s costs a moment, not the term", async (op, fault) => {
  const arena = arenaWith(once(op, fault));
  const one = arena.contender("node-1");
  const outcome = await arena.world.finish(one.race({ work: async () => {} }));
  expect(outcome).toMatchObject({ kind: "led", term: 1, cause: "done", handedOver: true });
  expect(arena.world.nowMs()).toBeLessThan(4_500);
  expect(await arena.view()).toMatchObject({ leaseState: "available" });
  expect(await arena.record()).toMatchObject({ state: "ended" });
});

test.each<Fault>(["lost request", "lost reply", "hang", "hang after"])(
  "a claim with a %s is resolved by reading back, and the term is used once",
  async (fault) => {
    const arena = arenaWith(once("write leading", fault));
    const one = arena.contender("node-1");
    const outcome = await arena.world.finish(one.race({ work: async () => {} }));
    expect(outcome).toMatchObject({ kind: "led", term: 1, cause: "done" });
    expect(one.events.filter((kind) => kind === "claimed")).toHaveLength(1);
    expect(outcome.kind === "led" && outcome.termid).toBe((await arena.record()).termid);
  },
);

test("a claim that arrives after the one that repeated it does not overwrite a heartbeat", async () => {
  let late: (() => Promise<unknown>) | undefined;
  const arena = contenders({
    between: (lease) => ({
      ...lease,
      writeRecord(id, metadata, options) {
        const write = () => lease.writeRecord(id, metadata, options);
        if (late !== undefined) return write();
        late = write;
        return Promise.reject(noAnswer());
      },
    }),
  });
  const one = arena.contender("node-1");
  void one.race();
  await arena.world.advance(3_500);
  expect(one.leadership?.term).toBe(1);
  const { heartbeat } = await arena.record();
  await expect(late?.()).rejects.toMatchObject({ storageCode: "ConditionNotMet" });
  expect(await arena.record()).toMatchObject({ state: "leading", heartbeat });
});

test("a claim that stays unknown is not acted upon, and its term is never claimed again", async () => {
  let written = false;
  const arena = arenaWith((op, nth) => {
    if (op === "write leading" && nth === 1) written = true;
    if (op === "write leading") return nth === 1 ? "lost reply" : "lost request";
    return op === "view" && written && nth <= 6 ? "lost request" : "none";
  });
  const one = arena.contender("node-1");
  let led = false;
  const outcome = await arena.world.finish(
    one.race({
      work: async () => {
        led = true;
      },
    }),
  );
  expect([outcome.kind, led]).toEqual(["unreachable", false]);
  const two = contenders({ on: arena }).contender("node-2");
  expect(await arena.world.finish(two.race({ work: async () => {} }))).toMatchObject({
    kind: "led",
    term: 2,
  });
});

test("a release with a lost reply is not retried, and is reported as not confirmed", async () => {
  const ops: LeaseOp[] = [];
  const arena = arenaWith(once("release", "lost reply"), (op) => ops.push(op));
  const one = arena.contender("node-1");
  const outcome = await arena.world.finish(one.race({ work: async () => {} }));
  expect(outcome).toMatchObject({ kind: "led", cause: "done", handedOver: false });
  expect(ops.filter((op) => op === "release")).toHaveLength(1);
  expect(one.log.at(-1)).toMatchObject({ kind: "released", confirmed: false });
});

test("a lost renewal reply, or two in a row, does not cost the lease", async () => {
  for (const fault of ["lost reply", "lost request", "hang"] as const) {
    const arena = arenaWith((op, nth) => (op === "renew" && nth <= 2 ? fault : "none"));
    const one = arena.contender("node-1");
    const race = one.race({ work: ({ signal }) => one.clock.sleep(40_000, signal) });
    expect(await arena.world.finish(race)).toMatchObject({ kind: "led", cause: "done" });
  }
});

test("with every renewal hanging the signal fires at lease less margin after the acquire was sent", async () => {
  const arena = arenaWith((op) => (op === "renew" ? "hang" : "none"));
  const one = arena.contender("node-1");
  let abortedAtMs = 0;
  const race = one.race({
    work: (leadership) =>
      new Promise((resolve) => {
        leadership.signal.addEventListener("abort", () => {
          abortedAtMs = arena.world.nowMs();
          expect(() => leadership.assertLeading()).toThrow("stop-work");
          expect(leadership.remainingMs()).toBe(0);
          resolve();
        });
      }),
  });
  const outcome = await arena.world.finish(race);
  expect(outcome).toMatchObject({ kind: "led", cause: "stop-work" });
  expect(abortedAtMs).toBeGreaterThan(12_900);
  expect(abortedAtMs).toBeLessThan(13_100);
  expect(one.events).toEqual(["acquired", "claimed", "lost", "released"]);
});

test("a lease broken by hand deposes the leader at its next call, and another can lead", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  const race = one.race();
  await arena.world.advance(3_200);
  arena.storage.operator.breakLease(container, blob);
  const outcome = await arena.world.finish(race, 1_500);
  expect(outcome).toMatchObject({ kind: "led", cause: "lost", handedOver: false });
  expect(one.log.at(-1)).toMatchObject({ kind: "deposed", code: "LeaseNotPresentWithBlobOperation" });
  const two = arena.contender("node-2");
  expect(await arena.world.finish(two.race({ work: async () => {} }))).toMatchObject({
    kind: "led",
    term: 2,
  });
  expect(two.log).toContainEqual(
    expect.objectContaining({ kind: "tookOver", from: "node-1", cause: "broken" }),
  );
});

test.each(["blob", "container"] as const)(
  "the leader %s deleted while leading ends the term",
  async (what) => {
    const arena = contenders();
    const one = arena.contender("node-1");
    const race = one.race();
    await arena.world.advance(3_200);
    if (what === "blob") arena.storage.operator.deleteBlob(container, blob);
    else arena.storage.operator.deleteContainer(container);
    expect(await arena.world.finish(race, 1_500)).toMatchObject({ kind: "led", cause: "lost" });
    expect(one.log.at(-1)?.kind).toBe("lost");
    const next = await arena.world.finish(
      arena.contender("node-2").race({ aboveTerm: 1, work: async () => {} }),
    );
    expect(next).toMatchObject({ kind: "led", term: 2 });
  },
);

test("a leader stopped past its lease sees its end in its first statement, and its writes are refused", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  let first: { aborted: boolean; remainingMs: number; threw: boolean } | undefined;
  const race = one.race({
    work: async (leadership: Leadership) => {
      await one.clock.sleep(5_992);
      const threw = (() => {
        try {
          leadership.assertLeading();
          return false;
        } catch {
          return true;
        }
      })();
      first = { aborted: leadership.signal.aborted, remainingMs: leadership.remainingMs(), threw };
    },
  });
  await arena.world.advance(5_990);
  one.clock.pause();
  await arena.world.advance(20_000);
  const two = arena.contender("node-2");
  void two.race();
  await arena.world.advance(2_000);
  const before = await arena.record();
  one.clock.resume();
  expect(await arena.world.finish(race)).toMatchObject({ kind: "led", term: 1, handedOver: false });
  expect(first).toEqual({ aborted: true, remainingMs: 0, threw: true });
  expect(two.leadership?.term).toBe(2);
  expect((await arena.record()).termid).toBe(before.termid);
});

test.each([1, -1])(
  "a wall clock that jumps by %i h ends the term early or not at all, never late",
  async (hours) => {
    const arena = contenders();
    const one = arena.contender("node-1");
    const race = one.race();
    await arena.world.advance(6_000);
    one.clock.jumpWall(hours * 3_600_000);
    if (hours > 0) {
      expect(() => one.leadership?.assertLeading()).toThrow("stop-work");
      expect(await arena.world.finish(race)).toMatchObject({ cause: "stop-work", handedOver: true });
    } else {
      await arena.world.advance(30_000);
      expect(() => one.leadership?.assertLeading()).not.toThrow();
    }
  },
);

test("a suspended machine, whose monotonic clock stood still, uses the wall clock", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  void one.race();
  await arena.world.advance(6_000);
  one.clock.pause();
  await arena.world.advance(20_000);
  one.clock.loseMonotonic(20_000);
  one.clock.resume();
  expect(() => one.leadership?.assertLeading()).toThrow("stop-work");
});

test("denied by storage is a refusal with its code, not a wait", async () => {
  const { StorageError } = await import("../../src/engine/model/errors.ts");
  const denied = new StorageError("denied", "AuthorizationPermissionMismatch", 403, "no role");
  const arena = contenders({ between: (lease) => ({ ...lease, view: () => Promise.reject(denied) }) });
  expect(await arena.contender("node-1").race()).toMatchObject({ kind: "refused", code: "denied" });
});

test("storage that never answers is unreachable after three polls", async () => {
  const ops: LeaseOp[] = [];
  const arena = arenaWith(
    () => "hang",
    (op) => ops.push(op),
  );
  expect(await arena.world.finish(arena.contender("node-1").race())).toMatchObject({
    kind: "unreachable",
    step: "poll",
  });
  expect(ops).toEqual(["view", "view", "view"]);
  expect(arena.world.nowMs()).toBeLessThan(10_000);
});

test("an acquire that arrives long after its lease was released does not acquire it again", async () => {
  let late: (() => Promise<void>) | undefined;
  const arena = contenders({
    between: (lease) => ({
      ...lease,
      acquire(id, durationS, options) {
        const { signal: _, ...conditions } = options ?? {};
        if (late !== undefined) return lease.acquire(id, durationS, conditions);
        late = () => lease.acquire(id, durationS, conditions);
        return Promise.reject(noAnswer());
      },
    }),
  });
  const one = arena.contender("node-1");
  const outcome = await arena.world.finish(one.race({ work: async () => {} }));
  expect(outcome).toMatchObject({ kind: "led", term: 1, handedOver: true });
  await expect(late?.()).rejects.toMatchObject({ storageCode: "ConditionNotMet" });
  expect((await arena.view()).leaseState).toBe("available");
});

test("a record that changed between poll and acquire means that another acquired the lease first", async () => {
  const arena = contenders({
    between: (lease, holder) => ({
      ...lease,
      async acquire(id, durationS, options) {
        if (holder === "slow")
          await arena.world.finish(arena.contender("fast").race({ work: async () => {} }));
        return lease.acquire(id, durationS, options);
      },
    }),
  });
  const slow = arena.contender("slow");
  const outcome = await slow.race({ work: async () => {} });
  expect(outcome).toMatchObject({ kind: "follower" });
  expect(slow.events).toEqual(["contended"]);
});
