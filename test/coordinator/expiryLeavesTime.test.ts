import { expect, test } from "vitest";
import { coordinate, newTerm } from "../../src/coordinator/coordinate.ts";
import { Coordinator } from "../../src/coordinator/tick.ts";
import { electionSettings } from "../../src/election/settings.ts";
import { totalCalls } from "../../src/model/calls.ts";
import { runBlobs } from "../../src/model/runBlobs.ts";
import { planOf } from "../support/runFixtures.ts";
import { leadOnTwin } from "./leadOnTwin.ts";
import { dayMs, ended, unmarked } from "./sweeping.ts";

type Twin = ReturnType<typeof leadOnTwin>;

async function leadFor(twin: Twin, budgetMs: number) {
  const { storage, names, world } = twin;
  const clock = world.clock();
  const one = new Coordinator(
    { storage, names, clock, random: world.random, log() {}, onElection() {} },
    {
      ...{ holder: "one", packLimitMs: 300_000, keepDays: 1 },
      election: electionSettings({ budgetMs, stallAfterMs: 60_000 }),
      loop: { loopMs: 2_000, fastLoopMs: 100 },
    },
  );
  return await world.finish(one.tick({ startedBy: "tick", startedAtMonotonicMs: clock.monotonicMs() }));
}

/** Calls that a run is charged for after a minute, where something beside it makes so many in each loop. */
async function callsOf(besideReads: number): Promise<number> {
  const twin = leadOnTwin();
  const { storage, names, world, leader, ports } = twin;
  await twin.addRun("r", planOf(10));
  const term = newTerm(ports, leader, { gaveWay: false });
  const leading = coordinate(term, { loopMs: 2_000, fastLoopMs: 2_000 }, async () => {
    for (let read = 0; read < besideReads; read += 1) await storage.blobs.head(names.runs, "_expiry");
  });
  await world.advance(60_000);
  twin.end();
  await world.finish(leading);
  return [...term.runs.values()].map(({ working }) => totalCalls(working.calls))[0] ?? Number.NaN;
}

test("what the leader calls beside its runs is none of their cost", async () => {
  expect(await callsOf(20)).toBe(await callsOf(0));
});

/** A run at work beside a folder of a complete run with many partials that its lost clean-up left behind. */
async function besideLeftovers(budgetMs: number) {
  const twin = leadOnTwin();
  const { storage, names, world } = twin;
  await twin.ready;
  for (let one = 0; one < 12_000; one += 1)
    await storage.blobs.create(names.runs, runBlobs("gone", "uidgone").part(0, one), "x");
  await world.advance(dayMs / 2);
  await twin.addRun("r", planOf(10));
  const clock = world.clock();
  // A batch of 256 deletes takes some tenths of a second.
  const { removeMany, list } = storage.blobs;
  storage.blobs.removeMany = async (container, many, options) => {
    await clock.sleep(400 * Math.ceil(many.length / 256));
    return removeMany(container, many, options);
  };
  let lastMs = Number.NaN;
  let gapMs = 0;
  storage.blobs.list = async (container, prefix, options) => {
    if (container === names.active) {
      if (!Number.isNaN(lastMs)) gapMs = Math.max(gapMs, clock.monotonicMs() - lastMs);
      lastMs = clock.monotonicMs();
    }
    await clock.sleep(30);
    return list(container, prefix, options);
  };
  const outcome = await leadFor(twin, budgetMs);
  return { outcome, gapMs };
}

test("a slice of the expiry beside runs keeps them waiting for no more than a few seconds", async () => {
  const { gapMs } = await besideLeftovers(400_000);
  expect(gapMs).toBeLessThan(6_000);
});

test("a hand-over in the middle of the expiry beside runs ends in time", async () => {
  const { outcome } = await besideLeftovers(190_000);
  expect(outcome).toMatchObject({ kind: "led", cause: "budget", drained: true, handedOver: true });
});

test.each([0, 95])(
  "a run at work is polled every five seconds at least, beside %i small runs that expire",
  async (old) => {
    const twin = leadOnTwin();
    const { storage, world } = twin;
    for (let run = 0; run < old; run += 1) await unmarked(twin, `old${run}`, ended("complete"));
    await world.advance(2 * 86_400_000);
    await twin.addRun("r", planOf(2000));
    const clock = world.clock();
    const { removeMany, list, read, remove, head } = storage.blobs;
    const slow =
      <A extends unknown[], R>(ms: number, call: (...given: A) => Promise<R>) =>
      async (...given: A) => {
        await clock.sleep(ms);
        return call(...given);
      };
    Object.assign(storage.blobs, {
      ...{ removeMany: slow(300, removeMany), read: slow(20, read) },
      ...{ remove: slow(20, remove), head: slow(15, head) },
    });
    let lastMs = Number.NaN;
    let gapMs = 0;
    storage.blobs.list = async (container, prefix, options) => {
      if (prefix.includes("uidr/parts")) {
        if (!Number.isNaN(lastMs)) gapMs = Math.max(gapMs, clock.monotonicMs() - lastMs);
        lastMs = clock.monotonicMs();
      }
      await clock.sleep(30);
      return list(container, prefix, options);
    };
    await leadFor(twin, 150_000);
    expect(gapMs).toBeLessThan(5_000);
  },
);
