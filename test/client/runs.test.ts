import { describe, expect, it } from "vitest";
import { runs } from "../../src/client/status.ts";
import { submit } from "../../src/client/submit.ts";
import { runBlobs } from "../../src/model/runBlobs.ts";
import { clientWorld, names } from "./clientWorld.ts";

const request = { calculation: "sum", params: { to: 100 }, id: "r1" };

describe("the list of runs", () => {
  it("has active runs first, then the newest, and includes unreadable ones", async () => {
    const { client, world, storage, putState } = await clientWorld();
    const ids = ["old", "broken", "newer", "done", "odd", "new", "busy"];
    for (const id of ids) {
      const run = await submit(client, { ...request, id });
      const setMarker = async (metadata: Record<string, string>) => {
        storage.operator.deleteBlob(names.active, id);
        await storage.blobs.create(names.active, id, "", { metadata });
      };
      if (id === "odd") await setMarker({ v: "1", uid: run.uid });
      if (id === "new") await setMarker({ v: "2", uid: run.uid });
      if (id === "broken") storage.operator.overwriteBlob(names.runs, runBlobs(run.run, run.uid).state, "{");
      if (id === "newer") await putState(run, { v: 2 as 1 });
      if (!["busy", "odd", "new"].includes(id)) storage.operator.deleteBlob(names.active, id);
      if (id === "old" || id === "done") await putState(run, { phase: "complete" });
      await world.advance(2_000);
    }
    storage.operator.overwriteBlob(names.runs, "_dropped/abc", "");
    storage.operator.overwriteBlob(names.runs, "gone/uid/state.json", "{}");
    const listed = await runs(client);
    expect(listed.map(({ run, word }) => [run, word])).toEqual([
      ["busy", "waiting"],
      ["new", "needs-newer-version"],
      ["odd", "unreadable"],
      ["done", "complete"],
      ["old", "complete"],
      ["broken", "unreadable"],
      ["newer", "needs-newer-version"],
    ]);
  });

  it("is empty before anything was started", async () => {
    const { client } = await clientWorld({ places: false });
    expect(await runs(client)).toEqual([]);
  });

  it("costs two lists, and two reads for each run", async () => {
    const { client, storage } = await clientWorld();
    for (const id of ["a", "b", "c"]) await submit(client, { ...request, id });
    const before = storage.meter.counts();
    await runs(client);
    const after = storage.meter.counts();
    expect([after.list - before.list, after.read - before.read, after.other - before.other]).toEqual([
      2, 6, 0,
    ]);
  });
});
