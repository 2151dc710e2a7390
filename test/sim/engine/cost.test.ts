import { describe, expect, it } from "vitest";
import {
  addCalls,
  billedCalls,
  type CallCounts,
  calls,
  subtractCalls,
} from "../../../src/engine/model/calls.ts";
import { expiryBlob } from "../../../src/engine/model/names.ts";
import { shardSizeFor, shardsOf } from "../../../src/engine/model/packs.ts";
import { estimateCalls, expectedMs } from "../../../src/engine/model/runCost.ts";
import { countedStorage } from "../../support/countedStorage.ts";
import { engineWorld, simNames } from "../../support/engineWorld.ts";

const packSize = 10;

/** Packs of half to one and a half of the mean, so that they do not all end at once. */
const unlike = (chunk: number): number => 0.5 + ((Math.floor(chunk / packSize) * 0.618_034) % 1);

/** Runs it in virtual time, its leader apart from its workers; what each called, and what was estimated for that time. */
async function measured(run: { packs: number; packMs: number; instances: number }, seed = 5) {
  const chunks = run.packs * packSize;
  const [leader, workers] = [countedStorage(), countedStorage()];
  const engine = engineWorld({
    seed,
    code: { chunkMs: (chunk) => unlike(chunk) * (run.packMs / packSize) },
  });
  engine.start({ works: false, tickEveryMs: 1e9, translated: leader.counting });
  for (let count = 0; count < run.instances; count += 1) {
    engine.start({ leads: false, translated: workers.counting });
  }
  await engine.world.advance(3_000);
  // The day's sweep was made: it is no part of a run's cost.
  await engine.storage.blobs.create(simNames.runs, expiryBlob, "");
  const before = { leader: leader.counts(), workers: workers.counts() };
  const startedMs = engine.world.nowMs();
  await engine.submit({ id: "r", chunks, packSize });
  const state = await engine.untilEnd("r");
  const durationMs = engine.world.nowMs() - startedMs;
  // The clean-up comes after the end.
  await engine.world.advance(60_000);

  const layout = { chunks, packSize, shardSize: shardSizeFor(run.packs), fanIn: 1_000 };
  const shape = { layout, packMs: run.packMs, planMs: run.packMs / 2, segments: 0, durationMs };
  const cost = estimateCalls({ ...shape, workers: 2 * run.instances, threads: 2 });
  const byLeader = subtractCalls(leader.counts(), before.leader);
  const byWorkers = subtractCalls(workers.counts(), before.workers);
  const heartbeats = workers.inContainer(simNames.coordination);
  const inQueues = [simNames.packs, simNames.urgent]
    .flatMap((queue) => [leader.inQueue(queue), workers.inQueue(queue)])
    .reduce((sum, one) => sum + one, 0);
  const sent = [simNames.packs, simNames.urgent].reduce((sum, queue) => sum + leader.inQueue(queue), 0);
  return {
    ...{ layout, durationMs, cost, heartbeats, inQueues },
    byWorkers: subtractCalls(byWorkers, heartbeats),
    again: state.resends,
    expected: expectedMs({ ...shape, workers: 2 * run.instances }),
    /** Peeks included; without the messages of packs, nodes and so on, and the looks for nodes, which are theirs. */
    leading: subtractCalls(byLeader, calls({ queue: sent, other: cost.nodes.write / 2 })),
    /** With what the client called: spec, marker and two wakes. */
    total: [byLeader, byWorkers, calls({ write: 2, queue: 2 })].reduce(addCalls),
  };
}

const offBy = (found: CallCounts, estimated: CallCounts): number =>
  Math.abs(billedCalls(found) / billedCalls(estimated) - 1);

describe.each([
  { packs: 250, packMs: 1_500, instances: 2 },
  { packs: 1_500, packMs: 300, instances: 4 },
  { packs: 200, packMs: 8_000, instances: 8 },
])("a simulated run of $packs packs of $packMs ms", (run) => {
  const measuring = measured(run);

  it("calls for its packs, nodes, finish and clean-up exactly what was estimated", async () => {
    const { layout, cost, byWorkers, inQueues, again } = await measuring;
    const { plan, packs, nodes, finish, cleanUp } = cost;
    const exact = [plan, packs, nodes, finish, cleanUp].reduce(addCalls);
    expect(inQueues).toBe(exact.queue + 3 * again);
    expect(byWorkers.write).toBe(exact.write + again);
    expect(byWorkers.list).toBe(exact.list);
    expect(byWorkers.delete).toBe(exact.delete);
    expect(byWorkers.read).toBe(cleanUp.read + cost.reads.read);
    expect(shardsOf(layout)).toBe(run.packs > 256 ? nodes.write / 2 : 1);
  });

  it("reads the marker about as often as estimated, and less than twice a pack", async () => {
    const { cost, byWorkers } = await measuring;
    const heads = byWorkers.other - cost.cleanUp.other;
    expect(heads).toBeLessThan(2 * run.packs);
    expect(Math.abs(heads - cost.reads.other)).toBeLessThan(0.25 * cost.reads.other + 2 * run.instances);
  });

  it("takes about as long as was expected of so many workers", async () => {
    const { expected, durationMs } = await measuring;
    expect(Math.abs(durationMs / expected - 1)).toBeLessThan(0.15);
  });

  it("is led for what was estimated for its time, within 15 %", async () => {
    // One world may have its last packs at a moment of slow polls, so three count together.
    const worlds = [await measuring, await measured(run, 6), await measured(run, 7)];
    for (const { durationMs } of worlds) expect(durationMs).toBeGreaterThan(60_000);
    const sumOf = (counts: (one: (typeof worlds)[number]) => CallCounts) =>
      worlds.map(counts).reduce(addCalls);
    expect(
      offBy(
        sumOf(({ leading }) => leading),
        sumOf(({ cost }) => cost.leading),
      ),
    ).toBeLessThan(0.15);
  });

  it("writes heartbeats about as often as estimated, and none where packs take milliseconds", async () => {
    const { cost, heartbeats } = await measuring;
    expect(Math.abs(billedCalls(heartbeats) - billedCalls(cost.heartbeats))).toBeLessThan(
      0.15 * billedCalls(cost.heartbeats) + 5,
    );
  });

  it("makes at most 300 calls a minute for being led", async () => {
    const { leading, durationMs } = await measuring;
    expect(billedCalls(leading) / (durationMs / 60_000)).toBeLessThan(300);
  });

  it("calls in all what was estimated, within 15 %", async () => {
    const { cost, total } = await measuring;
    expect(offBy(total, cost.total)).toBeLessThan(0.15);
  });
});
