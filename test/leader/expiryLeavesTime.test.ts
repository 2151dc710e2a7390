import { expect, test } from "vitest";
import { electionSettings } from "../../src/election/settings.ts";
import { Coordinator } from "../../src/engine/leader/tick.ts";
import { planOf } from "../support/runFixtures.ts";
import { leadInMemory } from "./leadInMemory.ts";
import { ended, unmarked } from "./sweeping.ts";

type Led = ReturnType<typeof leadInMemory>;

async function leadFor(account: Led, budgetMs: number) {
  const { storage, names, world } = account;
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

test.each([0, 95])(
  "a run at work is polled every five seconds at least, beside %i small runs that expire",
  async (old) => {
    const account = leadInMemory();
    const { storage, world } = account;
    for (let run = 0; run < old; run += 1) await unmarked(account, `old${run}`, ended("complete"));
    await world.advance(2 * 86_400_000);
    await account.addRun("r", planOf(2000));
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
    await leadFor(account, 150_000);
    expect(gapMs).toBeLessThan(5_000);
  },
);
