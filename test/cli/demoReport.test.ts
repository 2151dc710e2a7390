import { describe, expect, it } from "vitest";
import { noCalls } from "../../src/engine/model/calls.ts";
import { systemClock } from "../../src/engine/storage/system.ts";
import {
  chooseValue,
  demoValues,
  measureSpeeds,
  overhead,
  publishedCounts,
} from "../../src/tools/cli/demo/calibrate.ts";
import { type DemoReport, reportLines } from "../../src/tools/cli/demo/report.ts";
import { cpuSecondsIn } from "../support/cpuTime.ts";

describe("the calibration", () => {
  const flat = (msPerBillion: number) => [{ to: 1e10, msPerNumber: msPerBillion / 1e9 }];

  it.each([
    [150, 2, 2e11],
    [150, 1, 1e11],
    [600, 2, 5e10],
    [50, 16, 1e12],
    [20_000, 1, 1e9],
  ])("at %d ms a billion on %d threads picks %d", (ms, threads, to) => {
    expect(chooseValue(flat(ms), threads).to).toBe(to);
  });

  it("the chosen run takes about 20 to 40 s unless the machine is very slow or very fast", () => {
    for (let ms = 80; ms < 1_000; ms *= 1.07) {
      for (const threads of [1, 2, 4]) {
        const { seconds } = chooseValue(flat(ms), threads);
        if (ms / threads < 35) continue;
        expect(seconds).toBeGreaterThan(19);
        expect(seconds).toBeLessThan(41);
      }
    }
  });

  it("a disturbed measurement does not lead to a much too short run", () => {
    const speeds = [
      { to: 1e10, msPerNumber: 1e-7 },
      { to: 1e12, msPerNumber: 1e-6 },
    ];
    const { to, seconds } = chooseValue(speeds, 2);
    expect(to).toBe(5e10);
    expect(seconds).toBeGreaterThan(15);
  });

  it("a number of a larger value costs more", () => {
    const speeds = [
      { to: 1e10, msPerNumber: 1e-7 },
      { to: 1e12, msPerNumber: 3e-7 },
    ];
    const { to, seconds } = chooseValue(speeds, 1);
    const cost = 1e-7 + (Math.log10(to / 1e10) / 2) * 2e-7;
    expect(seconds).toBeCloseTo((to * cost * overhead) / 1_000);
  });

  it("the measurement of the kernel takes some two seconds of computing", async () => {
    let speeds: Awaited<ReturnType<typeof measureSpeeds>> = [];
    const seconds = await cpuSecondsIn(async () => {
      speeds = await measureSpeeds(systemClock, AbortSignal.timeout(60_000));
    });
    expect(seconds).toBeLessThan(4);
    expect(speeds.map(({ to }) => to)).toEqual([1e10, 1e12]);
    for (const { msPerNumber } of speeds) expect(msPerNumber).toBeGreaterThan(0);
  });

  it("only values with a published count are chosen", () => {
    expect(demoValues.every((to) => publishedCounts.has(to))).toBe(true);
    expect(publishedCounts.get(1e12)).toBe(37_607_912_018);
  });
});

describe("the report", () => {
  const report: DemoReport = {
    ...{ to: 1e9, primes: 50_847_534, published: 50_847_534, correct: true },
    ...{ file: "leasefold-demo/result.json", manifestFile: "result.manifest.json" },
    ...{ startUpS: 3.1, runS: 34.2, totalS: 39.8, packs: 200, sentAgain: 1 },
    takeover: { from: "node-1", to: "node-2", seconds: 4.4 },
    terms: [
      { term: 1, holder: "node-1" },
      { term: 2, holder: "node-2" },
    ],
    calls: { ...noCalls, write: 240, list: 600, queue: 220 },
    dollars: 0.0047,
  };
  const lines = (change: Partial<DemoReport> = {}) => reportLines({ ...report, ...change }, { color: false });

  it("the report shows result, check, file, times, terms, packs, calls and their cost in 80 columns", () => {
    expect(lines()).toEqual([
      "",
      "  ✓ 50,847,534 primes up to 1,000,000,000, as published",
      "",
      "  file      leasefold-demo/result.json, with result.manifest.json beside it",
      "  time      34 s for the run, 40 s in all, start-up 3.1 s",
      "  led by    node-1 (term 1), node-2 (term 2)",
      "  takeover  node-2 for node-1 after 4.4 s",
      "  packs     200, 1 resent",
      "  calls     1,060 storage calls, about $0.0047 at list price",
      "            write 240 · list 600 · queue 220",
    ]);
    for (const line of lines()) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("the report says that the count is wrong, or that no count is published", () => {
    expect(lines({ primes: 1, correct: false })[1]).toBe(
      "  ✗ 1 primes up to 1,000,000,000, but published are 50,847,534",
    );
    const { published: _published, correct: _correct, ...unknown } = report;
    expect(reportLines(unknown, { color: false })[1]).toBe(
      "  50,847,534 primes up to 1,000,000,000 (no published count to check it against)",
    );
  });
});
