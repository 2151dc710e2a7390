import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { containersOf, namesOf, queuesOf } from "../../src/engine/model/names.ts";
import { startAzurite } from "../../src/tools/local/azurite.ts";
import { findAppDir } from "../../src/tools/local/embedded.ts";
import { ask, startFleet, until } from "../support/fleet.ts";
import { startRealApp } from "../support/realApp.ts";
import { putStored, readWire, releases, storedIn, writesWire, writeWire } from "../support/wireFixture.ts";

const calculations = [join(import.meta.dirname, "../fixtures/wire.calculation.ts")];
const request = { calculation: "wire", params: { chunks: 60, ms: 100 }, packSize: 1 };
const names = namesOf("leasefold");

/** Real processes, killed in the middle of a run; beside it a run that has ended. */
async function write(): Promise<void> {
  const app = await startRealApp({ instances: 2, calculations, stopGraceMs: 0 });
  try {
    await submit(app.client, { ...request, id: "done", packSize: 7 });
    await app.until("done", ({ active }) => !active);
    const result = await app.result("done");
    await submit(app.client, { ...request, id: "half" });
    await app.until("half", ({ packs }) => (packs?.done ?? 0) >= 15, 50);
    await app.instances.stopAll();
    await new Promise((resolve) => setTimeout(resolve, 35_000));
    await writeWire("real", { atMs: 0, ...(await storedIn(app.client.storage, names)), result });
  } finally {
    await app.stop();
  }
}

beforeAll(async () => {
  if (writesWire) await write();
});

test.each(await releases())(
  "instances of this build list what those of release %s left on Azurite, and finish its run with the same bytes",
  async (release) => {
    const stored = await readWire(release, "real");
    const azurite = await startAzurite({});
    try {
      const storage = connectStorage({ connectionString: azurite.connectionString });
      for (const container of containersOf(names)) await storage.blobs.ensureContainer(container);
      for (const queue of queuesOf(names)) await storage.queues.ensureQueue(queue);
      await putStored(storage, stored);
      const fleet = await startFleet("now", findAppDir(), azurite, calculations);
      try {
        azurite.onMessage(fleet.pollNow);
        const listed = (await (await ask(fleet, "runs")).json()) as { runs: { run: string; word: string }[] };
        expect(listed.runs.map(({ run }) => run).sort()).toEqual(["done", "half"]);
        expect(listed.runs.find(({ run }) => run === "done")?.word).toBe("complete");
        const { word } = await until(fleet, "half", (view) => /complete|failed/.test(view.word));
        expect(word).toBe("complete");
        for (const run of ["half", "done"])
          expect(await (await ask(fleet, `runs/${run}/result`)).text()).toBe(stored.result);
        expect((await storage.blobs.list(names.runs, "_dropped/")).blobs).toEqual([]);
      } finally {
        await fleet.stopAll();
      }
    } finally {
      await azurite.stop();
    }
  },
  180_000,
);
