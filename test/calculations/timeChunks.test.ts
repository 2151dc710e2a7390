import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ChunkRange,
  keepSamples,
  roundsFor,
  type Samples,
  spread,
  timeChunks,
} from "../../src/engine/calculation/timeChunks.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { packSizeFor } from "../../src/engine/model/packs.ts";

const counted = (chunks: number) => ({ chunks, list: false });
const none: Samples = new Map();
const costs = { min: 0.001, max: 20_000, noNaN: true };

async function timed(chunks: number, msOf: (chunk: number) => number) {
  const seen: ChunkRange[] = [];
  const ms = await timeChunks(counted(chunks), none, async (chunk) => {
    seen.push(chunk);
    return { ms: msOf(chunk.from) };
  });
  return { ms, seen };
}

describe("timing chunks", () => {
  it("timeChunks times a few chunks, spread over the run", async () => {
    const { seen } = await timed(1_000, () => 0.2);
    expect(seen.map(({ from }) => from)).toEqual([100, 300, 500, 700, 900]);
    expect(seen[0]).toEqual({ from: 100, to: 101, count: 1_000 });
  });

  it("timeChunks skips the first chunk, which includes loading the code, unless it is the only one", async () => {
    expect((await timed(20, (chunk) => (chunk === 2 ? 90 : 4))).ms).toBe(4);
    expect((await timed(1, () => 900)).ms).toBe(900);
  });

  it("timeChunks stops when the samples have taken two seconds together", async () => {
    const { ms, seen } = await timed(1_000, () => limits.planSampleMsMax);
    expect([ms, seen.length]).toEqual([limits.planSampleMsMax, 1]);
  });

  it.each([
    [6, 500, 1],
    [40, 500, 2],
    [100, 500, 4],
    [6, 100, 2],
    [6, 20, 5],
  ])("timeChunks computes of %i chunks of %i ms %i", async (chunks, chunkMs, samples) => {
    expect((await timed(chunks, () => chunkMs)).seen).toHaveLength(samples);
  });

  it("all samples but the first take at most 5 % of the run, or as much as the shortest pack", async () => {
    const steady = fc.asyncProperty(
      fc.integer({ min: 1, max: 100_000 }),
      fc.double(costs),
      async (chunks, one) => {
        let spentMs = 0;
        const costOf = ({ from, to }: ChunkRange): number => (to - from) * one;
        await timeChunks(counted(chunks), none, async (chunk) => {
          spentMs += costOf(chunk);
          return { ms: costOf(chunk) };
        });
        const least = Math.max(limits.packMsMin, one);
        expect(spentMs).toBeLessThanOrEqual(1.000_001 * Math.max(least, 0.05 * chunks * one));
      },
    );
    await fc.assert(steady);
  });

  it.each([
    { chunks: 1_600, chunkMs: 6.3 },
    { chunks: 160, chunkMs: 6.3 },
    { chunks: 1_600, chunkMs: 0.4 },
    { chunks: 1_000_000, chunkMs: 0.005 },
    { chunks: 4_000, chunkMs: 50 },
  ])(
    "a cold thread and a warm one plan as many packs as the chunks' own time gives: %o",
    async ({ chunks, chunkMs }) => {
      /** Code is slow by this factor until so much time has passed, as where it is compiled while it runs. */
      const [coldFactor, coldMs] = [6, 90];
      let busyMs = 0;
      const packs = async (): Promise<number> => {
        const ms = await timeChunks(counted(chunks), none, async ({ from, to }) => {
          const startedMs = busyMs;
          for (let at = from; at < to; at++) busyMs += busyMs < coldMs ? chunkMs * coldFactor : chunkMs;
          return { ms: busyMs - startedMs };
        });
        return Math.ceil(chunks / packSizeFor(chunks, ms, limits.packLimitMs));
      };
      const meant = Math.ceil(chunks / packSizeFor(chunks, chunkMs, limits.packLimitMs));
      for (const planned of [await packs(), await packs()]) {
        expect(planned / meant).toBeGreaterThan(0.75);
        expect(planned / meant).toBeLessThan(1.34);
      }
    },
  );

  it("timeChunks takes samples once where the size of a pack is given", async () => {
    let samples = 0;
    const compute = async () => {
      samples += 1;
      return { ms: 6 };
    };
    await timeChunks(counted(1_000), none, compute, roundsFor(10));
    expect(samples).toBe(5);
    await timeChunks(counted(1_000), none, compute, roundsFor(undefined));
    expect(samples).toBeGreaterThan(5 + 10);
  });

  it("timeChunks does not count the time for which the thread waited for a core", async () => {
    const waits = async () => ({ ms: 40, waitedMs: 35 });
    expect(await timeChunks(counted(1_000), none, waits)).toBe(5);
  });

  it.each([
    [1, 2],
    [40, 40],
  ])(
    "timeChunks gives a chunk of 32 at the same time its share, and what the thread was busy for: %d ms",
    async (busyMs, ms) => {
      const waits = async () => ({ ms: 64, busyMs });
      expect(await timeChunks({ ...counted(1_000), atOnce: 32 }, none, waits)).toBe(ms);
    },
  );

  it("timeChunks never gives less than no time, whatever a system says of waiting", async () => {
    const wrong = async () => ({ ms: 4, waitedMs: 4.2 });
    expect(await timeChunks(counted(1_000), none, wrong)).toBe(0);
    expect(packSizeFor(1_000, 0, limits.packLimitMs)).toBeLessThanOrEqual(1_000);
  });

  it("timeChunks keeps what it knows where a sample that is taken again ends at its limit", async () => {
    const ms = await timeChunks(counted(1_000), none, async ({ from, to }) => {
      if (to - from > 1) throw new CalculationError("time-limit", "too long");
      return { ms: 1 };
    });
    expect(ms).toBe(1);
  });

  it("timeChunks skips a chunk that fails, and returns a quarter of a second if all fail", async () => {
    const fail = new CalculationError("calculation-threw", "no");
    const half = await timeChunks(counted(10), none, async ({ from }) => {
      if (from > 4) throw fail;
      return { ms: 6 };
    });
    expect(half).toBe(6);
    expect(await timeChunks(counted(10), none, () => Promise.reject(fail))).toBe(limits.packMsMin);
    expect(await timeChunks(counted(0), none, () => Promise.reject(fail))).toBe(limits.packMsMin);
  });

  it("timeChunks computes a chunk that fails once", async () => {
    const seen: number[] = [];
    await timeChunks(counted(1_000), none, async ({ from }) => {
      seen.push(from);
      if (from === 500) throw new CalculationError("calculation-threw", "no");
      return { ms: 6 };
    });
    expect(seen.filter((from) => from === 500)).toHaveLength(1);
    expect(seen.length).toBeGreaterThan(10);
  });

  it("timeChunks counts a chunk over its time limit as the longest pack", async () => {
    const late = new CalculationError("time-limit", "too long");
    expect(await timeChunks(counted(10), none, () => Promise.reject(late))).toBe(limits.packMsMax);
  });

  it("timeChunks throws an error that is not the calculation's", async () => {
    const away = new Error("the thread is gone");
    await expect(timeChunks(counted(10), none, () => Promise.reject(away))).rejects.toBe(away);
  });

  it("timeChunks times the kept inputs of a list, from its first batch and later ones", async () => {
    const samples: Samples = new Map();
    keepSamples(samples, 0, ["a", "b", "c", "d", "e", "f", "g", "h"]);
    keepSamples(samples, 8, ["i", "j"]);
    keepSamples(samples, 10, ["k"]);
    const seen: ChunkRange[] = [];
    await timeChunks({ chunks: 11, list: true }, samples, async (chunk) => {
      seen.push(chunk);
      return { ms: 1 };
    });
    expect(seen.map(({ from, inputs }) => [from, inputs?.[0]])).toEqual([
      [1, "b"],
      [3, "d"],
      [5, "f"],
      [7, "h"],
      [8, "i"],
    ]);
  });

  it("spread returns evenly spaced indexes, none of them twice", () => {
    expect(spread(3, 5)).toEqual([0, 1, 2]);
    expect(spread(0, 5)).toEqual([]);
    expect(spread(10, 2)).toEqual([2, 7]);
  });
});
