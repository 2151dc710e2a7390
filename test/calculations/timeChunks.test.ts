import { describe, expect, it } from "vitest";
import {
  keepSamples,
  type SampleChunk,
  type Samples,
  spread,
  timeChunks,
} from "../../src/calculations/timeChunks.ts";
import { CalculationError } from "../../src/model/errors.ts";
import { limits } from "../../src/model/limits.ts";

const counted = (chunks: number) => ({ chunks, list: false });
const none: Samples = new Map();

async function timed(chunks: number, msOf: (chunk: number) => number) {
  const seen: SampleChunk[] = [];
  const ms = await timeChunks(counted(chunks), none, async (chunk) => {
    seen.push(chunk);
    return { ms: msOf(chunk.from) };
  });
  return { ms, seen };
}

describe("timing chunks", () => {
  it("timeChunks times a few chunks, spread over the run", async () => {
    const { seen } = await timed(1_000, () => 1);
    expect(seen.map(({ from }) => from)).toEqual([100, 300, 500, 700, 900]);
    expect(seen[0]).toEqual({ from: 100, to: 101, count: 1_000 });
  });

  it("timeChunks skips the first chunk, which includes loading the code, unless it is the only one", async () => {
    expect((await timed(1_000, (chunk) => (chunk === 100 ? 900 : 4))).ms).toBe(4);
    expect((await timed(1, () => 900)).ms).toBe(900);
  });

  it("timeChunks stops when the samples have taken two seconds together", async () => {
    const { ms, seen } = await timed(1_000, () => limits.planSampleMsMax);
    expect([ms, seen.length]).toEqual([limits.planSampleMsMax, 1]);
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
    const seen: SampleChunk[] = [];
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
