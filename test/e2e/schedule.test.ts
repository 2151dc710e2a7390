import { expect, test } from "vitest";
import { leader } from "../../src/engine/client/leader.ts";
import { readSpec } from "../../src/engine/client/runDocuments.ts";
import {
  addSchedule,
  deleteSchedule,
  schedules,
  triggerSchedule,
} from "../../src/engine/client/schedules/changeSchedule.ts";
import { startRealApp } from "../support/realApp.ts";

test("runs of a schedule come by the clock, by hand and for the past, and each is complete though its leader is killed", async () => {
  const app = await startRealApp({ instances: 2 });
  await using _ = { [Symbol.asyncDispose]: () => app.stop() };
  const { client, until } = app;
  const run = { calculation: "primes", params: { to: 1_000 }, tags: { night: "{date}" } };
  const added = await addSchedule(client, { name: "s", cron: "* * * * *", overlap: "allow", run });
  const dueMs = Date.parse(added.first.due);

  const past = await triggerSchedule(client, "s", new Date(dueMs - 120_000).toISOString());
  const byHand = await triggerSchedule(client, "s");
  for (const { run: id } of [past, byHand]) await ended(id);

  // Whoever led last is gone, so that another one finds the next due time.
  const last = await leader(client);
  await app.instances.instances.find(({ name }) => "holder" in last && name === last.holder)?.kill();
  const view = await ended(added.first.run);
  expect(view).toMatchObject({
    submittedBy: "schedule s",
    tags: { night: new Date(dueMs).toISOString().slice(0, 10) },
  });
  expect((await schedules(client)).schedules[0]?.last?.phase).toBeDefined();
  await deleteSchedule(client, "s");

  /** Waits for a run that may not be submitted yet. */
  async function ended(one: string) {
    await expect.poll(() => readSpec(client, one), { interval: 250 }).toBeDefined();
    const found = await until(one, ({ active }) => !active);
    expect(found).toMatchObject({ word: "complete" });
    return found;
  }
});
