import { expect, test } from "vitest";
import { currentLeader } from "../../src/election/record/leaderView.ts";
import { blob, container, contenders } from "./contenders.ts";

test("a single contender leads in term 1 and releases the lease", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  const outcome = await arena.world.finish(
    one.race({ work: ({ signal }) => one.clock.sleep(7_000, signal) }),
  );
  expect(outcome).toMatchObject({ kind: "led", term: 1, cause: "done", drained: true, handedOver: true });
  expect(one.events).toEqual(["acquired", "claimed", "renewed", "released"]);
  expect((await arena.view()).leaseState).toBe("available");
  expect(await arena.record()).toMatchObject({ state: "ended", term: 1 });
});

test.each([2, 3])(
  "%i contenders race at each tick: one leads, terms grow by one, nobody overlaps",
  async (many) => {
    const arena = contenders({ seed: many });
    const crowd = Array.from({ length: many }, (_, index) => arena.contender(`instance ${index}`));
    const terms: number[] = [];
    for (let tick = 0; tick < 12; tick += 1) {
      const races = crowd.map((one) =>
        one.race({
          work: async (leadership) => {
            expect(arena.leading.size).toBe(1);
            terms.push(leadership.term);
            await one.clock.sleep(3_000, leadership.signal);
          },
        }),
      );
      const outcomes = await arena.world.finish(Promise.all(races));
      expect(outcomes.map((one) => one.kind).filter((kind) => kind !== "follower")).toEqual(["led"]);
      await arena.world.advance(1_000);
    }
    expect(terms).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
  },
);

test("a follower of a live leader costs one poll and no refusal", async () => {
  const arena = contenders();
  const leader = arena.contender("leader");
  const leading = leader.race();
  await arena.world.advance(10_000);
  const before = arena.storage.meter.counts().other;
  const second = arena.contender("second");
  const outcome = await second.race();
  expect(outcome).toMatchObject({
    kind: "follower",
    leader: { leading: true, record: { term: 1, holder: "leader" } },
  });
  expect(arena.storage.meter.counts().other - before).toBe(1);
  expect(second.events).toEqual([]);
  leader.clock.crash();
  void leading;
});

test("without anything worth leading no term is used up", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  for (let tick = 0; tick < 3; tick += 1) {
    expect(await arena.world.finish(one.race({ worthLeading: async () => false }))).toEqual({
      kind: "nothingToLead",
      lastTerm: 0,
    });
  }
  expect(await arena.view()).toMatchObject({ leaseState: "available", metadata: {} });
  expect(await arena.world.finish(one.race({ work: async () => {} }))).toMatchObject({
    kind: "led",
    term: 1,
  });
});

test("whether it is worth leading is asked before the lease is acquired, and a no writes nothing", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  await arena.world.finish(one.race({ work: async () => {} }));
  const before = await arena.view();
  const seen: unknown[] = [];
  const calls = arena.storage.meter.counts().other;
  const outcome = await arena.world.finish(
    one.race({
      worthLeading: async ({ last }) => {
        seen.push(last?.term, last?.holder, last?.state);
        return false;
      },
    }),
  );
  expect([outcome, arena.storage.meter.counts().other - calls]).toEqual([
    { kind: "nothingToLead", lastTerm: 1 },
    1,
  ]);
  expect(seen).toEqual([1, "node-1", "ended"]);
  const { etag, leaseState, metadata } = await arena.view();
  expect({ etag, leaseState, metadata }).toEqual({
    etag: before.etag,
    leaseState: "available",
    metadata: before.metadata,
  });
  expect(one.events.filter((kind) => kind === "acquired")).toHaveLength(1);
});

test("a worthLeading that fails or hangs acquires nothing", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  const failed = await arena.world.finish(
    one.race({ worthLeading: () => Promise.reject(new Error("no list")) }),
  );
  expect(failed).toMatchObject({ kind: "unreachable", step: "worth-leading" });
  const hung = await arena.world.finish(one.race({ worthLeading: () => new Promise(() => {}) }));
  expect(hung).toMatchObject({ kind: "unreachable", step: "worth-leading" });
  expect(arena.world.nowMs()).toBeLessThan(15_000);
  expect(one.events).toEqual([]);
});

test("a leader whose record is of an older version keeps its lease to the end, and the next one begins at term 1", async () => {
  const arena = contenders({ settings: { watching: true } });
  const lease = arena.storage.lease(container, blob);
  await lease.ensure();
  await lease.acquire("11111111-2222-4333-8444-555555555555", 15);
  const older = { v: "0", term: "57", termid: "t", state: "leading", holder: "YQ", breakafterms: "4000" };
  await lease.writeRecord("11111111-2222-4333-8444-555555555555", older);
  const one = arena.contender("node-1");
  void one.race();
  await arena.world.advance(14_000);
  expect((await arena.view()).metadata).toEqual(older);
  await arena.world.advance(2_000);
  expect(one.leadership?.term).toBe(1);
  expect(await currentLeader(lease)).toMatchObject({ leading: true, record: { holder: "node-1", term: 1 } });
});

test("too little budget is a refusal without any call", async () => {
  const arena = contenders({ settings: { budgetMs: 60_000, functionTimeoutMs: 300_000 } });
  const one = arena.contender("node-1");
  const startedAtMonotonicMs = one.clock.monotonicMs();
  await arena.world.advance(46_000);
  expect(await one.race({ startedAtMonotonicMs })).toMatchObject({
    kind: "refused",
    code: "too-little-budget",
  });
  expect(arena.storage.meter.counts().other).toBe(0);
});

test("an invocation that began in the future by its own clock is refused", async () => {
  const one = contenders().contender("node-1");
  expect(await one.race({ startedAtMonotonicMs: 5_000 })).toMatchObject({ code: "clock-backwards" });
});

test("a record written by something else is refused and left as it is", async () => {
  const arena = contenders();
  const lease = arena.storage.lease(container, blob);
  await lease.ensure();
  await lease.acquire("11111111-2222-4333-8444-555555555555", 15);
  await lease.writeRecord("11111111-2222-4333-8444-555555555555", { functioninstance: "abc" });
  await lease.release("11111111-2222-4333-8444-555555555555");
  const outcome = await arena.world.finish(arena.contender("node-1").race());
  expect(outcome).toMatchObject({ kind: "refused", code: "record-unreadable" });
  expect(await arena.view()).toMatchObject({
    leaseState: "available",
    metadata: { functioninstance: "abc" },
  });
});

test("a term can be claimed above one that state elsewhere has seen", async () => {
  const arena = contenders();
  const outcome = await arena.world.finish(
    arena.contender("node-1").race({ aboveTerm: 41, work: async () => {} }),
  );
  expect(outcome).toMatchObject({ kind: "led", term: 42 });
});

test("anyone can read who leads, in which term, since when and how fresh", async () => {
  const arena = contenders();
  const lease = arena.storage.lease(container, blob);
  expect(await currentLeader(lease)).toEqual({ kind: "none" });
  const one = arena.contender("node-1");
  void one.race({ region: "west europe" });
  await arena.world.advance(2_500);
  one.leadership?.note({ run: "night job", blank: "" });
  await arena.world.advance(3_000);
  const leader = await currentLeader(lease);
  expect(leader).toMatchObject({ kind: "known", leading: true, leaseState: "leased" });
  if (leader.kind !== "known") throw new Error("unknown");
  expect(leader.ageMs).toBeLessThanOrEqual(1_000);
  expect(leader.record).toMatchObject({
    term: 1,
    holder: "node-1",
    region: "west europe",
    state: "leading",
    cameBy: "free",
    notes: { run: "night job" },
  });
  expect(leader.record.lastTerms).toHaveLength(1);
});

test("the record keeps the last sixteen terms", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  for (let term = 1; term <= 20; term += 1) {
    await arena.world.finish(one.race({ work: async () => {} }));
  }
  const leader = await currentLeader(arena.storage.lease(container, blob));
  expect(leader.kind === "known" && leader.record.lastTerms.map((past) => past.term)).toEqual(
    Array.from({ length: 16 }, (_, index) => index + 5),
  );
});

test("a listener that throws does not cost the lease", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  one.log.push = () => {
    throw new Error("listener");
  };
  expect(await arena.world.finish(one.race({ work: async () => {} }))).toMatchObject({
    kind: "led",
    term: 1,
  });
});
