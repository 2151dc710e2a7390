import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ChunkCalls,
  type ChunkOutcome,
  type ChunkRetry,
  computeChunks,
  isProgramError,
  pauseBefore,
} from "../../src/engine/calculation/chunkAttempts.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { virtualWorld } from "../support/virtualClock.ts";

const threw = (message = "no") => new CalculationError("calculation-threw", message);
const retry: ChunkRetry = { attempt: 1, attemptsMax: 5, pausesS: [0, 1, 3, 9], limitMs: 300_000 };

/** Computes chunks in virtual time; each takes `msOf` it, and throws as often as `throwsOf` says. */
async function computed(
  count: number,
  {
    msOf = () => 100,
    throwsOf = () => 0,
    ...more
  }: Partial<ChunkCalls> & {
    readonly msOf?: (index: number) => number;
    readonly throwsOf?: (index: number) => number;
  } = {},
) {
  const world = virtualWorld();
  const clock = world.clock();
  const begun: number[] = [];
  const taken: { readonly index: number; readonly outcome: ChunkOutcome }[] = [];
  let [running, most] = [0, 0];
  const calls: ChunkCalls = {
    ...{ atOnce: 1, retry },
    async compute(index) {
      begun.push(index);
      running += 1;
      most = Math.max(most, running);
      await clock.sleep(msOf(index));
      running -= 1;
      if (begun.filter((one) => one === index).length <= throwsOf(index)) throw threw();
      return index;
    },
    take: async (index, outcome) => void taken.push({ index, outcome }),
    time: {
      sleep: (ms, signal) => clock.sleep(ms, signal),
      spentMs: () => clock.monotonicMs(),
    },
    ...more,
  };
  const indexes = Array.from({ length: count }, (_, index) => index);
  const done = computeChunks(indexes, calls).then(
    () => undefined,
    (error: unknown) => error,
  );
  const error = await world.finish(done);
  return { begun, taken, error, most, ms: clock.monotonicMs(), running: () => running };
}

describe("the chunks of a pack", () => {
  test.each([
    [1, 400, 40_000],
    [32, 400, 1_300],
    [256, 400, 200],
  ])("are computed %d at once", async (atOnce, count, ms) => {
    const made = await computed(count, { atOnce });
    expect(made.taken.map(({ index }) => index)).toEqual(made.begun.toSorted((a, b) => a - b));
    expect([made.most, made.ms]).toEqual([Math.min(atOnce, count), ms]);
  });

  test("are handed over in their order with what they came to, never more at once, whatever order they end in", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ ms: fc.integer({ min: 1, max: 500 }), throws: fc.integer({ min: 0, max: 6 }) }),
          {
            maxLength: 30,
          },
        ),
        fc.integer({ min: 1, max: 8 }),
        async (chunks, atOnce) => {
          const made = await computed(chunks.length, {
            atOnce,
            msOf: (index) => chunks[index]?.ms ?? 0,
            throwsOf: (index) => chunks[index]?.throws ?? 0,
          });
          expect(made.taken.map(({ index }) => index)).toEqual(chunks.map((_, index) => index));
          for (const [index, { throws }] of chunks.entries()) {
            const attempts = made.begun.filter((one) => one === index).length;
            expect(attempts).toBe(Math.min(throws + 1, 5));
            const { outcome } = made.taken[index] ?? {};
            expect(outcome).toEqual(throws < 5 ? { part: index } : { error: threw(), attempts: 5 });
          }
          expect(made.most).toBeLessThanOrEqual(atOnce);
        },
      ),
      { numRuns: 60, seed: 1 },
    ));

  test("are computed while one of them pauses, so that nothing waits with it", async () => {
    const made = await computed(10, { throwsOf: (index) => (index === 2 ? 9 : 0) });
    // 3 chunks, 4 more attempts of the last of them, and 13 s of pauses, after one of which another chunk was at work.
    expect(made.ms).toBe(3 * 100 + 4 * 100 + 13_000 + 100);
    expect(made.begun.filter((index) => index !== 2)).toEqual([0, 1, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("that run when the pack fails are waited for, and no other is begun", async () => {
    const made = await computed(20, {
      atOnce: 4,
      retry: undefined,
      msOf: (index) => (index === 3 ? 900 : 100),
      throwsOf: (index) => (index === 1 ? 1 : 0),
      take: async (_index, outcome) => {
        if ("attempts" in outcome) throw outcome.error;
      },
    });
    expect([made.error, made.running(), made.ms]).toEqual([threw(), 0, 900]);
    expect(made.begun.length).toBeLessThan(8);
  });

  test("hold a bounded number of parts while the first of them pauses", async () => {
    const made = await computed(1_000, { msOf: () => 1, throwsOf: (index) => (index === 0 ? 4 : 0) });
    const last = made.begun.lastIndexOf(0);
    expect(made.begun.slice(0, last).filter((index) => index > 0)).toHaveLength(19);
  });
});

describe("the pause before another attempt at a chunk", () => {
  const program = new CalculationError("calculation-threw", "no", { details: { program: true } });
  test.each<[string, number, unknown, Partial<ChunkRetry>, number, number | undefined]>([
    ["is none at first", 1, threw(), {}, 0, 0],
    ["grows", 4, threw(), {}, 0, 9_000],
    ["ends with the last attempt", 5, threw(), {}, 0, undefined],
    ["is none here where it is longer than a thread waits", 1, threw(), { pausesS: [11] }, 0, undefined],
    ["is at most so long", 1, threw(), { pausesS: [10] }, 0, limits.threadPauseMsMax],
    ["leaves half of the time", 4, threw(), { limitMs: 20_000 }, 2_000, undefined],
    ["is none where the code is wrong", 1, program, { pausesS: [60] }, 0, 0],
    ["is once where the code is wrong", 2, program, {}, 0, undefined],
    ["is none for what every attempt would meet", 1, new CalculationError("not-json", ""), {}, 0, undefined],
    ["is none for what asks for a later one", 1, new CalculationError("retry-later", ""), {}, 0, undefined],
  ])("%s", (_what, attempt, error, more, spentMs, expected) => {
    expect(pauseBefore(attempt, error, { ...retry, ...more }, spentMs)).toBe(expected);
  });
});

test.each<[unknown, boolean]>([
  [new TypeError("x is not a function"), true],
  [new ReferenceError("x is not defined"), true],
  [Object.assign(new Error("1 == 2"), { code: "ERR_ASSERTION" }), true],
  [new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") }), false],
  [new RangeError("out of range"), false],
  [new Error("no"), false],
  ["no", false],
])("whether %s is an error of the program: %s", (thrown, expected) => {
  expect(isProgramError(thrown)).toBe(expected);
});
