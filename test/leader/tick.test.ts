import { expect, test } from "vitest";
import { electionSettings } from "../../src/election/settings.ts";
import { Coordinator, type TickRequest } from "../../src/engine/leader/tick.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import type { LogEvent } from "../../src/engine/model/log.ts";
import { leaderBlob } from "../../src/engine/model/names.ts";
import type { State } from "../../src/engine/model/state.ts";
import { abortError } from "../../src/engine/storage/system.ts";
import { computing } from "../support/runFixtures.ts";
import { leadInMemory } from "./leadInMemory.ts";

/** A whole coordinator beside one active run. */
async function ticking(state?: State) {
  const account = leadInMemory();
  await account.addRun("r", undefined, state && { state });
  const logged: LogEvent[] = [];
  const clock = account.world.clock();
  const { storage, names, world } = account;
  const one = new Coordinator(
    { storage, names, clock, random: world.random, log: (event) => logged.push(event), onElection() {} },
    {
      ...{
        holder: "one",
        election: electionSettings({ budgetMs: 60_000 }),
        packLimitMs: 300_000,
        keepDays: 30,
      },
      loop: { loopMs: 2_000, fastLoopMs: 100 },
    },
  );
  const startedAtMonotonicMs = clock.monotonicMs();
  return {
    ...account,
    logged,
    tick: () => world.finish(one.tick({ startedBy: "tick", startedAtMonotonicMs })),
  };
}

test("a leader whose list is denied says so in its log and in its outcome, and calls nobody at once", async () => {
  const { tick, storage, names, logged } = await ticking();
  const { list } = storage.blobs;
  let lists = 0;
  storage.blobs.list = async (container, prefix, options) => {
    // The first one tells that a term is worth it; from then on the role is gone.
    if (options?.metadata !== true || lists++ === 0) return list(container, prefix, options);
    throw new StorageError("denied", "AuthorizationPermissionMismatch", 403, "no role");
  };
  expect(await tick()).toMatchObject({ kind: "led", cause: "failed", error: { code: "storage-denied" } });
  expect(logged.filter(({ event }) => event === "leading-failed")).toEqual([
    {
      level: "error",
      event: "leading-failed",
      fields: { term: 1, code: "storage-denied", message: "no role" },
    },
  ]);
  expect(await storage.queues.peek(names.wake, 32)).toEqual([]);
});

test("a leader that is deposed or ends as planned is no failure", async () => {
  const { tick, storage, names, logged, world } = await ticking();
  const led = tick();
  await world.advance(3_000);
  storage.operator.breakLease(names.coordination, "leader");
  expect(await led).toMatchObject({ kind: "led", cause: "lost" });
  expect(logged.map(({ event }) => event)).not.toContain("leading-failed");
});

test("a leader that loses its lease while it lists is no failure", async () => {
  const { tick, storage, names, logged, world } = await ticking();
  const { list } = storage.blobs;
  let hangs = false;
  storage.blobs.list = (container, prefix, options) => {
    if (!hangs) return list(container, prefix, options);
    return new Promise((_, reject) => {
      options?.signal?.addEventListener("abort", () => reject(abortError()), { once: true });
    });
  };
  const led = tick();
  await world.advance(3_000);
  hangs = true;
  await world.advance(3_000);
  storage.operator.breakLease(names.coordination, "leader");
  expect(await led).toMatchObject({ kind: "led", cause: "lost", drained: true });
  expect(logged.map(({ event }) => event)).not.toContain("leading-failed");
});

test("a contender that waits polls at once when it is woken, and the wake of a hand-over needs no list", async () => {
  const { storage, names, world, addRun } = leadInMemory();
  await addRun("r");
  const told: string[] = [];
  const contender = (holder: string) => {
    const clock = world.clock();
    const one = new Coordinator(
      {
        ...{ storage, names, clock, random: world.random, log() {} },
        onElection: ({ kind }) => told.push(`${holder} ${kind}`),
      },
      {
        ...{ holder, packLimitMs: 300_000, keepDays: 30 },
        election: electionSettings({ watching: true, pollEveryMs: 30_000, budgetMs: 600_000 }),
        loop: { loopMs: 2_000, fastLoopMs: 100 },
      },
    );
    const stop = new AbortController();
    const tick = (startedBy: "tick" | "wake") =>
      one.tick({ startedBy, startedAtMonotonicMs: clock.monotonicMs(), stopping: stop.signal });
    return { tick, stop };
  };
  const [one, two] = [contender("one"), contender("two")];
  const led = one.tick("tick");
  await world.advance(12_000);
  const waiting = two.tick("tick");
  await world.advance(1_000);

  const { list } = storage.blobs;
  let lists = 0;
  storage.blobs.list = (...args) => {
    lists += 1;
    return list(...args);
  };
  one.stop.abort();
  expect(await world.finish(led)).toMatchObject({ kind: "led", cause: "stopping", handedOver: true });
  expect(lists).toBe(0);
  expect(await storage.queues.peek(names.wake, 32)).toHaveLength(1);
  const freeMs = world.nowMs();
  expect(await two.tick("wake")).toEqual({ kind: "busy" });
  expect(await world.until(() => told.includes("two claimed"), 60_000)).toBe(true);
  expect(world.nowMs() - freeMs).toBeLessThan(100);

  two.stop.abort();
  expect(await world.finish(waiting)).toMatchObject({ kind: "led", term: 2 });
});

test("a contender that waits ends at once when its process stops", async () => {
  const { storage, names, world, addRun } = leadInMemory();
  await addRun("r");
  const lease = storage.lease(names.coordination, "leader");
  await lease.ensure();
  await lease.acquire("11111111-2222-4333-8444-555555555555", 60);
  const clock = world.clock();
  const one = new Coordinator(
    { storage, names, clock, random: world.random, log() {}, onElection() {} },
    {
      ...{ holder: "one", packLimitMs: 300_000, keepDays: 30 },
      election: electionSettings({ watching: true, pollEveryMs: 30_000, budgetMs: 600_000 }),
      loop: { loopMs: 2_000, fastLoopMs: 100 },
    },
  );
  const stop = new AbortController();
  const waiting = one.tick({
    startedBy: "tick",
    startedAtMonotonicMs: clock.monotonicMs(),
    stopping: stop.signal,
  });
  await world.advance(1_000);
  const atMs = world.nowMs();
  stop.abort();
  expect(await world.finish(waiting)).toMatchObject({ kind: "refused", code: "stopping" });
  expect(world.nowMs() - atMs).toBeLessThan(100);
});

test("over a record of an older version an app leads again, above the terms that its runs have seen", async () => {
  const state = { ...computing(100), term: 57, termid: "t" };
  const { tick, storage, names, logged, world, stateOf } = await ticking(state);
  const id = "00000000-0000-4000-8000-000000000000";
  const lease = storage.lease(names.coordination, leaderBlob);
  await lease.ensure();
  await lease.acquire(id, 15);
  await lease.writeRecord(id, { v: "0", term: "57", termid: "t", state: "ended", holder: "YQ" });
  await lease.release(id);
  expect(await tick()).toMatchObject({ kind: "led", term: 1, cause: "failed" });
  expect(logged.map(({ event }) => event)).toContain("deposed");
  void tick();
  await world.advance(3_000);
  expect(await stateOf("r")).toMatchObject({ term: 58 });
});

test("a request that waits leads until it is answered, and the next wake takes over what it leads", async () => {
  const { storage, names, world, addRun } = leadInMemory();
  await addRun("r");
  const clock = world.clock();
  const one = new Coordinator(
    { storage, names, clock, random: world.random, log() {}, onElection() {} },
    {
      ...{ holder: "one", packLimitMs: 300_000, keepDays: 30 },
      election: electionSettings({ budgetMs: 600_000 }),
      loop: { loopMs: 2_000, fastLoopMs: 100 },
    },
  );
  const tick = (startedBy: TickRequest["startedBy"], stopping: AbortController) =>
    one.tick({ startedBy, startedAtMonotonicMs: clock.monotonicMs(), stopping: stopping.signal });
  const [answered, process] = [new AbortController(), new AbortController()];

  const waiting = tick("wait", answered);
  await world.advance(1_000);
  expect(await tick("wait", answered)).toEqual({ kind: "busy" });
  answered.abort();
  const atMs = world.nowMs();
  expect(await world.finish(waiting)).toMatchObject({ kind: "led", term: 1, handedOver: true });
  expect(world.nowMs() - atMs).toBeLessThan(100);
  expect(await storage.queues.peek(names.wake, 32)).toHaveLength(1);

  const answeredLater = new AbortController();
  const next = tick("wait", answeredLater);
  await world.advance(1_000);
  const woken = tick("wake", process);
  expect(await world.finish(next)).toEqual({ kind: "busy" });
  expect(await tick("tick", process)).toEqual({ kind: "busy" });
  answeredLater.abort();
  await world.advance(5_000);
  process.abort();
  expect(await world.finish(woken)).toMatchObject({ kind: "led", term: 2, cause: "stopping" });
});
