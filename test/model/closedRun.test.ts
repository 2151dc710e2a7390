import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type ClosedRun,
  closedBlob,
  decodeClosedRun,
  encodeClosedRun,
  parseClosed,
} from "../../src/engine/model/closedRun.ts";
import { spentOf } from "../../src/engine/model/spent.ts";

const small: ClosedRun = {
  ...{ run: "r1", uid: "u1", generation: 2, phase: "failed", calculation: "sum", params: { to: 3 } },
  ...{ code: "sum@1", packs: { total: 5, done: 4, failed: 1 }, chunks: { total: 10, done: 8, failed: 2 } },
  ...{
    finishedMs: 1e12,
    cost: spentOf(undefined).cost,
    error: { code: "pack-failed", message: "chunk 7: no" },
  },
};

test("a summary survives the metadata", () => {
  expect(decodeClosedRun(encodeClosedRun(small), "it")).toEqual(small);
});

test("a summary fits into metadata, whatever the documents of its run hold", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc
      .constantFrom("\u0000", "\ud83d", "ä", "漢")
      .chain((one) => fc.nat(9_000).map((times) => one.repeat(times))),
  );
  fc.assert(
    fc.property(text, text, text, text, (calculation, params, code, message) => {
      const run = { ...small, calculation, params, code, error: { code: "pack-failed", message } };
      const metadata = encodeClosedRun(run);
      expect(Object.entries(metadata).flat().join("").length).toBeLessThanOrEqual(8 * 1024);
      expect(decodeClosedRun(metadata, "it")).toMatchObject({ run: "r1", generation: 2, phase: "failed" });
    }),
  );
});

test("names list the newest submit first and tell id and time", () => {
  const names = [5_000, 1_900_000_000_000, 1_900_000_000_001].map((ms) => closedBlob("r-1", ms));
  expect([...names].sort()).toEqual([...names].reverse());
  expect(names.map(parseClosed)).toEqual(
    [5_000, 1_900_000_000_000, 1_900_000_000_001].map((submittedMs) => ({ id: "r-1", submittedMs })),
  );
  expect(parseClosed("_closed/17.r-1")).toBeUndefined();
});
