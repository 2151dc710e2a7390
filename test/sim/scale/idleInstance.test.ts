import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { addCalls, calls, dollarsOf, scaleCalls, totalCalls } from "../../../src/engine/model/calls.ts";
import { readHostSettings } from "../../../src/engine/model/hostSettings.ts";
import { namesOf } from "../../../src/engine/model/names.ts";
import { memoryStorage } from "../../../src/engine/storage/memory/memoryStorage.ts";
import { makeHostLog } from "../../../src/host/hostLog.ts";
import { startQueueListener } from "../../../src/host/queueTrigger.ts";
import { virtualWorld } from "../../support/virtualClock.ts";
import { idleHour } from "./idleHour.ts";

const root = join(import.meta.dirname, "../../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const { queues: settings } = readHostSettings(read("host.json"), {});

/** The queues that have a function; `test/functions/triggers.test.ts` holds that no other has one. */
const names = namesOf("idle");
const polledQueues = [names.packs, names.urgent, names.wake];

/** Calls of an hour at rest, an hour after the last message: the host's polls, and the ticks of the app. */
async function hourAtRest(maxPollingIntervalMs: number) {
  const world = virtualWorld();
  const { random } = world;
  const clock = world.clock();
  const { queues } = memoryStorage({ clock, random });
  let polls = 0;
  const listeners = polledQueues.map((queue) =>
    startQueueListener({
      ...settings,
      ...{ queue, clock, random, maxPollingIntervalMs, log: makeHostLog(() => {}), invoke: async () => true },
      queues: {
        ...queues,
        receive: (...asked) => {
          polls += 1;
          return queues.receive(...asked);
        },
      },
    }),
  );
  await world.advance(3_600_000);
  polls = 0;
  await world.advance(3_600_000);
  await world.finish(Promise.all(listeners.map((one) => one.stop())));
  return addCalls(calls({ queue: polls }), await idleHour());
}

const hoursOfMonth = 730;

test("an idle instance calls and costs what the page says, for each interval", async () => {
  const page = read("docs/OPERATIONS.md");
  const rows = [...page.matchAll(/^\| (\d+) s \| (\d+) \| (\d+\.\d\d) \|$/gm)].map((row) =>
    row.slice(1).map(Number),
  );
  expect(rows).toHaveLength(3);
  for (const [seconds = 0, perMinute, dollars] of rows) {
    const hour = await hourAtRest(1_000 * seconds);
    expect.soft(Math.round(totalCalls(hour) / 60), `${seconds} s`).toBe(perMinute);
    expect
      .soft(dollarsOf(scaleCalls(hour, hoursOfMonth)).toFixed(2), `${seconds} s`)
      .toBe(dollars?.toFixed(2));
  }
});

test("at rest an instance that is kept up costs at most a dollar a month", async () => {
  const hour = await hourAtRest(settings.maxPollingIntervalMs);
  expect(dollarsOf(scaleCalls(hour, hoursOfMonth))).toBeLessThanOrEqual(1);
});
