import { describe, expect, it, test } from "vitest";
import { groupFailures, normalized } from "../../src/engine/client/failureGroups.ts";
import type { FailureView } from "../../src/engine/client/failures.ts";

const failure = (pack: number, message: string, change: Partial<FailureView> = {}): FailureView => ({
  ...{ work: `00000/${String(pack).padStart(8, "0")}`, pack, generation: 1, send: 1 },
  ...{ cause: "error", code: "calculation-threw", message, attempts: 5 },
  chunks: { from: pack * 10, to: pack * 10 + 10 },
  ...change,
});

describe("failures are grouped by their error", () => {
  it("whatever the numbers in it are, the largest group first", () => {
    const groups = groupFailures([
      failure(1, "chunk 17: out of range"),
      failure(3, "chunk 31: x is not finite: -1.5e-9"),
      failure(2, "chunk 20: x is not finite: 4"),
      failure(4, "chunk 41: x is not finite: 5", { code: "time-limit" }),
    ]);
    expect(groups.map(({ code, message, packs, attempts }) => [code, message, packs, attempts])).toEqual([
      ["calculation-threw", "chunk N: x is not finite: N", [2, 3], 10],
      ["calculation-threw", "chunk N: out of range", [1], 5],
      ["time-limit", "chunk N: x is not finite: N", [4], 5],
    ]);
    expect(groups[0]).toMatchObject({
      sample: "chunk 31: x is not finite: -1.5e-9",
      chunks: [{ from: 20, to: 40 }],
    });
  });

  it("with each pack once, however often it failed, and tasks apart from packs", () => {
    const { chunks: _none, pack: _pack, ...finish } = failure(0, "no merge", { work: "finish" });
    const groups = groupFailures([failure(1, "boom"), failure(1, "boom", { send: 2 }), finish]);
    expect(groups).toMatchObject([
      { message: "boom", packs: [1], chunks: [{ from: 10, to: 20 }], tasks: [], attempts: 10 },
      { message: "no merge", packs: [], chunks: [], tasks: ["finish"], attempts: 5 },
    ]);
  });

  it("and keep the place in the code, and the file where all name the same", () => {
    const bad = (pack: number, file: string, line: number): FailureView =>
      failure(pack, `chunk ${pack}: compute: data/${file}: row ${pack} is short (ols.ts:${line})`);
    const groups = groupFailures([bad(1, "s17.csv", 20), bad(2, "s18.csv", 20), bad(3, "s17.csv", 31)]);
    expect(groups.map(({ message, packs }) => [message, packs])).toEqual([
      ["chunk N: compute: data/sN.csv: row N is short (ols.ts:20)", [1, 2]],
      ["chunk N: compute: data/s17.csv: row N is short (ols.ts:31)", [3]],
    ]);
  });

  it("and there are none without failures", () => {
    expect(groupFailures([])).toEqual([]);
  });
});

test.each([
  ["row 1,024 of 7", "row N of N"],
  ["run 5f0c1a2b-1111-2222-3333-444455556666 is gone", "run ID is gone"],
  ["hash 9f86d081884c7d659a2feaa0c55ad015 differs", "hash ID differs"],
  ["unknown column “decade”", "unknown column “decade”"],
  ["a\n   b\tc", "a b c"],
  ["facade of defaced", "facade of defaced"],
  ["chunk 17: compute: bad (ols.ts:20)", "chunk N: compute: bad (ols.ts:20)"],
  ["s17.csv: row 3 of s17.csv.", "s17.csv: row N of s17.csv."],
  ["took 1.5s, not 0.25e3 ms", "took Ns, not N ms"],
])("the error %j reads %j without what differs from pack to pack", (message, expected) => {
  expect(normalized(message)).toBe(expected);
});

test("a long or hostile error is cut, in time that grows with its length only", () => {
  expect(normalized("x".repeat(5_000))).toHaveLength(300);
  expect(normalized("a1".repeat(1_000_000)).length).toBeLessThanOrEqual(300);
  expect(normalized("-".repeat(1_000_000)).length).toBeLessThanOrEqual(300);
  expect(normalized("a.".repeat(1_000_000)).length).toBeLessThanOrEqual(300);
});
