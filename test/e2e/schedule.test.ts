import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { leader } from "../../src/engine/client/leader.ts";
import { readSpec } from "../../src/engine/client/runDocuments.ts";
import { addSchedule, deleteSchedule } from "../../src/engine/client/schedules/changeSchedule.ts";
import { backfillSchedule, triggerSchedule } from "../../src/engine/client/schedules/extraRuns.ts";
import { schedule } from "../../src/engine/client/schedules/schedules.ts";
import { startRealApp } from "../support/realApp.ts";

test("runs of a schedule come by the clock, by hand and for the past, and each is complete though its leader is killed", async () => {
  const app = await startRealApp({ instances: 2 });
  await using _ = { [Symbol.asyncDispose]: () => app.stop() };
  const { client, until } = app;
  const run = { calculation: "primes", params: { to: "{year}" }, tags: { night: "{date}" } };
  await addSchedule(client, { name: "s", cron: "* * * * *", overlap: "allow", take: "all", run });
  const dueNext = Date.parse((await schedule(client, "s")).next ?? "");

  const to = new Date(dueNext - 120_000).toISOString();
  const past = await backfillSchedule(client, "s", { from: new Date(dueNext - 180_000).toISOString(), to });
  const byHand = await triggerSchedule(client, "s");
  const asked = [...past.runs, ...byHand.runs].map((one) => one.run);
  expect(asked).toHaveLength(3);
  for (const id of asked) await ended(id);

  // Whoever led last is gone, so that another one finds the next due time.
  const last = await leader(client);
  await app.instances.instances.find(({ name }) => "holder" in last && name === last.holder)?.kill();
  const id = `s-${new Date(dueNext).toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
  const view = await ended(id);
  expect(view.tags).toEqual({ night: new Date(dueNext).toISOString().slice(0, 10) });
  const spec = (await readSpec(client, id))?.value;
  expect(spec).toMatchObject({ schedule: "s", params: { to: new Date(dueNext).getUTCFullYear() } });

  expect((await schedule(client, "s")).recent.map((one) => one.run)).toEqual(expect.arrayContaining(asked));
  await deleteSchedule(client, "s");

  /** Waits for a run that may not be submitted yet. */
  async function ended(one: string) {
    const endMs = performance.now() + 150_000;
    while ((await readSpec(client, one)) === undefined && performance.now() < endMs) await sleep(250);
    const found = await until(one, ({ active }) => !active);
    expect(found).toMatchObject({ word: "complete", submittedBy: "schedule s" });
    return found;
  }
});
