import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { type Leader, type LeadOptions, lead, leadOn } from "../../../src/election/api/lead.ts";
import type { ElectionEvent } from "../../../src/election/events.ts";
import { currentLeader } from "../../../src/election/record/leaderView.ts";
import { recordIn } from "../../support/recordIn.ts";
import { alone, container, untilTold } from "../alone.ts";
import { noAnswer } from "../faultyLease.ts";

const name = "nightly";

test("a task runs while it leads, its value comes back, and the lease is free after that", async () => {
  const { world, process, storage } = alone();
  const result = leadOn(process(), { name, holder: "node-1" }, async (leader) => {
    expect(leader).toMatchObject({ term: 1, holder: "node-1", cameBy: "free" });
    expect(leader.remainingMs()).toBeGreaterThan(12_000);
    leader.note({ doing: "well" });
    leader.progress();
    return 42;
  });
  expect(await world.finish(result)).toEqual({ kind: "done", term: 1, value: 42, handedOver: true });
  const view = await storage.lease(container, name).view();
  if (view.kind === "missing") throw new Error("no record");
  expect(view.leaseState).toBe("available");
  expect(recordIn(view.metadata)).toMatchObject({ term: 1, state: "ended" });
});

test("another waits until the lease is free, and leads the next term", async () => {
  const { world, process } = alone();
  const stop = new AbortController();
  const first = leadOn(process(), { name, holder: "node-1", signal: stop.signal }, untilTold);
  await world.advance(1_000);
  let second: Leader | undefined;
  const next = leadOn(process(), { name, holder: "node-2" }, async (leader) => {
    second = leader;
  });
  await world.advance(60_000);
  expect(second).toBeUndefined();
  stop.abort();
  expect(await world.finish(first)).toEqual({ kind: "stopped", by: "signal", term: 1, drained: true });
  expect(await world.finish(next, 2_000)).toMatchObject({ kind: "done", term: 2 });
  expect(second).toMatchObject({ cameBy: "handed-over" });
});

test("a contender that waits for storage which does not answer tells each poll that failed", async () => {
  const { world, process } = alone();
  const events: ElectionEvent[] = [];
  const silent = process((lease) => ({ ...lease, view: () => Promise.reject(noAnswer()) }));
  const stop = new AbortController();
  const on = (event: ElectionEvent) => void events.push(event);
  const result = leadOn(silent, { name, holder: "node-1", on, signal: stop.signal }, untilTold);
  await world.advance(10_000);
  expect(events.length).toBeGreaterThan(4);
  for (const event of events)
    expect(event).toMatchObject({ kind: "unreachable", code: "", reason: expect.stringMatching(/\w/) });
  stop.abort();
  expect(await world.finish(result)).toMatchObject({ kind: "stopped" });
});

test.each([
  ["", "is empty"],
  ["nonsense", "cannot be read"],
  ["AccountName=a;AccountKey=secret", "cannot be read"],
  ["DefaultEndpointsProtocol=https;AccountKey=secret", "cannot be read"],
])(
  "the connection string %j is refused on one line that says what one has, and not its key",
  async (connection, why) => {
    const error = await lead({ connection, name, wait: false }, () => undefined).catch(
      (error: unknown) => error,
    );
    expect(error).toMatchObject({ code: "storage-connection", message: expect.stringContaining(why) });
    expect((error as Error).message).toMatch(/^.*AccountName and AccountKey.*$/);
    expect(
      inspect(error)
        .split("\n")
        .filter((line) => !line.includes("    at ")),
    ).toHaveLength(5);
    expect(inspect(error)).not.toContain("secret");
  },
);

const connection = "UseDevelopmentStorage=true";
test.each<[string, object, unknown, object]>([
  ["no task", { connection, name }, undefined, { code: "no-task" }],
  ["no name", { connection }, untilTold, { code: "bad-name" }],
  ["no connection", { name }, untilTold, { code: "storage-connection" }],
  [
    "a connection without credential",
    { connection: { blobServiceUri: "https://a" }, name },
    untilTold,
    { code: "storage-connection" },
  ],
  [
    "a misspelled option",
    { connection, name, breakafterMs: 4_000 },
    untilTold,
    { code: "election-settings", message: expect.stringContaining("there is no breakafterMs") },
  ],
])("%s is refused with a clear message, and nothing is called", async (_what, options, task, error) => {
  const leading = lead(options as LeadOptions, task as typeof untilTold);
  await expect(leading).rejects.toMatchObject(error);
});

test("without waiting the result is who leads", async () => {
  const { world, process } = alone();
  void leadOn(process(), { name, holder: "node-1" }, untilTold);
  await world.advance(1_000);
  const result = await world.finish(leadOn(process(), { name, wait: false }, untilTold));
  expect(result).toMatchObject({
    kind: "follower",
    leader: { leading: true, record: { holder: "node-1", term: 1 } },
  });
});

test("with natural expiry the signal fires before anyone else leads, whatever happens to storage", async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const { world, process } = alone(seed);
    let cut = false;
    const flaky = process((lease) => ({
      ...lease,
      release: (id, options) => (cut ? Promise.reject(noAnswer()) : lease.release(id, options)),
      renew: (id, options) => (cut ? Promise.reject(noAnswer()) : lease.renew(id, options)),
      writeRecord: (id, metadata, options) =>
        cut ? Promise.reject(noAnswer()) : lease.writeRecord(id, metadata, options),
      view: (options) => (cut ? Promise.reject(noAnswer()) : lease.view(options)),
    }));
    let firstEndedMs = 0;
    let secondBeganMs = 0;
    void leadOn(flaky, { name, holder: "node-1" }, async (leader) => {
      await untilTold(leader);
      firstEndedMs = world.nowMs();
    });
    await world.advance(3_000 + 531 * seed);
    void leadOn(process(), { name, holder: "node-2" }, (leader) => {
      secondBeganMs = world.nowMs();
      return untilTold(leader);
    });
    cut = true;
    expect(await world.until(() => secondBeganMs > 0, 30_000)).toBe(true);
    expect(firstEndedMs).toBeGreaterThan(0);
    expect(secondBeganMs - firstEndedMs).toBeGreaterThan(1_500);
  }
});

test("a lost term is followed by another campaign and the task runs again, unless the option once is set", async () => {
  const { world, process, storage } = alone();
  const terms: number[] = [];
  const stop = new AbortController();
  const task = (leader: Leader) => {
    terms.push(leader.term);
    return untilTold(leader);
  };
  const result = leadOn(process(), { name, signal: stop.signal }, task);
  await world.advance(2_000);
  storage.operator.breakLease(container, name);
  await world.advance(5_000);
  expect(terms).toEqual([1, 2]);
  stop.abort();
  expect(await world.finish(result)).toMatchObject({ kind: "stopped", term: 2 });

  const only = leadOn(process(), { name, once: true }, task);
  await world.advance(2_000);
  storage.operator.breakLease(container, name);
  expect(await world.finish(only)).toMatchObject({ kind: "lost", term: 3, cause: "lost", drained: true });
});

test("a campaign that loses many terms leaves no listeners on its signal", async () => {
  const { world, process, storage } = alone();
  const stop = new AbortController();
  let term = 0;
  const result = leadOn(process(), { name, signal: stop.signal }, (leader) => {
    term = leader.term;
    return untilTold(leader);
  });
  const listeners: number[] = [];
  for (let lost = 1; lost <= 5; lost += 1) {
    await world.until(() => term === lost, 60_000);
    await world.advance(1_500);
    listeners.push(getEventListeners(stop.signal, "abort").length);
    storage.operator.breakLease(container, name);
  }
  expect(listeners).toEqual(Array(5).fill(listeners[0]));
  stop.abort();
  await world.finish(result);
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
});

test("a task that ignores its signal is never run twice at once in one process", async () => {
  const { world, process, storage } = alone();
  let running = 0;
  let most = 0;
  const ports = process();
  void leadOn(ports, { name }, async () => {
    running += 1;
    most = Math.max(most, running);
    await ports.clock.sleep(60_000);
    running -= 1;
  });
  await world.advance(2_000);
  storage.operator.breakLease(container, name);
  await world.advance(30_000);
  expect({ running, most }).toEqual({ running: 1, most: 1 });
  await world.advance(40_000);
  expect({ running, most }).toEqual({ running: 1, most: 1 });
});

test("an error of the task is thrown to the caller, and the lease is free", async () => {
  const { world, process, storage } = alone();
  const result = leadOn(process(), { name }, () => Promise.reject(new Error("of the task")));
  await expect(world.finish(result)).rejects.toThrow("of the task");
  expect(await storage.lease(container, name).view()).toMatchObject({ leaseState: "available" });
});

test("a campaign survives an outage, a single poll does not", async () => {
  const { world, process } = alone();
  let away = true;
  const shy = () =>
    process((lease) => ({
      ...lease,
      view: (options) => (away ? Promise.reject(noAnswer()) : lease.view(options)),
    }));
  await expect(world.finish(leadOn(shy(), { name, wait: false }, untilTold))).rejects.toMatchObject({
    code: "storage-busy",
  });
  const patient = leadOn(shy(), { name }, () => "led");
  await world.advance(120_000);
  away = false;
  expect(await world.finish(patient)).toMatchObject({ kind: "done", value: "led" });
});

test("a reader sees the remaining time of the lease at least, until the term has ended", async () => {
  const { world, process, storage } = alone();
  const stop = new AbortController();
  const led = leadOn(process(), { name, signal: stop.signal }, untilTold);
  const lease = storage.lease(container, name);
  for (let second = 2; second < 30; second += 1) {
    await world.advance(1_000);
    const seen = await currentLeader(lease);
    if (second < 4 || seen.kind !== "known") continue;
    // Renewed each five seconds; the record is a second old and its age may count as another.
    expect(seen.leaseLeftMs).toBeGreaterThan(15_000 - 5_000 - 2_100);
    expect(seen.leaseLeftMs).toBeLessThanOrEqual(15_000);
  }
  stop.abort();
  await world.finish(led);
  expect(await currentLeader(lease)).not.toHaveProperty("leaseLeftMs");
});

test("after the record was deleted the same process still counts its terms upward", async () => {
  const { world, process, storage } = alone();
  const terms: number[] = [];
  void leadOn(process(), { name }, (leader) => {
    terms.push(leader.term);
    return untilTold(leader);
  });
  await world.advance(2_000);
  storage.operator.deleteBlob(container, name);
  await world.advance(5_000);
  expect(terms).toEqual([1, 2]);
});

test("wrong options are refused at once, each by its code", async () => {
  const ports = alone().process();
  const refused = async (options: object): Promise<string> => {
    const error = await leadOn(ports, { name, ...options }, untilTold).catch((one) => one);
    return (error as { code: string }).code;
  };
  expect(await refused({ name: "" })).toBe("bad-name");
  expect(await refused({ name: "a\\b" })).toBe("bad-name");
  expect(await refused({ name: "a//b" })).toBe("bad-name");
  expect(await refused({ name: "a." })).toBe("bad-name");
  expect(await refused({ name: "leader" })).toBe("bad-name");
  expect(await refused({ name: "leases/x" })).toBe("bad-name");
  expect(await refused({ name: "x".repeat(1_001) })).toBe("bad-name");
  expect(await refused({ holder: "" })).toBe("election-holder");
  expect(await refused({ leaseDurationS: 14 })).toBe("election-settings");
  expect(await refused({ breakAfterMs: 2_000 })).toBe("election-settings");
});

test("a blob that Leasefold did not write is left alone", async () => {
  const { world, process, storage } = alone();
  await storage.blobs.ensureContainer(container);
  await storage.blobs.create(container, name, "x", { metadata: { some: "thing" } });
  await expect(world.finish(leadOn(process(), { name }, untilTold))).rejects.toMatchObject({
    code: "record-unreadable",
  });
});
