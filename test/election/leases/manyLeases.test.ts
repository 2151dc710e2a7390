import { expect, test } from "vitest";
import { type LeaseEvent, leasesOn } from "../../../src/election/leases/leases.ts";
import { nextOfPhaseMs } from "../../../src/election/leases/renewals.ts";
import { alone, container } from "../alone.ts";
import { noAnswer } from "../faultyLease.ts";

const names = Array.from({ length: 200 }, (_, index) => `partition-${index}`);

test("two hundred leases taken at once are kept for ten minutes, and under one in a hundred renewals is late", async () => {
  const one = alone();
  const renewedAtMs: number[] = [];
  let most = 0;
  let inFlight = 0;
  // Slow replies, some of them very slow and some lost: 5 to 45 ms, one in fifty 1.5 s, one in two hundred without an answer.
  const ports = one.process((lease, clock) => ({
    ...lease,
    async renew(id, options) {
      renewedAtMs.push(one.world.nowMs());
      inFlight += 1;
      most = Math.max(most, inFlight);
      const draw = one.world.random.number();
      await clock.sleep(draw < 0.02 ? 1_500 : 5 + 40 * one.world.random.number());
      inFlight -= 1;
      if (draw > 0.995) throw noAnswer();
      await lease.renew(id, options);
    },
  }));
  const events: LeaseEvent[] = [];
  const manager = leasesOn(ports, { holder: "me", callsAtOnce: 16, on: (event) => void events.push(event) });
  await one.world.finish(Promise.all(names.map((name) => manager.acquire(name))));
  renewedAtMs.length = 0;
  const startMs = one.world.nowMs();
  await one.world.advance(600_000);
  const { sent, late } = manager.stats();
  expect(manager.held.size).toBe(200);
  expect(sent).toBeGreaterThan(200 * 119);
  expect(late / sent).toBeLessThan(0.01);
  expect(most).toBeLessThanOrEqual(16);
  expect(events.filter((event) => event.kind === "lost")).toEqual([]);
  // Phases: of 200 leases in 5 s, 4 are due in each tenth of a second.
  const perTenth = new Map<number, number>();
  for (const atMs of renewedAtMs) {
    const tenth = Math.floor((atMs - startMs) / 100);
    perTenth.set(tenth, (perTenth.get(tenth) ?? 0) + 1);
  }
  expect(Math.max(...perTenth.values())).toBeLessThanOrEqual(12);
  await one.world.finish(manager.close());
  expect(events.filter((event) => event.kind === "released")).toHaveLength(200);
});

test("storage away for seven seconds costs none of two hundred leases, and for twenty all of them once", async () => {
  const one = alone();
  let away = false;
  const events: LeaseEvent[] = [];
  const ports = one.process((lease) => ({
    ...lease,
    renew: (id, options) => (away ? Promise.reject(noAnswer()) : lease.renew(id, options)),
  }));
  const manager = leasesOn(ports, { on: (event) => void events.push(event) });
  await one.world.finish(Promise.all(names.map((name) => manager.acquire(name))));
  await one.world.advance(30_000);
  // The last renewal may be five seconds old when storage goes, and work stops after thirteen.
  away = true;
  await one.world.advance(7_000);
  away = false;
  await one.world.advance(30_000);
  expect(manager.held.size).toBe(200);
  away = true;
  await one.world.advance(20_000);
  expect(manager.held.size).toBe(0);
  expect(events.filter((event) => event.kind === "lost")).toHaveLength(200);
  expect(new Set(events.flatMap((event) => (event.kind === "lost" ? [event.cause] : [])))).toEqual(
    new Set(["stop-work"]),
  );
});

test("a lease lost among many costs the others nothing", async () => {
  const one = alone();
  const manager = leasesOn(one.process(), {});
  await one.world.finish(Promise.all(names.map((name) => manager.acquire(name))));
  for (const name of names.slice(0, 100)) one.storage.operator.breakLease(container, `leases/${name}`);
  await one.world.advance(6_000);
  expect([...manager.held.keys()].sort()).toEqual(names.slice(100).sort());
});

test("the next moment of a phase lies at most one interval ahead", () => {
  for (const nowMs of [0, 1, 4_999, 5_000, 123_456.789]) {
    for (const phase of [0, 0.25, 0.999]) {
      const nextMs = nextOfPhaseMs(nowMs, phase, 5_000);
      expect(nextMs).toBeGreaterThan(nowMs);
      expect(nextMs - nowMs).toBeLessThanOrEqual(5_000);
    }
  }
});
