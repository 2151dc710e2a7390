import { describe, expect, it } from "vitest";
import { exactSum } from "../../../../src/calculations/exact/exactSum.ts";
import { runSerially } from "../../../../src/calculations/leasefold.ts";
import type { AnyCalculation } from "../../../../src/engine/calculation/contract.ts";
import { brokenFixtures, orderedFixtures, sound, twoThrow } from "../../../../test/fixtures/lawFixtures.ts";
import { brokenLaws, type CheckOptions, checkLaws } from "../../check/laws/checkLaws.ts";
import { laws } from "../../check/laws/findings.ts";

describe("a calculation that keeps every law", () => {
  it("a sound calculation keeps each law", async () => {
    const { findings, chunks, count, result } = await checkLaws(sound, { chunks: 20 });
    expect(findings.map((one) => [one.law, one.outcome])).toEqual(
      Object.keys(laws).map((law) => [law, "holds"]),
    );
    expect([chunks, count]).toEqual([20, 20]);
    expect(result?.body).toEqual((await runSerially(sound, { chunks: 20 })).body);
    expect(await brokenLaws(sound, { chunks: 20 })).toEqual([]);
  });

  it.each<[string, AnyCalculation["merge"]]>([
    [
      "the left side and return it",
      (a, b) => {
        a.sum += b.sum;
        a.chunks += b.chunks;
        return a;
      },
    ],
    [
      "the right side and return it",
      (a, b) => {
        b.sum += a.sum;
        b.chunks += a.chunks;
        return b;
      },
    ],
    [
      "the left side and return a copy",
      (a, b) => {
        a.sum += b.sum;
        a.chunks += b.chunks;
        return { ...a };
      },
    ],
  ])("a merge may change %s, because the tree reads neither side again", async (_what, merge) => {
    expect(await brokenLaws({ ...sound, merge }, { chunks: 20 })).toEqual([]);
  });

  it.each(Object.entries(orderedFixtures))(
    "a merge may depend on the order of joining, which chunk indices fix: %s",
    async (_name, change) => {
      const { findings } = await checkLaws({ ...sound, ...change }, { chunks: 20 });
      expect(findings.filter(({ outcome }) => outcome !== "holds")).toEqual([]);
    },
  );

  it("a sound calculation may sum doubles exactly", async () => {
    const exact: AnyCalculation = {
      ...sound,
      compute: ({ index }) => encoded((index + 1) / 10),
      merge(a, b) {
        const sum = exactSum(a);
        sum.merge(exactSum(b));
        return sum.encode();
      },
      zero: () => encoded(0),
      finish: (sum) => exactSum(sum).value(),
    };
    expect(await brokenLaws(exact, { chunks: 20 })).toEqual([]);
  });

  it.each([0, 1])("a sound calculation of %i chunks breaks no law", async (chunks) => {
    const { findings } = await checkLaws(sound, { chunks });
    expect(findings.filter(({ outcome }) => outcome === "broken")).toEqual([]);
    expect(findings.find(({ law }) => law === "merge")).toMatchObject(
      chunks === 0 ? { outcome: "unchecked" } : { outcome: "holds" },
    );
  });
});

const withRandom =
  ({ compute }: Partial<AnyCalculation>): AnyCalculation["compute"] =>
  async (chunk) => ({ ...(await compute?.(chunk)), sum: Math.random() });

const encoded = (x: number): string => {
  const sum = exactSum();
  sum.add(x);
  return sum.encode();
};

describe("chunks that are computed at the same time", () => {
  let latest = 0;
  const waiting = (compute: AnyCalculation["compute"]): AnyCalculation => ({
    ...{ ...sound, concurrency: 4 },
    async compute(chunk) {
      latest = chunk.index;
      await Promise.resolve();
      return compute(chunk);
    },
  });

  it("and keep to themselves keep every law", async () => {
    expect(await brokenLaws(waiting(sound.compute), { chunks: 20 })).toEqual([]);
  });

  it("and meet in a variable break the law of compute", async () => {
    const meeting = waiting((chunk) => sound.compute({ ...chunk, index: latest }));
    const { findings } = await checkLaws(meeting, { chunks: 20 });
    const [broken] = findings.filter(({ outcome }) => outcome === "broken");
    expect(broken).toMatchObject({
      law: "compute",
      breach: { example: "chunks 0–7: computed at the same time, they give other bytes" },
    });
  });
});

describe("advice", () => {
  /** Each chunk takes so long on a clock that only chunks move. */
  const advised = async (
    change: Partial<AnyCalculation>,
    chunkMs = 10,
    { waits = 0, ...more }: Partial<CheckOptions> & { readonly waits?: number } = {},
  ) => {
    let nowMs = 0;
    const calculation: AnyCalculation = { ...sound, ...change };
    const timed: AnyCalculation = {
      ...calculation,
      compute(chunk) {
        nowMs += chunkMs;
        return calculation.compute(chunk);
      },
    };
    const clock = { monotonicMs: () => nowMs, sleep: async () => {}, idleMs: () => waits * nowMs };
    const { findings } = await checkLaws(timed, { chunks: 20 }, { clock, ...more });
    expect(findings.filter(({ outcome }) => outcome === "broken")).toEqual([]);
    return findings.flatMap((one) => (one.outcome === "advice" ? [[one.law, one.text]] : []));
  };

  it("there is no advice without a reason", async () => {
    expect(await advised({})).toEqual([]);
  });

  it("a calculation whose chunks mostly wait could compute many at the same time", async () => {
    const text =
      "a chunk waits for 90 % of its time: concurrency: 32 would take 1 s on one thread instead of 20 s";
    expect(await advised({}, 1_000, { waits: 0.9 })).toEqual([["time", text]]);
    expect(await advised({}, 1_000, { waits: 0.5 })).toEqual([]);
    expect(await advised({}, 100, { waits: 0.9 })).toEqual([]);
    expect(await advised({ concurrency: 8 }, 1_000, { waits: 0.9 })).toEqual([]);
  });

  it.each([
    [0.05, "a chunk takes 50 µs: give each more work, about 1 to 1,000 ms"],
    [76_000, "a chunk takes 76 s, and a pack may take 300 s: make smaller chunks"],
  ])("there is advice on chunks of %d ms", async (chunkMs, text) => {
    expect(await advised({}, chunkMs)).toEqual([["time", text]]);
  });

  it("there is advice on partials that grow with every chunk", async () => {
    const lists: Partial<AnyCalculation> = {
      compute: ({ index }) => [`row ${100 + index}`],
      merge: (a, b) => [...a, ...b],
      zero: () => [],
      finish: (rows) => rows,
    };
    expect(await advised(lists)).toEqual([
      [
        "growth",
        "merged partials grow by 10 bytes a chunk; 32 MB hold about 3,355,443, more than this run has",
      ],
    ]);
  });

  it("there is advice if a run of no chunks has no result", async () => {
    const mean: Partial<AnyCalculation> = { finish: ({ sum, chunks }) => ({ mean: sum / chunks }) };
    expect(await advised(mean)).toEqual([
      ["empty", "a run of no chunks has no result: the result cannot be JSON: mean is NaN"],
    ]);
  });
});

describe("a broken law", () => {
  it.each(brokenFixtures)("the law $law alone is broken by $name", async ({ law, make, params, ...told }) => {
    const { findings, result } = await checkLaws({ ...sound, ...make() }, params ?? { chunks: 20 });
    const broken = findings.flatMap((one) => (one.outcome === "broken" ? [one] : []));
    expect(broken.map((one) => one.law)).toEqual([law]);
    expect(result === undefined).toBe(told.throws !== true);
    expect(findings.filter((one) => one.outcome !== "advice").length).toBe(Object.keys(laws).length);
    const breach = broken[0]?.breach;
    expect(breach?.example).toMatch(told.example);
    if (told.sides !== undefined) expect(breach?.sides?.map(({ value }) => value)).toEqual(told.sides);
    if (told.likely !== undefined) expect(breach?.likely).toMatch(told.likely);
    expect([breach?.example, breach?.likely, breach?.cure].join("")).not.toMatch(/\n|undefined/);
  });

  it("a chunk that throws is named with its input and line, and the other chunks try all other laws", async () => {
    const { findings, chunks, threw, result } = await checkLaws({ ...sound, ...twoThrow }, {});
    const others = Object.keys(laws).filter((law) => law !== "compute");
    expect(findings.filter(({ outcome }) => outcome === "holds").map(({ law }) => law)).toEqual(others);
    expect(findings.find(({ outcome }) => outcome === "broken")).toMatchObject({
      law: "compute",
      breach: {
        example: expect.stringMatching(/^chunk 3 \(\{"row":3\}\): out of range \(lawFixtures\.ts:\d+\)$/),
        likely: "your code threw, also for chunks 7",
        cure: expect.stringContaining("--chunk 3"),
      },
    });
    expect([chunks, threw]).toEqual([20, 2]);
    expect(JSON.parse(Buffer.from(result?.body ?? []).toString())).toEqual({ sum: 180, chunks: 18 });
  });

  it.each([
    ["compute", { ...twoThrow, compute: withRandom(twoThrow) }],
    ["merge", { ...twoThrow, merge: () => ({ sum: Math.random(), chunks: 1 }) }],
    ["finish", { ...twoThrow, finish: () => Math.random() }],
  ] as const)("beside a chunk that throws, the law %s is found broken too", async (law, change) => {
    const broken = await brokenLaws({ ...sound, ...change }, {});
    expect(broken).toEqual([
      expect.stringContaining('chunk 3 ({"row":3}): out of range'),
      expect.stringContaining(`${laws[law]}: `),
    ]);
  });

  it("each law has a fixture that breaks it", () => {
    expect([...new Set(brokenFixtures.map(({ law }) => law))].sort()).toEqual(Object.keys(laws).sort());
  });
});
