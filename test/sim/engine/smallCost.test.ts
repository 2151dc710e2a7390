import { expect, test } from "vitest";
import { dollarsOf, subtractCalls } from "../../../src/engine/model/calls.ts";
import { expiryBlob } from "../../../src/engine/model/names.ts";
import { flexBilling, flexDollars } from "../../../src/engine/model/prices.ts";
import { countedStorage } from "../../support/countedStorage.ts";
import { engineWorld, simNames } from "../../support/engineWorld.ts";

/** On the real Functions host, on 28 November 2026, it was $0.0072 in packs of one chunk, in 65 to 80 s. */
test("200 chunks of half a second on one instance of two threads cost at most $0.0041 at list prices", async () => {
  const counted = countedStorage();
  const engine = engineWorld({ seed: 5, code: { chunkMs: () => 500 } });
  engine.start({ translated: counted.counting });
  await engine.world.advance(3_000);
  // The day's sweep was made: it is no part of a run's cost.
  await engine.storage.blobs.create(simNames.runs, expiryBlob, "");
  const before = counted.counts();
  await engine.submit({ id: "r", chunks: 200 });
  while (!engine.instances[0]?.leading()) await engine.world.advance(100);
  const fromMs = engine.world.nowMs();
  const state = await engine.untilEnd("r");
  const seconds = (engine.world.nowMs() - fromMs) / 1_000;
  // The clean-up comes after the end.
  await engine.world.advance(5_000);
  const storage = dollarsOf(subtractCalls(counted.counts(), before));
  const computing = seconds * (flexBilling.memoryMb / 1_024) * flexDollars.perGbS;
  const executions = (2 * state.packsDone * flexDollars.perMillionExecutions) / 1e6;
  const dollars = storage + computing + executions;
  console.log(`$${dollars.toFixed(4)}: ${seconds.toFixed(1)} s, calls of storage $${storage.toFixed(4)}`);
  expect(state.phase).toBe("complete");
  expect(dollars).toBeLessThan(0.0041);
  expect(seconds).toBeLessThan(60);
});
