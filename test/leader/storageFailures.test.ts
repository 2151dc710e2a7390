import { expect, test } from "vitest";
import { pollCallsOf } from "../../src/engine/leader/decide/pollCalls.ts";
import { newLists } from "../../src/engine/leader/notes.ts";
import { poll } from "../../src/engine/leader/poll/poll.ts";
import type { Leader } from "../../src/engine/leader/term.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { decodeMessage } from "../../src/engine/model/message.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { shardOf } from "../../src/engine/model/packs.ts";
import { runBlobs, workName } from "../../src/engine/model/runBlobs.ts";
import type { State } from "../../src/engine/model/state.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";
import { computing, contentTypeIn, marker, planOf, runNotes, spec } from "../support/runFixtures.ts";
import { startMs, step } from "./deciding.ts";
import { leadInMemory } from "./leadInMemory.ts";

const busy = () => new StorageError("busy", "ServerBusy", 503, "busy");

test.each(["request", "reply"])(
  "a state write whose %s is lost is repeated though nothing else happens",
  async (lost) => {
    const account = leadInMemory();
    const batches = [{ upTo: 10, atMs: Date.UTC(2030, 0, 1) }];
    const state: State = { ...computing(10), cursor: 10, batches, open: { 0: { done: "" } } };
    await account.addRun("r", planOf(10), { state, marker: { want: "paused", turn: 1, command: 1 } });
    const { replace } = account.storage.blobs;
    let losses = 0;
    account.storage.blobs.replace = async (container, name, body, write) => {
      // The second write is the one that answers the command; the first is the seal.
      const loses =
        name.endsWith("state.json") && (JSON.parse(String(body)) as State).command === 1 && losses++ === 0;
      if (loses && lost === "request") throw busy();
      const reply = await replace(container, name, body, write);
      if (loses) throw busy();
      return reply;
    };
    await account.lead(8_000, { loopMs: 2_000, fastLoopMs: 2_000 });
    expect(losses).toBeGreaterThan(0);
    expect(await account.stateOf("r")).toMatchObject({ command: 1, answer: "done", paused: true });
  },
);

test("a send that keeps failing has none of the others made twice", async () => {
  const account = leadInMemory();
  await account.addRun("r", planOf(400));
  const { send } = account.storage.queues;
  let refused = 0;
  const sent = new Map<string, number>();
  account.storage.queues.send = async (queue, text, options) => {
    // More often than a send is tried, so that a whole round of sends ends in its error.
    if (text.includes('"pack":5,') && refused++ < 10) throw busy();
    sent.set(text, (sent.get(text) ?? 0) + 1);
    return send(queue, text, options);
  };
  await account.lead(20_000);
  const state = await account.stateOf("r");
  expect(state.cursor).toBe(256);
  expect(sent.size).toBe(257);
  expect(Math.max(...sent.values())).toBe(1);
});

test("a list of failures that storage did not answer does not count", async () => {
  const { state, notes } = step(computing(12));
  const storage = { blobs: { list: () => Promise.reject(busy()) } } as unknown as Storage;
  const leader = { lost: new AbortController().signal } as Leader;
  const lists = newLists(0);
  const run = { term: { storage, names: namesOf("x"), leader }, spec, marker, working: state, notes, lists };
  const time = { nowMs: 0, localMs: 5_000 };
  const calls = pollCallsOf(run, time);
  expect(calls.failures).toBe(true);
  await expect(poll(run, calls, time, { pages: { left: 9 }, pagesMax: 5 })).rejects.toThrow("busy");
  expect(run.lists).toEqual(newLists(0));
});

test("the time of the oldest pack's send does not move on with the run", () => {
  const notes = runNotes();
  let state: State = computing(100_000);
  notes.window = 100;
  for (let loop = 0; loop < 300; loop += 1) {
    notes.window = 2_000;
    state = step({ ...state, rate: 1_000 }, {}, notes, loop * 2_000).state;
    state.inFlight = 0;
  }
  expect(state.batches.length).toBeLessThanOrEqual(41);
  const [first] = state.batches;
  expect(first?.atMs).toBeLessThan(startMs + 60_000);
});

test("a state write that storage refuses for minutes has no recorded task sent twice", async () => {
  const account = leadInMemory();
  const plan = planOf(400_000);
  const sealed = 100;
  const done = sealed * plan.shardSize;
  const state: State = { ...computing(400_000), cursor: done, packsDone: done, chunksDone: done, cap: 1 };
  for (let shard = 0; shard < sealed; shard += 1) {
    state.sealed[shard] = { gen: 1, node: false };
    const name = workName({ kind: "node", level: 1, index: shard });
    state.tasks[name] = { send: 1, sentMs: Date.UTC(2030, 0, 1), losses: 0, awaitedFrom: 1 };
  }
  await account.addRun("big", plan, { state, marker: { cap: 1 } });
  const sent = new Map<string, number>();
  const { send } = account.storage.queues;
  account.storage.queues.send = (queue, text, options) => {
    sent.set(text, (sent.get(text) ?? 0) + 1);
    return send(queue, text, options);
  };
  const { replace } = account.storage.blobs;
  let [recorded, refused] = [false, 0];
  account.storage.blobs.replace = (container, name, body, write) => {
    // The last one that is taken records the sends: an earlier leader may have sent these tasks, and nobody has them.
    if (!name.endsWith("state.json") || !recorded) {
      recorded = (JSON.parse(String(body)) as State).resends === sealed;
      return replace(container, name, body, write);
    }
    refused += 1;
    return Promise.reject(busy());
  };
  await expect(account.lead(29_000)).rejects.toThrow("busy");
  expect(refused).toBeGreaterThan(3);
  const combines = [...sent].filter(([text]) => text.includes('"combine"'));
  expect(combines).toHaveLength(sealed);
  expect(new Set(combines.map(([, times]) => times))).toEqual(new Set([1]));
});

test("a task that was sent is marked in the state, so that the next leader does not send it again", async () => {
  const account = leadInMemory();
  const unplanned = { ...computing(0), phase: "planning" as const };
  const { layout: _layout, ...state } = unplanned;
  await account.addRun("r", planOf(10), { state });
  account.storage.operator.deleteBlob(account.names.runs, runBlobs("r", "uidr").plan);
  await account.lead(5_000);
  expect((await account.stateOf("r")).tasks["plan"]).toMatchObject({ send: 1, enqueued: true });
  const plans = async () => (await account.storage.queues.peek(account.names.urgent, 32)).length;
  expect(await plans()).toBe(1);
  account.nextTerm();
  await account.lead(5_000);
  expect((await account.stateOf("r")).term).toBe(8);
  expect(await plans()).toBe(1);
});

test("packs that were computed before a failed send are not resent after a pause", async () => {
  const account = leadInMemory();
  const { storage, names, world } = account;
  const plan = planOf(300);
  await account.addRun("r", plan);
  const { send } = storage.queues;
  const sent: { readonly atMs: number; readonly pack: number }[] = [];
  const startedMs = world.nowMs();
  const sinceMs = () => world.nowMs() - startedMs;
  storage.queues.send = async (queue, text, options) => {
    if (text.includes('"pack":200,') && sinceMs() < 30_000) throw busy();
    const message = queue === names.wake ? undefined : decodeMessage(text);
    if (message?.kind === "compute") sent.push({ atMs: sinceMs(), pack: message.pack });
    return send(queue, text, options);
  };
  const contentType = contentTypeIn(plan);
  const clock = world.clock();
  clock.after(5_000, () => {
    for (let pack = 0; pack < 100; pack += 1) {
      const name = runBlobs("r", "uidr").part(shardOf(plan, pack), pack);
      void storage.blobs.create(names.runs, name, "x", { contentType });
    }
  });
  clock.after(20_000, () => void account.mark("r", { want: "paused", turn: 1, command: 1 }));
  clock.after(30_000, () => void account.mark("r", { want: "run", turn: 2, command: 2 }));
  await account.lead(40_000);
  const resumed = sent.filter(({ atMs }) => atMs > 30_000).map(({ pack }) => pack);
  expect(resumed).toContain(250);
  expect(resumed.filter((pack) => pack < 100)).toEqual([]);
});
