import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import { startEmbeddedHost } from "../../src/tools/local/host/embeddedHost.ts";
import { manualClock, plainRandom } from "./manualClock.ts";

/** In a file of its own: a process loads an app once. */
test("functions that a setting disables do not run, as on Azure", async () => {
  const [clock, random] = [manualClock(), plainRandom()];
  const storage = memoryStorage({ clock, random });
  await storage.queues.ensureQueue("jobs");
  const started: string[] = [];
  const host = await startEmbeddedHost({
    appDir: fileURLToPath(new URL("../fixtures/apps/trio", import.meta.url)),
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
