import { expect, test } from "vitest";
import { electionSettings } from "../../src/election/settings.ts";
import { coordinate, newTerm } from "../../src/engine/leader/coordinate.ts";
import { Coordinator } from "../../src/engine/leader/tick.ts";
import { totalCalls } from "../../src/engine/model/calls.ts";
import { planOf } from "../support/runFixtures.ts";
import { leadOnTwin } from "./leadOnTwin.ts";
import { ended, unmarked } from "./sweeping.ts";

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
