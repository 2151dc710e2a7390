import { expect, test } from "vitest";
import { limits } from "../../src/engine/model/limits.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, contentTypeOf, planOf } from "../support/runFixtures.ts";
import { leadInMemory } from "./leadInMemory.ts";

const slowly = { loopMs: 2_000, fastLoopMs: 2_000 };

/** Runs of one pack each. `sent`: it was sent and is done, which a list tells. So many markers come on each page. */
async function manyRuns(runs: number, pageSize: number, sent: boolean) {
  const account = leadInMemory();
  const batches = [{ upTo: 1, atMs: Date.UTC(2030, 0, 2) }];
  const state = { ...computing(1), cursor: 1, inFlight: 1, batches, open: { 0: { done: "" } } };
  const ids = Array.from({ length: runs }, (_, run) => `r${String(run).padStart(4, "0")}`);
  for (const id of ids) {
    await account.addRun(id, planOf(1), sent ? { state } : {});
    if (sent)
      await account.storage.blobs.create(account.names.runs, runBlobs(id, `uid${id}`).part(0, 0), "", {
        contentType: contentTypeOf(),
      });
  }
  const { list } = account.storage.blobs;
  account.storage.blobs.list = (container, prefix, options) =>
    list(container, prefix, container === account.names.active ? { ...options, pageSize } : options);
  const inPhase = async (phase: State["phase"]) => {
    const phases = await Promise.all(ids.map(async (id) => (await account.stateOf(id)).phase));
    return phases.filter((one) => one === phase).length;
  };
  return { account, inPhase };
}

test("above twenty pages of markers runs are still advanced in turns, within what is always left for them", async () => {
  const { account, inPhase } = await manyRuns(216, 8, false);
  const pages = await account.lead(60_000, slowly);
  // One more of heartbeats.
  expect(Math.max(...pages)).toBeLessThanOrEqual(27 + 1 + limits.pagesForRunsMin);
  expect(await inPhase("computing")).toBe(216);
});

test("once all had a turn, a run whose marker changed is served first, however many others wait", async () => {
  const { account, inPhase } = await manyRuns(216, 8, false);
  // Eight runs have their turn every two seconds, so this one would wait for almost a minute.
  const allHadTurnMs = 27 * slowly.loopMs;
  const later = () => void account.mark("r0215", { want: "cancelled", command: 1 });
  account.world.clock().after(allHadTurnMs + 1_000, later);
  await account.lead(allHadTurnMs + 1_000 + 2 * slowly.loopMs, slowly);
  expect(await inPhase("cancelled")).toBe(1);
});

test.each([
  ["beyond twenty pages of markers", 208, 8],
  ["on a single page of markers", 96, 5_000],
])("every run %s gets its list pages in the end", async (_what, runs, pageSize) => {
  const { account, inPhase } = await manyRuns(runs, pageSize, true);
  await account.lead(240_000, slowly);
  expect(await inPhase("finishing")).toBe(runs);
});
