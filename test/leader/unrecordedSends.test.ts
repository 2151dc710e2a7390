import { expect, test } from "vitest";
import { electionSettings } from "../../src/election/settings.ts";
import { Coordinator } from "../../src/engine/leader/tick.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { decodeMessage } from "../../src/engine/model/message.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { contentTypeIn, planOf } from "../support/runFixtures.ts";
import { leadInMemory } from "./leadInMemory.ts";

const contentType = contentTypeIn(planOf(100), "r", 100);

/** Two coordinators, one after the other, on a run of 100 packs with 10 in flight. */
async function twoTerms() {
  const account = leadInMemory();
  const { storage, names, world } = account;
  await account.addRun("r", planOf(100), { marker: { cap: 10 } });
  const clock = world.clock();
  const sent: { holder: string; pack: number; repeat: boolean }[] = [];
  let now = "one";
  const { send } = storage.queues;
  storage.queues.send = async (queue, text, options) => {
    const one = queue === names.wake ? undefined : decodeMessage(text);
    if (one?.kind === "compute") sent.push({ holder: now, pack: one.pack, repeat: one.repeat === true });
    return send(queue, text, options);
  };
  const done = async (from: number, to: number) => {
    for (let pack = from; pack < to; pack += 1)
      await storage.blobs.create(names.runs, runBlobs("r", "uidr").part(0, pack), "x", { contentType });
  };
  const tick = (holder: string, budgetMs: number, stopping?: AbortSignal) => {
    now = holder;
    const one = new Coordinator(
      { storage, names, clock, random: world.random, log() {}, onElection() {} },
      {
        ...{ holder, packLimitMs: 300_000, keepDays: 0 },
        election: electionSettings({ budgetMs }),
        loop: { loopMs: 2_000, fastLoopMs: 100 },
      },
    );
    const startedAtMonotonicMs = clock.monotonicMs();
    return world.finish(
      one.tick({ startedBy: "tick", startedAtMonotonicMs, ...(stopping === undefined ? {} : { stopping }) }),
    );
  };
  /** Packs that the first leader sent and did not record, as the second one sent them. */
  const checkSecond = async () => {
    const { cursor } = await account.stateOf("r");
    const unrecorded = new Set(
      sent.flatMap(({ holder, pack }) => (holder === "one" && pack >= cursor ? [pack] : [])),
    );
    expect(unrecorded.size).toBeGreaterThan(0);
    await tick("two", 20_000);
    const again = sent.filter(({ holder, pack }) => holder === "two" && unrecorded.has(pack));
    expect(again.length).toBeGreaterThan(0);
    return again.filter(({ repeat }) => !repeat).map(({ pack }) => pack);
  };
  return { ...account, tick, done, clock, checkSecond };
}

test("packs that a leader sent and could not record at its planned end are sent as repeats", async () => {
  const { tick, done, clock, checkSecond, storage } = await twoTerms();
  const { replace } = storage.blobs;
  let cut = false;
  storage.blobs.replace = async (container, name, body, write) => {
    if (cut && name.endsWith("state.json")) throw new StorageError("busy", "ServerBusy", 503, "busy");
    return replace(container, name, body, write);
  };
  clock.after(15_000, () => {
    cut = true;
    void done(0, 5);
  });
  await tick("one", 20_000);
  cut = false;
  expect(await checkSecond()).toEqual([]);
});

test("packs that a leader sent before another send failed are sent as repeats after its planned end", async () => {
  const { tick, done, clock, checkSecond, storage } = await twoTerms();
  const { send } = storage.queues;
  let away = false;
  storage.queues.send = async (queue, text, options) => {
    if (away && text.includes('"pack":13,')) throw new StorageError("busy", "ServerBusy", 503, "busy");
    return send(queue, text, options);
  };
  clock.after(15_000, () => {
    away = true;
    void done(0, 5);
  });
  await tick("one", 20_000);
  away = false;
  expect(await checkSecond()).toEqual([]);
});

test.each(["refused", "adopted"])(
  "packs that a leader sent before its state was %s are sent as repeats after its planned end",
  async (how) => {
    const { tick, done, clock, checkSecond, storage } = await twoTerms();
    const { replace } = storage.blobs;
    const stop = new AbortController();
    const writes: string[] = [];
    storage.blobs.replace = async (container, name, body, write) => {
      if (clock.monotonicMs() < 15_000 || !name.endsWith("state.json"))
        return replace(container, name, body, write);
      writes.push(String(body));
      if (writes.length > 1 || how === "refused") stop.abort();
      if (writes.length > 1) return replace(container, name, body, write);
      if (how === "refused") throw new StorageError("refused", "LeaseIdMissing", 412, "leased");
      // The next poll sends packs for these, and then settles this write.
      await done(5, 8);
      throw new StorageError("busy", "ServerBusy", 503, "busy");
    };
    clock.after(15_000, () => void done(0, 5));
    await tick("one", 60_000, stop.signal);
    if (how === "adopted") expect(writes[1]).toBe(writes[0]);
    expect(await checkSecond()).toEqual([]);
  },
);
