import { expect, test } from "vitest";
import { electionSettings } from "../../src/election/settings.ts";
import { Coordinator } from "../../src/engine/leader/tick.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import type { LogEvent } from "../../src/engine/model/log.ts";
import { expiryBlob } from "../../src/engine/model/names.ts";
import { planOf } from "../support/runFixtures.ts";
import { leadInMemory } from "./leadInMemory.ts";
import { dayMs, ended, unmarked } from "./sweeping.ts";

/** An app that always has a run at work: each hour one comes, and the one of two hours ago has ended. */
async function threeDays(busy: boolean, refused = false) {
  const account = leadInMemory();
  const { storage, names, world } = account;
  await unmarked(account, "old", ended("complete"));
  // A sweep was made before, as in every app that was idle once.
  await storage.blobs.create(names.runs, expiryBlob, "");
  if (refused) {
    const { head } = storage.blobs;
    storage.blobs.head = (container, name, options) =>
      name === expiryBlob
        ? Promise.reject(new StorageError("denied", "AuthorizationFailure", 403, "no role"))
        : head(container, name, options);
  }
  const clock = world.clock();
  const where = new Set<unknown>();
  const log = ({ fields }: LogEvent) => void where.add(fields["where"]);
  const one = new Coordinator(
    { storage, names, clock, random: world.random, log, onElection() {} },
    {
      ...{ holder: "one", packLimitMs: 300_000, keepDays: 1 },
      election: electionSettings({ budgetMs: 300_000 }),
      loop: { loopMs: 60_000, fastLoopMs: 60_000 },
    },
  );
  const hours = (3 * dayMs) / 3_600_000;
  for (let hour = 0; hour < hours; hour += 1) {
    if (busy) {
      await account.addRun(`b${hour}`, planOf(10));
      if (hour > 1) await storage.blobs.remove(names.active, `b${hour - 2}`);
    }
    const startedAtMonotonicMs = clock.monotonicMs();
    const outcome = await world.finish(one.tick({ startedBy: "tick", startedAtMonotonicMs }));
    if (busy) expect(outcome).toMatchObject({ kind: "led", cause: "budget" });
    await world.advance(3_600_000 - (clock.monotonicMs() - startedAtMonotonicMs));
  }
  const left = storage.operator.blobNames(names.runs).filter((name) => name.startsWith("old/"));
  return { left, failedInExpiry: where.has("expiry") };
}

test("an app that is idle deletes what has expired", async () => {
  expect(await threeDays(false)).toEqual({ left: [], failedInExpiry: false });
});

test("an app that always has a run at work deletes what has expired too", async () => {
  expect(await threeDays(true)).toEqual({ left: [], failedInExpiry: false });
});

test("an app whose expiry storage refuses leads its runs to the end of each term, and says so", async () => {
  const { left, failedInExpiry } = await threeDays(true, true);
  expect(left).not.toEqual([]);
  expect(failedInExpiry).toBe(true);
});
