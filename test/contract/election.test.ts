import { describe, expect, inject, it } from "vitest";
import type { ElectionEvent } from "../../src/election/events.ts";
import type { Leadership } from "../../src/election/hold/leadership.ts";
import type { RaceOutcome } from "../../src/election/raceContext.ts";
import { currentLeader } from "../../src/election/record/leaderView.ts";
import { type ElectionSettings, electionSettings } from "../../src/election/settings.ts";
import { keepDeadMansWake } from "../../src/engine/leader/deadMansWake.ts";
import type { LeaseStore } from "../../src/engine/storage/ports.ts";
import { systemClock, systemRandom } from "../../src/engine/storage/system.ts";
import { type Fault, faultyLease, type LeaseOp } from "../election/faultyLease.ts";
import { type LeadRequest, raceAndLead } from "../support/raceAndLead.ts";
import { freshName, freshQueue, realAccount } from "./accounts.ts";

/**
 * The main paths of the election on a real emulator, with the real clock. What Azurite cannot show (an expired
 * lease can there be renewed by any id) is left to in-memory storage and the simulation.
 */
const account = realAccount(inject("azurite"));

interface Started {
  readonly outcome: Promise<RaceOutcome>;
  readonly leading: Promise<Leadership>;
  readonly events: ElectionEvent[];
}

function start(
  lease: LeaseStore,
  holder: string,
  more: Partial<LeadRequest> = {},
  settings: Partial<ElectionSettings> = {},
): Started {
  const events: ElectionEvent[] = [];
  const ports = {
    lease,
    clock: systemClock,
    random: systemRandom,
    on: (one: ElectionEvent) => void events.push(one),
  };
  let report: (leadership: Leadership) => void = () => {};
  const leading = new Promise<Leadership>((resolve) => {
    report = resolve;
  });
  const outcome = raceAndLead(ports, electionSettings(settings), {
    holder,
    startedAtMonotonicMs: systemClock.monotonicMs(),
    worthLeading: async () => true,
    async lead(leadership) {
      report(leadership);
      await new Promise((resolve) => leadership.signal.addEventListener("abort", resolve, { once: true }));
    },
    ...more,
  });
  return { outcome, leading, events };
}

const place = () => {
  const container = freshName();
  return { container, lease: account.storage.lease(container, "leader") };
};
const since = (startMs: number) => systemClock.monotonicMs() - startMs;
const only =
  (op: LeaseOp, fault: Fault) =>
  (one: LeaseOp, nth: number): Fault =>
    one === op && nth === 1 ? fault : "none";

describe.concurrent("on Azurite", () => {
  it("one of three leads, the others follow, and each hand-over gives the next term", async () => {
    const { lease } = place();
    const stops = [new AbortController(), new AbortController(), new AbortController()];
    const races = stops.map((stop, index) => start(lease, `instance ${index}`, { stopping: stop.signal }));
    const first = await Promise.race(races.map((one) => one.leading));
    const losers = races.filter((_, index) => `instance ${index}` !== first.holder);
    for (const one of losers) expect(await one.outcome).toMatchObject({ kind: "follower" });
    expect(await currentLeader(lease)).toMatchObject({
      leading: true,
      record: { term: 1, holder: first.holder },
    });
    for (const stop of stops) stop.abort();
    for (const one of races) {
      const outcome = await one.outcome;
      if (outcome.kind === "led") expect(outcome).toMatchObject({ cause: "stopping", handedOver: true });
    }
    const next = start(lease, "next", { lead: async () => {} });
    expect(await next.outcome).toMatchObject({ kind: "led", term: 2, cause: "done", handedOver: true });
    expect(await currentLeader(lease)).toMatchObject({ leading: false, leaseState: "available" });
  });

  it.each<[LeaseOp, Fault]>([
    ["acquire", "lost reply"],
    ["write leading", "lost reply"],
    ["write leading", "lost request"],
  ])("%s with a %s still leads, in term 1", async (op, fault) => {
    const { lease } = place();
    const one = start(faultyLease(lease, only(op, fault)), "node-1", { lead: async () => {} });
    expect(await one.outcome).toMatchObject({ kind: "led", term: 1, handedOver: true });
  });

  it("with every renewal hanging the signal fires before the lease can be another's", async () => {
    const { lease } = place();
    const startMs = systemClock.monotonicMs();
    const one = start(
      faultyLease(lease, (op) => (op === "renew" ? "hang" : "none")),
      "node-1",
    );
    const leadership = await one.leading;
    await new Promise((resolve) => leadership.signal.addEventListener("abort", resolve, { once: true }));
    expect(since(startMs)).toBeGreaterThan(12_500);
    expect(leadership.remainingMs()).toBe(0);
    expect(() => leadership.assertLeading()).toThrow("stop-work");
    expect(await one.outcome).toMatchObject({ cause: "stop-work" });
  });

  it.each([
    ["early", 4_000],
    ["after its lease", 0],
  ] as const)(
    "a leader that falls silent is replaced %s, by a contender that was woken",
    async (_when, breakAfterMs) => {
      const { lease } = place();
      let silent = false;
      const dying = faultyLease(lease, () => (silent ? "hang" : "none"));
      const one = start(dying, "node-1", {}, { breakAfterMs });
      const first = await one.leading;
      silent = true;
      const stop = new AbortController();
      const two = start(lease, "node-2", { startedBy: "wake", stopping: stop.signal }, { breakAfterMs });
      const second = await two.leading;
      expect(second.term).toBe(2);
      expect(first.remainingMs()).toBe(0);
      stop.abort();
      await two.outcome;
    },
  );

  it("a lease broken by hand deposes the leader", async () => {
    const { lease } = place();
    const one = start(lease, "node-1");
    await one.leading;
    await lease.breakNow();
    expect(await one.outcome).toMatchObject({ kind: "led", cause: "lost", handedOver: false });
    expect(one.events.at(-1)?.kind).toBe("deposed");
    expect(await start(lease, "node-2", { lead: async () => {} }).outcome).toMatchObject({ term: 2 });
  });

  it("a deleted container or record ends the term, and the next race makes them again", async () => {
    const { lease, container } = place();
    const one = start(lease, "node-1");
    await one.leading;
    // Nothing but an operator deletes containers, so no port can; the lease of the blob does not hinder it.
    const { BlobServiceClient } = await import("@azure/storage-blob");
    const service = BlobServiceClient.fromConnectionString(inject("azurite"));
    await service.getContainerClient(container).delete();
    expect(await one.outcome).toMatchObject({ kind: "led", cause: "lost" });
    const two = start(lease, "node-2", { aboveTerm: 1, lead: async () => {} });
    expect(await two.outcome).toMatchObject({ kind: "led", term: 2 });
  });

  it("a dead-man's wake stays hidden while kept, surfaces when left, and is visible on hand-over", async ({
    expect,
  }) => {
    const { queues } = account.storage;
    const queue = await freshQueue(account);
    const ports = { queues, clock: systemClock };
    const term = new AbortController();
    let kept = 0;
    const watched: typeof queues = {
      ...queues,
      async update(...call) {
        kept += 1;
        return await queues.update(...call);
      },
    };
    keepDeadMansWake({ ...ports, queues: watched }, { queue, text: "left", signal: term.signal });
    const receive = () => queues.receive(queue, { max: 2, visibilityS: 60 });
    // Hidden for 6 s each time: after four times it would have come back but for them.
    await expect.poll(() => kept).toBeGreaterThanOrEqual(4);
    expect(await queues.peek(queue, 1)).toEqual([]);
    term.abort();
    await expect.poll(receive, { interval: 500 }).toMatchObject([{ text: "left" }]);
    const handed = keepDeadMansWake(ports, { queue, text: "handed" });
    await handed.handOver();
    expect(await receive()).toMatchObject([{ text: "handed" }]);
    const removed = keepDeadMansWake(ports, { queue, text: "removed" });
    await removed.remove();
    expect(await queues.stats(queue)).toMatchObject({ approximateCount: 2 });
  });
});
