import { describe, expect, it } from "vitest";
import { encodeRecord } from "../../src/election/record/record.ts";
import { electionSettings } from "../../src/election/settings.ts";
import { leader } from "../../src/engine/client/leader.ts";
import { peekQueue, queues } from "../../src/engine/client/queues.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { leaderBlob } from "../../src/engine/model/names.ts";
import { raceAndLead } from "../support/raceAndLead.ts";
import { clientWorld, failureOf, leadsOn, names } from "./clientWorld.ts";

describe("the queues", () => {
  it("are shown by their real names with count and age, poison queues included", async () => {
    const { client, storage, world } = await clientWorld();
    await storage.queues.send(names.packs, "one");
    await world.advance(30_000);
    await storage.queues.send(names.packs, "two");
    await storage.queues.send(names.urgent, "hidden", { visibleInS: 60 });
    storage.operator.deleteQueue("test-wake-poison");
    expect(await queues(client)).toEqual([
      { queue: "test-packs", state: "there", approximateCount: 2, oldestS: 30 },
      { queue: "test-packs-poison", state: "there", approximateCount: 0 },
      { queue: "test-urgent", state: "there", approximateCount: 1 },
      { queue: "test-urgent-poison", state: "there", approximateCount: 0 },
      { queue: "test-wake", state: "there", approximateCount: 0 },
      { queue: "test-wake-poison", state: "missing" },
    ]);
  });

  it("include that of completion events by the word of the leader, which this identity may not be allowed to read", async () => {
    const { client, storage } = await clientWorld();
    await leadsOn(storage, { about: { LEASEFOLD_ENDED_QUEUE: "nightly-ended" } });
    expect((await queues(client)).slice(6)).toEqual([{ queue: "nightly-ended", state: "missing" }]);
    await storage.queues.ensureQueue("nightly-ended");
    await storage.queues.send("nightly-ended", '{"run":"r"}');
    expect((await queues(client)).slice(6)).toMatchObject([
      { queue: "nightly-ended", state: "there", approximateCount: 1 },
    ]);
    expect((await peekQueue(client, "nightly-ended")).messages).toMatchObject([{ text: '{"run":"r"}' }]);
    const { stats } = storage.queues;
    const denied = new StorageError("denied", "AuthorizationPermissionMismatch", 403, "no right");
    storage.queues.stats = (queue, ...rest) =>
      queue === "nightly-ended" ? Promise.reject(denied) : stats.call(storage.queues, queue, ...rest);
    expect((await queues(client)).slice(5)).toEqual([
      { queue: "test-wake-poison", state: "there", approximateCount: 0 },
      { queue: "nightly-ended", state: "denied" },
    ]);
  });

  it("are peeked by real or short name, without dequeuing a message", async () => {
    const { client, storage } = await clientWorld();
    for (const text of ["1", "2", "3"]) await storage.queues.send("test-packs-poison", text);
    const two = await peekQueue(client, "test-packs-poison", 2);
    expect(two).toMatchObject({ queue: "test-packs-poison", messages: [{ text: "1" }, { text: "2" }] });
    const { messages } = await peekQueue(client, "packs-poison");
    expect(messages).toMatchObject([{ text: "1", dequeueCount: 0 }]);
  });

  it("refuse an unknown name, naming the known ones, and a count that storage would refuse", async () => {
    const { client } = await clientWorld();
    const unknown = await failureOf(peekQueue(client, "other"));
    expect(unknown).toMatchObject({ reason: "unknown", message: expect.stringContaining("test-urgent") });
    for (const n of [0, 33, 1.5]) {
      expect(await failureOf(peekQueue(client, "packs", n))).toMatchObject({
        reason: "invalid",
        code: "bad-count",
      });
    }
  });
});

describe("the leader", () => {
  const id = "00000000-0000-4000-8000-000000000000";
  const record = {
    term: 7,
    termid: "t",
    state: "leading",
    holder: "node-1",
    sinceMs: Date.UTC(2030, 0, 1),
    heartbeat: "b",
    breakAfterMs: 4000,
    cameBy: "free",
    notes: { runs: "1" },
    lastTerms: [],
  } as const;

  it("is shown with term, holder and the age of the last heartbeat, and as gone once the lease has expired", async () => {
    const { client, storage, world } = await clientWorld();
    const lease = storage.lease(names.coordination, leaderBlob);
    await lease.ensure();
    await lease.acquire(id, 15);
    await lease.writeRecord(id, encodeRecord(record));
    await world.advance(3_000);
    expect(await leader(client)).toMatchObject({
      kind: "leading",
      term: 7,
      holder: "node-1",
      since: "2030-01-01T00:00:00.000Z",
      heartbeatAgeS: 3,
      notes: { runs: "1" },
    });
    await world.advance(20_000);
    expect(await leader(client)).toMatchObject({ kind: "nobody", term: 7, heartbeatAgeS: 23 });
  });

  it("is the holder that claimed the last term, for any number of polls since", async () => {
    const { client, storage, world } = await clientWorld();
    const poll = (holder: string, worthLeading: boolean) => {
      const clock = world.clock();
      const lease = storage.lease(names.coordination, leaderBlob);
      const request = { holder, region: `of ${holder}`, startedAtMonotonicMs: clock.monotonicMs() };
      return world.finish(
        raceAndLead({ lease, clock, random: world.random }, electionSettings(), {
          ...request,
          worthLeading: async () => worthLeading,
          lead: async () => {},
        }),
      );
    };
    await poll("real-2", false);
    expect(await leader(client)).toEqual({ kind: "never" });
    await poll("real-1", true);
    for (const holder of ["real-2", "real-3"]) {
      await world.advance(60_000);
      await poll(holder, false);
    }
    expect(await leader(client)).toMatchObject({
      ...{ kind: "nobody", term: 1, holder: "real-1", region: "of real-1", cameBy: "free" },
      heartbeatAgeS: expect.closeTo(120, -1),
    });
  });

  it("has a list of terms that shows the time without a leader between two of them", async () => {
    const { client, storage, world } = await clientWorld();
    const lead = (holder: string, forMs: number) => {
      const clock = world.clock();
      const lease = storage.lease(names.coordination, leaderBlob);
      const request = { holder, startedAtMonotonicMs: clock.monotonicMs(), worthLeading: async () => true };
      const work = () => clock.sleep(forMs);
      return world.finish(
        raceAndLead({ lease, clock, random: world.random }, electionSettings(), { ...request, lead: work }),
      );
    };
    await lead("node-1", 5_000);
    await world.advance(30_000);
    await lead("node-2", 3_000);
    const view = await leader(client);
    const [first, second] = view.kind === "nobody" ? view.terms : [];
    expect([first?.holder, first?.cameBy, second?.holder]).toEqual(["node-1", "free", "node-2"]);
    const seconds = (from?: string, to?: string) => (Date.parse(to ?? "") - Date.parse(from ?? "")) / 1000;
    expect(Math.abs(seconds(first?.since, first?.until) - 5)).toBeLessThan(2);
    expect(Math.abs(seconds(first?.until, second?.since) - 30)).toBeLessThan(2);
    expect(Math.abs(seconds(second?.since, second?.until) - 3)).toBeLessThan(2);
  });

  it("is nobody before the first term, also without a container", async () => {
    expect(await leader((await clientWorld()).client)).toEqual({ kind: "never" });
    expect(await leader((await clientWorld({ places: false })).client)).toEqual({ kind: "never" });
  });
});
