import { expect, test } from "vitest";
import type { Leadership } from "../../src/election/hold/leadership.ts";
import type { CameBy, EndCause } from "../../src/election/record/record.ts";
import type { ElectionSettings } from "../../src/election/settings.ts";
import { contenders } from "./contenders.ts";
import { faultyLease, type LeaseOp } from "./faultyLease.ts";

test("the end of the budget hands over: the signal fires, the task drains, then the lease is free", async () => {
  const arena = contenders({ settings: { budgetMs: 30_000, functionTimeoutMs: 60_000 } });
  const one = arena.contender("node-1");
  const order: string[] = [];
  const race = one.race({
    work: async (leadership) => {
      await new Promise<void>((resolve) => leadership.signal.addEventListener("abort", () => resolve()));
      order.push(`signal at ${Math.round(arena.world.nowMs() / 1_000)} s`);
      await one.clock.sleep(2_000);
      leadership.assertLeading();
      order.push(`${(await arena.view()).leaseState} while it drains`);
    },
  });
  const outcome = await arena.world.finish(race);
  expect(outcome).toMatchObject({ kind: "led", cause: "budget", drained: true, handedOver: true });
  expect(order).toEqual(["signal at 30 s", "leased while it drains"]);
  const next = await arena.world.finish(arena.contender("node-2").race({ work: async () => {} }));
  expect(next).toMatchObject({ kind: "led", term: 2 });
});

test("the budget never reaches into the margin before the host kills the invocation", async () => {
  const arena = contenders({ settings: { functionTimeoutMs: 60_000, functionMarginMs: 15_000 } });
  const one = arena.contender("node-1");
  await arena.world.finish(one.race());
  expect(Math.round(arena.world.nowMs() / 1_000)).toBe(45);
});

test("a request to stop drains and releases, and does not cancel the release", async () => {
  const ops: LeaseOp[] = [];
  const arena = contenders({
    between: (lease) =>
      faultyLease(
        lease,
        () => "none",
        (op) => ops.push(op),
      ),
  });
  const one = arena.contender("node-1");
  const stopping = new AbortController();
  let drainedAtOps = -1;
  const race = one.race({
    stopping: stopping.signal,
    work: async (leadership) => {
      await new Promise<void>((resolve) => leadership.signal.addEventListener("abort", () => resolve()));
      await one.clock.sleep(1_500);
      drainedAtOps = ops.length;
    },
  });
  await arena.world.advance(4_000);
  stopping.abort();
  expect(await arena.world.finish(race)).toMatchObject({
    cause: "stopping",
    drained: true,
    handedOver: true,
  });
  expect(ops.slice(drainedAtOps)).toEqual(["write ended", "release"]);
});

test("a process that is about to stop does not race", async () => {
  const arena = contenders();
  const outcome = await arena.contender("node-1").race({ stopping: AbortSignal.abort() });
  expect(outcome).toMatchObject({ kind: "refused", code: "stopping" });
  expect(arena.storage.meter.counts().other).toBe(0);
});

test("a request to stop during worthLeading acquires nothing", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  const stopping = new AbortController();
  const race = one.race({
    stopping: stopping.signal,
    worthLeading: async () => {
      await one.clock.sleep(1_000);
      return true;
    },
  });
  await arena.world.advance(500);
  stopping.abort();
  expect(await arena.world.finish(race)).toMatchObject({ kind: "refused", code: "stopping" });
  expect(one.events).toEqual([]);
});

test("a task that does not end is abandoned without a release, and its effects are refused", async () => {
  const arena = contenders();
  const one = arena.contender("node-1");
  let leadership: Leadership | undefined;
  const stopping = new AbortController();
  const race = one.race({
    stopping: stopping.signal,
    work: (given) => {
      leadership = given;
      return new Promise(() => {});
    },
  });
  await arena.world.advance(3_000);
  stopping.abort();
  const outcome = await arena.world.finish(race);
  expect(outcome).toMatchObject({ kind: "led", cause: "stopping", drained: false, handedOver: false });
  expect(leadership?.lost.aborted).toBe(true);
  expect(() => leadership?.assertLeading()).toThrow("over");
  expect((await arena.view()).leaseState).toBe("leased");
  await arena.world.advance(15_000);
  expect((await arena.view()).leaseState).toBe("expired");
});

test("while a planned end drains, effects still pass; after it they do not", async () => {
  const arena = contenders({ settings: { budgetMs: 20_000 } });
  const one = arena.contender("node-1");
  let leadership: Leadership | undefined;
  const race = one.race({
    work: async (given) => {
      leadership = given;
      await one.clock.sleep(60_000, given.signal);
      expect([given.signal.aborted, given.lost.aborted]).toEqual([true, false]);
      given.assertLeading();
    },
  });
  expect(await arena.world.finish(race)).toMatchObject({ cause: "budget", handedOver: true });
  expect(() => leadership?.assertLeading()).toThrow("over");
  expect([leadership?.remainingMs(), leadership?.lost.aborted]).toEqual([0, true]);
});

test("a task that throws ends its term with its error", async () => {
  const arena = contenders();
  const outcome = await arena.world.finish(
    arena.contender("node-1").race({ work: () => Promise.reject(new Error("no disk")) }),
  );
  expect(outcome).toMatchObject({ cause: "failed", handedOver: true, error: new Error("no disk") });
});

test("a task without progress is ended, and renewals and heartbeats stop with it", async () => {
  const ops: LeaseOp[] = [];
  const arena = contenders({
    settings: { stallAfterMs: 10_000, drainCapMs: 4_000 },
    between: (lease) =>
      faultyLease(
        lease,
        () => "none",
        (op) => ops.push(op),
      ),
  });
  const one = arena.contender("node-1");
  const race = one.race({
    work: async (leadership) => {
      for (let step = 0; step < 5; step += 1) {
        await one.clock.sleep(4_000);
        leadership.progress();
      }
      await new Promise(() => {});
    },
  });
  await arena.world.advance(30_010);
  expect(one.leadership?.signal.aborted).toBe(true);
  const before = ops.length;
  const outcome = await arena.world.finish(race);
  expect(outcome).toMatchObject({ cause: "stalled", drained: false, handedOver: false });
  expect(ops.length).toBe(before);
});

test("remaining time is the confirmed part of the lease, or the remaining budget", async () => {
  const arena = contenders({ settings: { budgetMs: 30_000 } });
  const one = arena.contender("node-1");
  void one.race();
  await arena.world.advance(4_000);
  expect(one.leadership?.remainingMs()).toBeCloseTo(9_000, -2);
  await arena.world.advance(2_000);
  expect(one.leadership?.remainingMs()).toBeCloseTo(12_000, -2);
  await arena.world.advance(22_000);
  expect(one.leadership?.remainingMs()).toBeCloseTo(2_000, -2);
});

test.each<[EndCause, CameBy, Partial<ElectionSettings> & { readonly deafAfterMs?: number }]>([
  ["done", "handed-over", {}],
  ["budget", "handed-over", { budgetMs: 30_000 }],
  ["stopping", "handed-over", {}],
  ["failed", "free", {}],
  ["stalled", "free", { stallAfterMs: 10_000 }],
  ["stop-work", "free", { deafAfterMs: 6_000 }],
  // The lease was lost while the task drained.
  ["budget", "free", { budgetMs: 17_500, deafAfterMs: 6_000 }],
])("after a term that ended by %s the next finds the lease %s", async (cause, cameBy, setting) => {
  const { deafAfterMs, ...settings } = setting;
  let deaf = false;
  const arena = contenders({
    settings,
    between: (lease) => faultyLease(lease, (op) => (deaf && op === "renew" ? "lost request" : "none")),
  });
  const one = arena.contender("node-1");
  const stopping = new AbortController();
  const race = one.race({
    stopping: stopping.signal,
    work: async ({ signal }) => {
      if (cause === "failed") throw new Error("no disk");
      if (cause !== "done") await one.clock.sleep(600_000, signal);
      await one.clock.sleep(1_000);
    },
  });
  await arena.world.advance(deafAfterMs ?? 6_000);
  deaf = deafAfterMs !== undefined;
  if (cause === "stopping") stopping.abort();
  expect(await arena.world.finish(race)).toMatchObject({ kind: "led", cause, handedOver: true });
  deaf = false;
  const two = arena.contender("node-2");
  void two.race();
  expect(await arena.world.until(() => two.leadership !== undefined, 5_000)).toBe(true);
  expect(two.leadership?.cameBy).toBe(cameBy);
});
