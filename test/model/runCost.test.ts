import { describe, expect, it } from "vitest";
import { billedCalls, type CallCounts, dollarsOf, subtractCalls } from "../../src/engine/model/calls.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { shardSizeFor } from "../../src/engine/model/packs.ts";
import {
  estimateCalls,
  expectedMs,
  leadingPerMinute,
  type RunShape,
} from "../../src/engine/model/runCost.ts";

function shapeOf(chunks: number, packSize: number, packMs: number, workers = 200): RunShape {
  const shardSize = shardSizeFor(Math.ceil(chunks / packSize));
  const layout = { chunks, packSize, shardSize, fanIn: 1_000 };
  const shape = { layout, packMs, planMs: 500, segments: 0, workers, threads: 2 };
  return { ...shape, durationMs: expectedMs(shape) };
}

const all = ({
  leading: _leading,
  total: _total,
  ...parts
}: ReturnType<typeof estimateCalls>): CallCounts[] => Object.values(parts);
const sum = (counts: readonly CallCounts[]): number =>
  counts.reduce((total, one) => total + billedCalls(one), 0);

describe("the estimated calls of a run", () => {
  it("are at most 0.05 a chunk for a million in packs of a hundred, and 0.075 for packs of more than 5 s", () => {
    const quick = estimateCalls(shapeOf(1_000_000, 100, 1_000));
    const slow = estimateCalls(shapeOf(1_000_000, 100, 10_000));
    expect(sum(all(quick)) / 1_000_000).toBeLessThan(0.05);
    expect(sum(all(slow)) / 1_000_000).toBeLessThan(0.075);
    // The total includes leading, which is little, since so many workers are done in minutes.
    expect(billedCalls(quick.total) / 1_000_000).toBeLessThan(0.05);
    expect(billedCalls(slow.total) / 1_000_000).toBeLessThan(0.075);
  });

  it("are exactly thirty thousand queue calls and ten thousand writes for ten thousand packs", () => {
    const { packs } = estimateCalls(shapeOf(1_000_000, 100, 1_000));
    expect(packs).toEqual({ write: 10_000, list: 0, read: 0, other: 0, queue: 30_000, delete: 10_000 });
  });

  it("grow by the same four billed calls with every pack that is not short, for runs of any size", () => {
    for (const packs of [10, 300, 5_000, 1_000_000]) {
      const [less, more] = [shapeOf(packs * 2, 2, 250), shapeOf((packs + 1) * 2, 2, 250)];
      const grown = subtractCalls(estimateCalls(more).packs, estimateCalls(less).packs);
      expect(grown).toEqual({ write: 1, list: 0, read: 0, other: 0, queue: 3, delete: 1 });
    }
  });

  it("are at most two reads of the marker for a short pack, and one every few seconds for a long one", () => {
    for (const packMs of [10, 1_000, 4_000, 6_000, 300_000]) {
      for (const workers of [1, 2, 40, 2_000]) {
        const { reads } = estimateCalls(shapeOf(20_000, 10, packMs, workers));
        const each = Math.max(2, (packMs + 500) / limits.wantedEveryMs);
        expect(reads.other).toBeLessThanOrEqual(each * 2_000);
      }
    }
  });

  it.each([0, 1])("have a cost for a run of %d chunks too", (chunks) => {
    const { total } = estimateCalls(shapeOf(chunks, 1, 100));
    expect(dollarsOf(total)).toBeGreaterThan(0);
    expect(dollarsOf(total)).toBeLessThan(0.001);
  });

  it("are at most 300 for a minute of leading", () => {
    expect(billedCalls(leadingPerMinute)).toBeLessThan(300);
  });

  it("are those of heartbeats too where packs take longer than 5 s", () => {
    expect(billedCalls(estimateCalls(shapeOf(1_000, 1, 5_000)).heartbeats)).toBe(0);
    const { heartbeats } = estimateCalls({ ...shapeOf(1_000, 1, 60_000), workers: 40, durationMs: 600_000 });
    // Twenty instances for ten minutes, and a thousand packs.
    expect(billedCalls(heartbeats)).toBeCloseTo(200 * 7.5 + 1_000 * 0.95, 6);
  });
});
