import { describe, expect, test } from "vitest";
import {
  type LeaseEvent,
  type Leases,
  type LeasesOptions,
  leasesOn,
} from "../../../src/election/leases/leases.ts";
import type { NamedLease } from "../../../src/election/leases/namedLease.ts";
import { StorageError } from "../../../src/engine/model/errors.ts";
import type { ContentLease } from "../../../src/engine/storage/ports.ts";
import type { VirtualClock } from "../../support/virtualClock.ts";
import { type Alone, alone, container } from "../alone.ts";
import { noAnswer } from "../faultyLease.ts";

interface Opened {
  readonly leases: Leases;
  readonly events: LeaseEvent[];
  readonly clock: VirtualClock;
}

function open(
  one: Alone,
  options: Partial<LeasesOptions> = {},
  between?: (lease: ContentLease, clock: VirtualClock) => ContentLease,
): Opened {
  const events: LeaseEvent[] = [];
  const ports = one.process(between);
  const leases = leasesOn(ports, { holder: "me", on: (event) => void events.push(event), ...options });
  return { leases, events, clock: ports.clock };
}

async function acquired(one: Alone, leases: Leases, name: string): Promise<NamedLease> {
  const outcome = await one.world.finish(leases.acquire(name));
  if (outcome.kind !== "acquired") throw new Error(`${name}: ${outcome.kind}`);
  return outcome.lease;
}

const kinds = (events: readonly LeaseEvent[]) => events.map((event) => event.kind);

describe("named leases", () => {
  test("one process holds a lease, another waits for it, and gets it when it is released", async () => {
    const one = alone();
    const [a, b] = [open(one), open(one)];
    const lease = await acquired(one, a.leases, "report");
    expect(await one.world.finish(b.leases.acquire("report"))).toEqual({ kind: "heldByOther" });
    expect(await one.world.finish(a.leases.acquire("report"))).toEqual({ kind: "heldByOther" });
    const waiting = b.leases.acquire("report", { wait: true });
    await one.world.advance(60_000);
    expect(lease.remainingMs()).toBeGreaterThan(7_000);
    expect(await one.world.finish(lease.release())).toBe(true);
    expect(await one.world.finish(lease.release())).toBe(true);
    expect(lease.signal.reason).toMatchObject({ code: "lease-lost", end: "released" });
    expect(await one.world.finish(waiting, 1_000)).toMatchObject({ kind: "acquired" });
    expect(a.events).toEqual([
      { kind: "acquired", name: "report" },
      { kind: "released", name: "report", confirmed: true },
    ]);
    expect([...a.leases.held.keys(), ...b.leases.held.keys()]).toEqual(["report"]);
  });

  test("a signal ends the waiting", async () => {
    const one = alone();
    const [a, b] = [open(one), open(one)];
    await acquired(one, a.leases, "x");
    const end = new AbortController();
    const waiting = b.leases.acquire("x", { wait: true, signal: end.signal });
    await one.world.advance(5_000);
    end.abort();
    expect(await one.world.finish(waiting, 100)).toEqual({ kind: "stopped" });
  });

  test("closing ends the waiting and releases all, and nothing is acquired after that", async () => {
    const one = alone();
    const [a, b] = [open(one), open(one)];
    await acquired(one, a.leases, "x");
    await acquired(one, b.leases, "y");
    const waiting = b.leases.acquire("x", { wait: true });
    await one.world.advance(2_000);
    await one.world.finish(b.leases.close());
    expect(await one.world.finish(waiting)).toEqual({ kind: "stopped" });
    expect(kinds(b.events)).toEqual(["acquired", "released"]);
    await expect(b.leases.acquire("z")).rejects.toMatchObject({ code: "leases-closed" });
    expect((await one.world.finish(a.leases.acquire("y"))).kind).toBe("acquired");
  });

  test("a lease that an operator breaks is lost with the next renewal, and its signal says so", async () => {
    const one = alone();
    const { leases, events } = open(one);
    const lease = await acquired(one, leases, "x");
    one.storage.operator.breakLease(container, "leases/x");
    expect(await one.world.until(() => lease.signal.aborted, 5_100)).toBe(true);
    expect(events.at(-1)).toEqual({
      kind: "lost",
      name: "x",
      cause: "lost",
      code: "LeaseIsBrokenAndCannotBeRenewed",
    });
    expect(() => lease.assertHeld()).toThrow("not held any more");
    expect(await one.world.finish(lease.release())).toBe(false);
    expect(leases.held.size).toBe(0);
    await acquired(one, leases, "x");
  });

  test("a blob that is deleted is a lease that is lost", async () => {
    const one = alone();
    const { leases, events } = open(one);
    await acquired(one, leases, "x");
    one.storage.operator.deleteBlob(container, "leases/x");
    await one.world.advance(5_100);
    expect(events.at(-1)).toMatchObject({ kind: "lost", cause: "lost", code: "BlobNotFound" });
  });

  test("with storage away work stops before the lease can be another's", async () => {
    const one = alone();
    let away = false;
    const { leases, events } = open(one, {}, (lease) => ({
      ...lease,
      renew: (id, options) => (away ? Promise.reject(noAnswer()) : lease.renew(id, options)),
    }));
    const lease = await acquired(one, leases, "x");
    await one.world.advance(20_000);
    away = true;
    const other = open(one);
    const waiting = other.leases.acquire("x", { wait: true });
    let stoppedMs = 0;
    lease.signal.addEventListener("abort", () => {
      stoppedMs = one.world.nowMs();
    });
    await one.world.finish(waiting);
    expect(stoppedMs).toBeGreaterThan(0);
    expect(one.world.nowMs() - stoppedMs).toBeGreaterThan(1_500);
    expect(events.at(-1)).toEqual({ kind: "lost", name: "x", cause: "stop-work", code: "" });
  });

  test("a renewal that hangs does not hold up the stop-work deadline", async () => {
    const one = alone();
    const { leases } = open(one, {}, (lease) => ({ ...lease, renew: () => new Promise<never>(() => {}) }));
    const lease = await acquired(one, leases, "x");
    await one.world.advance(12_900);
    expect(lease.signal.aborted).toBe(false);
    await one.world.advance(200);
    expect(lease.signal.aborted).toBe(true);
  });

  test("a process that was stopped sees at its first check that the lease is over", async () => {
    const one = alone();
    const { leases, clock } = open(one);
    const lease = await acquired(one, leases, "x");
    clock.pause();
    await one.world.advance(20_000);
    expect(() => lease.assertHeld()).toThrow("stop-work");
    expect(lease.signal.aborted).toBe(true);
  });

  test("an acquire whose reply was lost is found to be ours, and leaves no orphan", async () => {
    const one = alone();
    let drop = 1;
    const { leases } = open(one, {}, (lease) => ({
      ...lease,
      async acquire(id, durationS, options) {
        await lease.acquire(id, durationS, options);
        if (drop-- > 0) throw noAnswer();
      },
    }));
    await acquired(one, leases, "x");
    expect(one.world.nowMs()).toBeLessThan(1_500);
  });

  test("an outage is thrown to callers that do not wait, a refused identity to all", async () => {
    const one = alone();
    const away = open(one, {}, (lease) => ({ ...lease, view: () => Promise.reject(noAnswer()) }));
    await expect(one.world.finish(away.leases.acquire("x"))).rejects.toMatchObject({ code: "storage-busy" });
    const denied = new StorageError("denied", "AuthorizationFailure", 403, "no");
    const shut = open(one, {}, (lease) => ({ ...lease, view: () => Promise.reject(denied) }));
    await expect(one.world.finish(shut.leases.acquire("x", { wait: true }))).rejects.toBe(denied);
    await expect(shut.leases.acquire("a\u0000b")).rejects.toMatchObject({ code: "bad-name" });
    expect(() => open(one, { leaseDurationS: 5 })).toThrow("from 15 to 60");
    expect(() => open(one, { callsAtOnce: 0 })).toThrow("callsAtOnce");
  });
});

describe("contents under a lease", () => {
  test("are replaced by their holder and read by any process", async () => {
    const one = alone();
    const [a, b] = [open(one), open(one)];
    expect(await one.world.finish(b.leases.read("x"))).toBeUndefined();
    const lease = await acquired(one, a.leases, "x");
    expect((await one.world.finish(lease.read())).text()).toBe("");
    await one.world.finish(lease.update("1"));
    const more = (now: { text(): string }) => `${now.text()}+`;
    await one.world.finish(Promise.all([lease.update(more), lease.update(more)]));
    expect((await one.world.finish(b.leases.read("x")))?.text()).toBe("1++");
    await one.world.finish(lease.release());
    await expect(one.world.finish(lease.update("2"))).rejects.toMatchObject({ code: "lease-lost" });
    const next = await acquired(one, b.leases, "x");
    expect((await one.world.finish(next.read())).text()).toBe("1++");
  });

  test("cannot be replaced by a former holder that believes it still holds", async () => {
    const one = alone();
    const [a, b] = [open(one, { leaseDurationS: 60 }), open(one)];
    const lease = await acquired(one, a.leases, "x");
    one.storage.operator.breakLease(container, "leases/x");
    const next = await acquired(one, b.leases, "x");
    await one.world.finish(next.update("new"));
    expect(lease.remainingMs()).toBeGreaterThan(50_000);
    await expect(one.world.finish(lease.update("old"))).rejects.toMatchObject({
      code: "lease-lost",
      end: "lost",
    });
    expect(a.events.at(-1)).toMatchObject({ kind: "lost", cause: "lost" });
    expect((await one.world.finish(a.leases.read("x")))?.text()).toBe("new");
  });

  test.each(["lost request", "lost reply"])("an update with a %s is made once", async (fault) => {
    const one = alone();
    let drop = 1;
    const { leases } = open(one, {}, (lease) => ({
      ...lease,
      async writeContent(id, body, write) {
        if (drop-- <= 0) return lease.writeContent(id, body, write);
        if (fault === "lost reply") await lease.writeContent(id, body, write);
        throw noAnswer();
      },
    }));
    const lease = await acquired(one, leases, "x");
    await one.world.finish(lease.update((now) => `${now.text()}a`));
    await one.world.finish(lease.update((now) => `${now.text()}b`));
    expect((await one.world.finish(lease.read())).text()).toBe("ab");
  });

  test("that are too large are refused before anything is sent", async () => {
    const one = alone();
    const { leases } = open(one);
    const lease = await acquired(one, leases, "x");
    const update = lease.update(new Uint8Array(5 * 1024 * 1024));
    await expect(one.world.finish(update)).rejects.toMatchObject({ code: "content-too-large" });
    await one.world.finish(lease.update("small"));
  });
});
