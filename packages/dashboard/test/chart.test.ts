import { expect, test } from "vitest";
import type { Timeline } from "../../../src/engine/client/inspection/timeline.ts";
import { figuresOf } from "../run/liveFigures.ts";
import { chartOf, clockText, spansOf, ticksOf } from "../run/progress/chart.ts";
import { at, startMs, viewOf } from "./browser/fixture/fixtureRuns.ts";

const timeline = (more: Partial<Timeline>): Timeline => ({
  ...{ run: "x", uid: "u", generation: 1, packs: 100, submittedAt: at(0), nowAt: at(60) },
  ...{ marks: [], terms: [], commands: [], ...more },
});
const seconds = (spans: readonly { kind: string; fromMs: number; toMs: number }[]) =>
  spans.map(({ kind, fromMs, toMs }) => [kind, (fromMs - startMs) / 1_000, (toMs - startMs) / 1_000]);
const nowMs = startMs + 60_000;
const working = { run: "x", word: "computing", phase: "computing", active: true } as const;
const packs = { total: 100, done: 40, failed: 2, sent: 50, resent: 0 };

test("a leader that died leaves a gap until the next one takes the run over", () => {
  const terms = [
    { term: 1, holder: "a", from: at(2), to: at(30) },
    { term: 2, holder: "b", from: at(34) },
  ];
  expect(seconds(spansOf(timeline({ terms }), nowMs))).toEqual([
    ["term", 2, 30],
    ["gap", 30, 34],
    ["term", 34, 60],
  ]);
});

test("a leader that is gone and has no successor leaves an open gap up to now, but none after the run ended", () => {
  const terms = [{ term: 1, holder: "a", from: at(2), to: at(30) }];
  expect(spansOf(timeline({ terms }), nowMs).at(-1)).toMatchObject({ kind: "gap", open: true, toMs: nowMs });
  const ended = timeline({ terms, finishedAt: at(31) });
  expect(seconds(spansOf(ended, startMs + 31_000))).toEqual([["term", 2, 30]]);
});

test("a hand-over within a second is no gap, and a term without a known end lasts until the next", () => {
  const terms = [
    { term: 1, holder: "a", from: at(0), to: at(10.2) },
    { term: 2, holder: "b", from: at(10.9) },
    { term: 3, holder: "a", from: at(20) },
  ];
  expect(seconds(spansOf(timeline({ terms }), nowMs))).toEqual([
    ["term", 0, 10.2],
    ["term", 10.9, 20],
    ["term", 20, 60],
  ]);
});

test("the axis of a retry begins with the retry, so that days before it do not press it together", () => {
  const terms = [
    { term: 1, holder: "a", from: at(0), to: at(20) },
    { term: 9, holder: "b", from: at(90_001) },
  ];
  const retried = timeline({ terms, retriedAt: at(90_000), marks: [{ at: at(90_003), ended: 10 }] });
  const chart = chartOf(viewOf({ ...working, generation: 2, packs }), retried, startMs + 90_010_000);
  expect([chart.fromMs, chart.spans.length]).toEqual([startMs + 90_000_000, 1]);
});

test("there is nothing to draw of a run that ended before a pack did, or at the moment of its first", () => {
  const ended = { ...working, word: "failed", phase: "failed", active: false } as const;
  const drawn = (done: number, marks: Timeline["marks"]) => {
    const view = viewOf({ ...ended, packs: { ...packs, done, failed: 1 } });
    return chartOf(view, timeline({ finishedAt: at(10), marks }), nowMs).drawn;
  };
  expect(drawn(0, [])).toBe(false);
  expect(drawn(4, [{ at: at(10), ended: 4 }])).toBe(false);
  expect(drawn(4, [{ at: at(6), ended: 2 }])).toBe(true);
});

test("progress never falls, ends at the newest counts, and the band leads from there to the end or the next prefix", () => {
  const marks = [
    { at: at(10), ended: 10 },
    { at: at(20), ended: 50 },
    { at: at(30), ended: 30 },
  ];
  const timeLeft = { expectedS: 30, lowS: 20, highS: 50 };
  const chart = chartOf(viewOf({ ...working, packs, timeLeft }), timeline({ marks }), nowMs);
  expect(chart.points.map(({ ended }) => ended)).toEqual([10, 30, 42]);
  const ahead = { lowMs: nowMs + 20_000, expectedMs: nowMs + 30_000, highMs: nowMs + 50_000, ended: 42 };
  expect(chart.ahead).toEqual({ ...ahead, goal: packs.total });
  const next = { chunks: 48, packs: { total: 40, done: 36, failed: 1 } };
  const stopping = chartOf(
    viewOf({ ...working, packs, timeLeft, stop: { of: 1_000, next } }),
    timeline({}),
    nowMs,
  );
  expect(stopping.ahead).toEqual({ ...ahead, goal: 45 });
  expect(chart.toMs).toBe(nowMs + 50_000);
  // Rates are what lies between the points, so they add up to what ended.
  const ended = chart.rates.reduce(
    (sum, { fromMs, toMs, perS }) => sum + (perS * (toMs - fromMs)) / 1_000,
    0,
  );
  expect(ended).toBeCloseTo(42 - 10, 6);
});

test("packs that a run gave up are no progress at its end, and no rate", () => {
  const marks = [
    { at: at(10), ended: 10 },
    { at: at(20), ended: 40 },
  ];
  const early = { ...packs, failed: 60 };
  const pointsOf = (change: object) =>
    chartOf(viewOf({ ...working, packs: early, ...change }), timeline({ marks }), nowMs).points;
  const flat = [10, 40, 40];
  const ended = { active: false, word: "complete-with-gaps", phase: "complete" };
  expect(pointsOf(ended).map((point) => point.ended)).toEqual(flat);
  expect(pointsOf({ keep: true }).map((point) => point.ended)).toEqual(flat);
});

test("a run that was just submitted has an axis, no band and no rate", () => {
  const chart = chartOf(
    viewOf({ ...working, word: "waiting", phase: "waiting" }),
    timeline({ nowAt: at(0) }),
    startMs,
  );
  expect(chart).toMatchObject({ toMs: startMs + 1_000, total: 0, rates: [], spans: [], rateMax: 0 });
  expect(chart).not.toHaveProperty("ahead");
});

test.each([
  [2_000, 5, 1_000],
  [61_000, 6, 15_000],
  [3_600_000, 6, 600_000],
  [40 * 86_400_000, 5, 8 * 86_400_000],
])("an axis of %i ms with %i ticks has a round step", (spanMs, count, stepMs) => {
  const { ticks, ...found } = ticksOf(spanMs, count);
  expect(found.stepMs).toBe(stepMs);
  expect(ticks.length).toBeLessThanOrEqual(count + 2);
  expect(clockText(stepMs)).toMatch(/^\d+:\d\d(:\d\d)?$/);
});

test("elapsed and remaining time go on between two answers of a run at work, and stand still when it has ended", () => {
  const timeLeft = { expectedS: 30, lowS: 20, highS: 50 };
  const figure = (active: boolean, name: string) =>
    figuresOf(viewOf({ ...working, active, elapsedS: 10, timeLeft }), 25_000).find(
      (one) => one.name === name,
    );
  expect(figure(true, "elapsed")?.value).toBe("35 s");
  expect(figure(true, "remaining")).toMatchObject({ value: "≈ 5 s", note: "0 s to 25 s" });
  expect(figure(false, "took")?.value).toBe("10 s");
});
