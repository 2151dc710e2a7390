import { describe, expect, it } from "vitest";
import { noCalls } from "../../../src/engine/model/calls.ts";
import { publishedCounts, valueFor } from "../demo/published.ts";
import { type DemoReport, reportLines } from "../demo/report.ts";

describe("the value of a demo", () => {
  it.each([
    [1, 5e10],
    [2, 1e11],
    [4, 2e11],
    [16, 5e11],
    [64, 1e12],
  ])("for %d cores is %d, whose count is published", (cores, to) => {
    expect(valueFor(cores)).toBe(to);
    expect(publishedCounts.has(to)).toBe(true);
  });
});

describe("the report", () => {
  const report: DemoReport = {
    ...{ to: 1e9, primes: 50_847_534, published: 50_847_534, correct: true },
    ...{ file: "leasefold-demo/result.json", manifestFile: "result.manifest.json" },
    ...{ startUpS: 3.1, runS: 34.2, totalS: 39.8, packs: 200, resends: 1 },
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
