import { expect, test } from "vitest";
import type { Series } from "../../../src/engine/client/overview.ts";
import { seriesRow } from "../overview/seriesRow.ts";
import { linesAfter } from "../run/logLines.ts";

type Ended = Series["runs"][number];
const ended = (elapsedS: number, more: Partial<Ended> = {}): Ended => ({
  ...{ run: "r", word: "complete", submittedAt: "2026-11-22T02:00:00Z", elapsedS, dollars: elapsedS / 100 },
  ...more,
});
const rowOf = (runs: readonly Ended[]) => seriesRow({ name: "risk", calculation: "risk", runs });

test("a bar is as high as its figure, and a run without a result is drawn apart", () => {
  const row = rowOf([ended(60), ended(30, { word: "failed" }), ended(120)]);
  expect(row?.time).toMatchObject({
    earlier: "M0 24v-12h6v12z",
    bad: "M8 24v-6h6v6z",
    newest: "M16 24v-24h6v24z",
  });
  expect(row?.cost.value).toBe("$1.2000");
});

test("the newest run is compared with the middle of those before that were complete", () => {
  const before = [ended(50), ended(60), ended(1, { word: "failed" }), ended(70)];
  expect(rowOf([...before, ended(100)])?.time).toMatchObject({ usual: "1 min", far: false });
  expect(rowOf([...before, ended(121)])?.time.far).toBe(true);
  expect(rowOf([ended(1)])?.time).not.toHaveProperty("usual");
});

test("each result says whether it is the one before, and the first that differs stands out", () => {
  const same = [ended(1), ended(1, { same: true })];
  const failed = rowOf([...same, ended(1, { word: "failed" })]);
  expect([failed?.marks, failed?.result, failed?.breaks]).toEqual(["·=×", "no result", false]);
  const other = rowOf([...same, ended(1, { same: false })]);
  expect([other?.marks, other?.result, other?.breaks]).toEqual(["·=≠", "differs", true]);
  expect(rowOf([ended(1, { same: false }), ended(1, { same: false })])?.breaks).toBe(false);
});

test("lines of an attempt that is shown already are not shown again", () => {
  const line = (attempt: string) => ({
    ...{ at: "", work: "0/0", generation: 1, attempt, instance: "a", chunk: 0, text: attempt },
    level: "info" as const,
  });
  const first = linesAfter([], { lines: [line("a"), line("b"), line("b")] });
  expect(linesAfter(first, { lines: [line("b"), line("c")] }).map(({ text }) => text)).toEqual([
    "a",
    "b",
    "b",
    "c",
  ]);
});
