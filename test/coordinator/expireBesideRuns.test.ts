import { expect, test } from "vitest";
import { Coordinator } from "../../src/coordinator/tick.ts";
import { electionSettings } from "../../src/election/settings.ts";
import { expiryBlob } from "../../src/model/names.ts";
import { planOf } from "../support/runFixtures.ts";
import { leadOnTwin } from "./leadOnTwin.ts";
import { dayMs, ended, unmarked } from "./sweeping.ts";

/** An app that always has a run at work: each hour one comes, and the one of two hours ago has ended. */
async function tenDays(busy: boolean) {
  const twin = leadOnTwin();
  const { storage, names, world } = twin;
  await unmarked(twin, "old", ended("complete"));
  await storage.blobs.create(names.runs, "nobody/owns/parts/00000/00000000", "x");
  // A sweep was made before, as in every app that was idle once.
  await storage.blobs.create(names.runs, expiryBlob, "");
  const clock = world.clock();
  const one = new Coordinator(
    { storage, names, clock, random: world.random, log() {}, onElection() {} },
    {
      ...{ holder: "one", packLimitMs: 300_000, keepDays: 1 },
      election: electionSettings({ budgetMs: 300_000 }),
      loop: { loopMs: 60_000, fastLoopMs: 60_000 },
    },
  );
  const hours = (10 * dayMs) / 3_600_000;
  for (let hour = 0; hour < hours; hour += 1) {
    if (busy) {
      await twin.addRun(`b${hour}`, planOf(10));
      if (hour > 1) await storage.blobs.remove(names.active, `b${hour - 2}`);
    }
    const startedAtMonotonicMs = clock.monotonicMs();
    const outcome = await world.finish(one.tick({ startedBy: "tick", startedAtMonotonicMs }));
    if (busy) expect(outcome).toMatchObject({ kind: "led", cause: "budget" });
    await world.advance(3_600_000 - (clock.monotonicMs() - startedAtMonotonicMs));
  }
  return storage.operator
    .blobNames(names.runs)
    .filter((name) => name.startsWith("old/") || name.startsWith("nobody/"));
}

test("an app that is idle deletes what has expired", async () => {
  expect(await tenDays(false)).toEqual([]);
});

test("an app that always has a run at work deletes what has expired too", async () => {
  expect(await tenDays(true)).toEqual([]);
});
