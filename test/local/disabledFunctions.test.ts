import { cp, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import { startEmbeddedHost } from "../../src/tools/local/host/embeddedHost.ts";
import { manualClock, plainRandom } from "./manualClock.ts";

/** A copy, since a process loads an app once, and other tests load it too. */
const apps = join(import.meta.dirname, "../fixtures/apps");
let appDir = "";
beforeAll(async () => {
  appDir = await mkdtemp(join(apps, ".copy-"));
  await cp(join(apps, "trio"), appDir, { recursive: true });
});
afterAll(() => rm(appDir, { recursive: true }));

test("functions that a setting disables do not run, as on Azure", async () => {
  const [clock, random] = [manualClock(), plainRandom()];
  const storage = memoryStorage({ clock, random });
  await storage.queues.ensureQueue("jobs");
  const started: string[] = [];
  const host = await startEmbeddedHost({
    appDir,
    functionKey: "secret",
    env: { QUEUE: "jobs", TICK_SCHEDULE: "*/5 * * * * *", "AzureWebJobs.tick.Disabled": "true" },
    ...{ clock, random, storage },
    report: (message) => message.kind === "started" && started.push(message.function),
  });
  await storage.queues.send("jobs", '{"do":"ok"}');
  await clock.advance(10_000);
  const stopped = host.stop(0);
  await clock.advance(0);
  await stopped;
  expect(started).toEqual(["work"]);
});
