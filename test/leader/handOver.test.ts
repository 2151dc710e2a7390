import { expect, test } from "vitest";
import { coordinate, newTerm } from "../../src/engine/leader/coordinate.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { LogEvent } from "../../src/engine/model/log.ts";
import { decodeMessage } from "../../src/engine/model/message.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, contentTypeIn, contentTypeOf, planOf } from "../support/runFixtures.ts";
import { leadInMemory } from "./leadInMemory.ts";

const slowly = { loopMs: 2_000, fastLoopMs: 2_000 };
/** A run of six packs that were all sent, and none of which has ended or will be late before the test ends. */
const atWork = (): State => ({
  ...{ ...computing(6), cursor: 6, inFlight: 6, open: { 0: { done: "" } } },
  batches: [{ upTo: 6, atMs: Date.UTC(2030, 0, 2) }],
  taken: [{ upTo: 6, atMs: Date.UTC(2030, 0, 2) }],
});

/** Counts state writes, by run. */
function countWrites(account: ReturnType<typeof leadInMemory>): Map<string, number> {
  const writes = new Map<string, number>();
  const { replace } = account.storage.blobs;
  account.storage.blobs.replace = (container, name, body, write) => {
    const id = name.split("/")[0] ?? "";
    if (name.endsWith("state.json")) writes.set(id, (writes.get(id) ?? 0) + 1);
    return replace(container, name, body, write);
  };
  return writes;
}

test("handing over a thousand active runs writes only those of which something is ahead of their state", {}, async () => {
  const account = leadInMemory();
  const dirty = [3, 40, 41, 500, 777, 998, 999].map((run) => `r${run}`);
  for (let run = 0; run < 1_000; run += 1) {
    // One pack of these is still to be sent; what was sent is recorded a second later at the earliest.
    const ahead = dirty.includes(`r${run}`) ? { cursor: 5, inFlight: 5 } : {};
    await account.addRun(`r${run}`, planOf(6), { state: { ...atWork(), ...ahead } });
  }
  const writes = countWrites(account);
  const { log } = account.ports;
  let takenOver = 0;
  Object.assign(account.ports, {
    log: (event: LogEvent) => {
      if (event.event === "run-taken-over" && ++takenOver === 1_000) account.end();
      log(event);
    },
  });
  await account.lead(600_000, slowly);
  expect(takenOver).toBe(1_000);
  expect(new Set(writes.values())).toEqual(new Set([1, 2]));
  expect([...writes].filter(([, times]) => times > 1).map(([id]) => id)).toEqual(dirty);
  for (const id of dirty) expect(await account.stateOf(id)).toMatchObject({ cursor: 6, term: 7 });
});

test("one run whose state storage refuses keeps no other from being written at the end", async () => {
  const account = leadInMemory();
  const runs = 2 * limits.writesAtOnce;
  const ids = Array.from({ length: runs }, (_, run) => `r${run}`);
  for (const id of ids)
    await account.addRun(id, planOf(6), { state: { ...atWork(), cursor: 5, inFlight: 5 } });
  const { replace } = account.storage.blobs;
  const { log } = account.ports;
  let takenOver = 0;
  Object.assign(account.ports, {
    log: (event: LogEvent) => {
      if (event.event === "run-taken-over" && ++takenOver === runs) account.end();
      log(event);
    },
  });
  account.storage.blobs.replace = (...write) =>
    takenOver === runs && write[1].startsWith("r99/")
      ? Promise.reject(new StorageError("refused", "LeaseIdMissing", 412, "leased"))
      : replace(...write);
  await account.lead(600_000, slowly).catch(() => {});
  const cursors = await Promise.all(ids.map(async (id) => (await account.stateOf(id)).cursor));
  expect(cursors.filter((cursor) => cursor === 6)).toHaveLength(runs - 1);
});

test("a leader whose signal fires begins no other batch of runs", async () => {
  const account = leadInMemory();
  for (let run = 0; run < 100; run += 1) await account.addRun(`r${run}`, planOf(6), { state: atWork() });
  const writes = countWrites(account);
  const { replace } = account.storage.blobs;
  account.storage.blobs.replace = (...write) => {
    // The signal comes in the middle of the second batch.
    if (writes.size === limits.runsAtOnce + 3) account.end();
    return replace(...write);
  };
  await account.lead(10_000, slowly);
  expect(writes.size).toBe(2 * limits.runsAtOnce);
  expect(account.world.nowMs()).toBeLessThanOrEqual(10_000);
});

test.each([
  ["in a poll of a run begins nothing beside its runs", "poll", 0],
  ["in what it does beside its runs begins it once", "beside", 1],
])("a leader whose signal fires %s", async (_, where, times) => {
  const account = leadInMemory();
  await account.addRun("r", planOf(6), { state: atWork() });
  const { replace } = account.storage.blobs;
  account.storage.blobs.replace = (...write) => {
    if (where === "poll") account.end();
    return replace(...write);
  };
  let begun = 0;
  const beside = async () => {
    begun += 1;
    account.end();
  };
  const term = newTerm(account.ports, account.leader);
  await account.world.finish(coordinate(term, slowly, beside));
  expect(begun).toBe(times);
});

test.each([
  [false, 2],
  [true, 1],
])(
  "a leader that ends writes what is ahead of a state, and nothing if its lease is lost (%j)",
  async (isLost, times) => {
    const account = leadInMemory();
    // The pack that is still to be sent is recorded a second later at the earliest.
    await account.addRun("r", planOf(6), { state: { ...atWork(), cursor: 5, inFlight: 5 } });
    const writes = countWrites(account);
    const lost = new AbortController();
    Object.assign(account.leader, { lost: lost.signal });
    const beside = async () => {
      if (isLost) lost.abort();
      account.end();
    };
    const term = newTerm(account.ports, account.leader);
    await account.world.finish(coordinate(term, slowly, beside));
    expect(writes).toEqual(new Map([["r", times]]));
  },
);

test("a planned end records what was sent after a write without a reply, too", async () => {
  const account = leadInMemory();
  const { storage, names, world, leader } = account;
  await account.addRun("r", planOf(100), { marker: { cap: 10 } });
  const clock = world.clock();
  const contentType = contentTypeIn(planOf(100), "r", 100);
  const done = async (from: number, to: number) => {
    for (let pack = from; pack < to; pack += 1)
      await storage.blobs.create(names.runs, runBlobs("r", "uidr").part(0, pack), "x", { contentType });
  };
  const sent: number[] = [];
  const { send } = storage.queues;
  storage.queues.send = async (queue, text, options) => {
    const one = queue === names.wake ? undefined : decodeMessage(text);
    if (one?.kind === "compute") sent.push(one.pack);
    return send(queue, text, options);
  };
  // From the first outcomes on no write of the state gets an answer, until the leader ends its term as planned.
  let cut = false;
  const { replace } = storage.blobs;
  storage.blobs.replace = async (container, name, body, write) => {
    if (cut && name.endsWith("state.json") && !leader.signal.aborted)
      throw new StorageError("busy", "", undefined, "no answer");
    return replace(container, name, body, write);
  };
  clock.after(3_000, () => {
    cut = true;
    void done(0, 5);
  });
  clock.after(7_000, () => void done(5, 10));
  await account.lead(20_000);
  const { cursor } = await account.stateOf("r");
  const most = Math.max(...sent);
  expect(cursor).toBe(most + 1);
});

test.each([
  ["final state got no reply", true],
  ["marker could not be removed", false],
])("a run whose %s is not written again at a planned end", async (_, noReply) => {
  const account = leadInMemory();
  const { storage, leader, names } = account;
  const { clock } = account.ports;
  await account.addRun("r", planOf(6), { state: atWork() });
  const contentType = contentTypeOf(100);
  const done = (pack: number) =>
    void storage.blobs.create(names.runs, runBlobs("r", "uidr").part(0, pack), "x", { contentType });
  const { replace } = storage.blobs;
  const phases: string[] = [];
  storage.blobs.replace = async (container, name, body, write) => {
    const reply = await replace(container, name, body, write);
    if (!name.endsWith("state.json") || reply.kind !== "replaced") return reply;
    const { phase } = JSON.parse(String(body)) as State;
    phases.push(phase);
    if (phase !== "cancelled" || leader.signal.aborted) return reply;
    account.end();
    if (noReply) throw new StorageError("busy", "", undefined, "no answer");
    return reply;
  };
  storage.blobs.remove = () => Promise.reject(new StorageError("busy", "ServerBusy", 503, "busy"));
  clock.after(3_000, () => done(0));
  // The state is written once a second at most, so the second outcome is not in it when the cancel comes.
  clock.after(3_300, () => done(1));
  clock.after(3_600, () => void account.mark("r", { want: "cancelled", command: 1 }));
  await account.lead(20_000);
  expect(phases.at(-1)).toBe("cancelled");
  expect(phases.filter((phase) => phase === "cancelled")).toHaveLength(1);
});
