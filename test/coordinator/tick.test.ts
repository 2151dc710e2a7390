import { expect, test } from "vitest";
import { coordinator } from "../../src/coordinator/tick.ts";
import { electionSettings } from "../../src/election/settings.ts";
import { StorageError } from "../../src/model/errors.ts";
import type { LogEvent } from "../../src/model/log.ts";
import { leadOnTwin } from "./leadOnTwin.ts";

/** A whole coordinator beside one active run. */
async function ticking() {
  const twin = leadOnTwin();
  await twin.addRun("r");
  const logged: LogEvent[] = [];
  const clock = twin.world.clock();
  const { storage, names, world } = twin;
  const one = coordinator(
    { storage, names, clock, random: world.random, log: (event) => logged.push(event), onElection() {} },
    {
      ...{
        holder: "one",
        election: electionSettings({ budgetMs: 60_000 }),
        packLimitMs: 300_000,
        keepDays: 30,
      },
      loop: { loopMs: 2_000, fastLoopMs: 100 },
    },
  );
  const startedAtMonotonicMs = clock.monotonicMs();
  return { ...twin, logged, tick: () => world.finish(one.tick({ startedBy: "tick", startedAtMonotonicMs })) };
}

test("a leader whose list is denied says so in its log and in its outcome, and calls nobody at once", async () => {
  const { tick, storage, names, logged } = await ticking();
  const { list } = storage.blobs;
  let lists = 0;
  storage.blobs.list = async (container, prefix, options) => {
    // The first one tells that a term is worth it; from then on the role is gone.
    if (options?.metadata !== true || lists++ === 0) return list(container, prefix, options);
    throw new StorageError("denied", "AuthorizationPermissionMismatch", 403, "no role");
  };
  expect(await tick()).toMatchObject({ kind: "led", cause: "failed", error: { code: "storage-denied" } });
  expect(logged.filter(({ event }) => event === "leading-failed")).toEqual([
    {
      level: "error",
      event: "leading-failed",
      fields: { term: 1, code: "storage-denied", message: "no role" },
    },
  ]);
  expect(await storage.queues.peek(names.wake, 32)).toEqual([]);
});

test("a leader that is deposed or ends as planned is no failure", async () => {
  const { tick, storage, names, logged, world } = await ticking();
  const led = tick();
  await world.advance(3_000);
  storage.operator.breakLease(names.coordination, "leader");
  expect(await led).toMatchObject({ kind: "led", cause: "lost" });
  expect(logged.map(({ event }) => event)).not.toContain("leading-failed");
});
