import type { Timeline } from "../../../../src/engine/client/inspection/timeline.ts";
import type { RunView } from "../../../../src/engine/client/runView.ts";
import { endedPacks } from "../../../../src/engine/model/figures.ts";

/** What the chart of a run shows, in time and packs; pixels are the concern of `progressChart.tsx`. */
export type Chart = ReturnType<typeof chartOf>;

interface Point {
  readonly atMs: number;
  readonly ended: number;
}

/** A term, or a time without a leader, on the axis of the chart. */
export type Span =
  | {
      readonly kind: "term";
      readonly term: number;
      readonly holder: string;
      readonly fromMs: number;
      readonly toMs: number;
      readonly open: boolean;
      readonly cameBy?: CameBy;
    }
  | { readonly kind: "gap"; readonly fromMs: number; readonly toMs: number; readonly open: boolean };

/** A shorter time between two leaders is a hand-over and not worth a mark; storage tells whole seconds. */
const gapMsMin = 1_000;
/** The newest rates, as bars, of at least this share of the time each. */
const rateBars = 32;

/** Pure: the chart of a run at `nowMs`, in the service's time. */
export function chartOf(view: RunView, timeline: Timeline, nowMs: number) {
  const startMs = startOf(timeline);
  const endMs = timeline.finishedAt === undefined ? undefined : Date.parse(timeline.finishedAt);
  const lastMs = endMs ?? Math.max(nowMs, Date.parse(timeline.nowAt));
  const total = view.packs?.total ?? 0;
  const ended = endedPacks(view);
  const marks = timeline.marks
    .map((mark) => ({ atMs: Date.parse(mark.at), ended: mark.ended }))
    .filter(({ atMs }) => atMs >= startMs && atMs <= lastMs);
  const points = risen([...marks, { atMs: lastMs, ended }]);
  const ahead = aheadOf(view, lastMs, ended);
  const rates = ratesOf(points);
  const first = points[0]?.atMs ?? lastMs;
  return {
    /** Whether there is a line: packs have ended over some time. */
    drawn: ended > 0 && first < lastMs,
    fromMs: startMs,
    toMs: Math.max(lastMs, ahead?.highMs ?? 0, startMs + 1_000),
    nowMs: lastMs,
    total,
    /** Packs that had ended, ascending in time; the last point is now, or the end. */
    points,
    rates,
    rateMax: Math.max(0, ...rates.map(({ perS }) => perS)),
    spans: spansOf(timeline, lastMs),
    /** Marks from before a pause are told as if they were after it. */
    moved: timeline.moved === true,
    /** From now to the end, or until the next prefix is asked about: the earliest, expected and latest moment. */
    ...(ahead === undefined ? {} : { ahead }),
  };
}

/** The packs that ended never become fewer; a retry begins with what the marks of its generation tell. */
const risen = (points: readonly Point[]) =>
  points.filter((point, index) => points.slice(index + 1).every((later) => later.ended >= point.ended));

function aheadOf({ active, timeLeft, packs, stop }: RunView, nowMs: number, ended: number) {
  if (!active || timeLeft === undefined) return undefined;
  const at = (seconds: number) => nowMs + seconds * 1_000;
  const { total = 0, done = 0, failed = 0 } = stop?.next?.packs ?? {};
  const goal = stop?.next === undefined ? (packs?.total ?? 0) : ended + total - done - failed;
  const times = { lowMs: at(timeLeft.lowS), expectedMs: at(timeLeft.expectedS), highMs: at(timeLeft.highS) };
  return { ...times, ended, goal };
}

function ratesOf(points: readonly Point[]) {
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined) return [];
  const leastMs = Math.max((last.atMs - first.atMs) / rateBars, 1_000);
  const rates: { readonly fromMs: number; readonly toMs: number; readonly perS: number }[] = [];
  let from = first;
  for (const point of points) {
    const spanMs = point.atMs - from.atMs;
    if (spanMs < leastMs) continue;
    rates.push({ fromMs: from.atMs, toMs: point.atMs, perS: ((point.ended - from.ended) * 1_000) / spanMs });
    from = point;
  }
  return rates;
}

/** A retry begins its own axis: one that comes days later must not press the rest together. */
const startOf = ({ submittedAt, retriedAt }: Timeline): number => Date.parse(retriedAt ?? submittedAt);

/** Terms in order, each until its end or the next, with the gaps between them. A leader that is gone leaves an open gap. */
export function spansOf(timeline: Timeline, nowMs: number): readonly Span[] {
  const { terms, finishedAt } = timeline;
  const startMs = startOf(timeline);
  const spans: Span[] = [];
  // Before its first leader a run waits, whether or not somebody leads.
  let reachedMs: number | undefined;
  const gap = (toMs: number, open: boolean): void => {
    if (reachedMs !== undefined && toMs - reachedMs >= gapMsMin)
      spans.push({ kind: "gap", fromMs: reachedMs, toMs, open });
  };
  terms.forEach(({ term, holder, from, to, cameBy }, index) => {
    const fromMs = Math.max(Date.parse(from), startMs);
    const next = terms[index + 1];
    const nextMs = next === undefined ? nowMs : Date.parse(next.from);
    const toMs = Math.min(to === undefined ? nextMs : Date.parse(to), nextMs, nowMs);
    if (toMs < startMs || fromMs > nowMs) return;
    gap(fromMs, false);
    const open = next === undefined && to === undefined && finishedAt === undefined;
    spans.push({
      kind: "term",
      term,
      holder,
      fromMs,
      toMs,
      open,
      ...(cameBy === undefined ? {} : { cameBy }),
    });
    reachedMs = Math.max(reachedMs ?? 0, toMs);
  });
  if (finishedAt === undefined) gap(nowMs, true);
  return spans;
}

type CameBy = NonNullable<Timeline["terms"][number]["cameBy"]>;

export const cameByText: Readonly<Record<CameBy, string>> = {
  free: "the lease was free",
  "handed-over": "handed over",
  expired: "the old lease expired",
  broken: "the old lease was broken",
};

/** Round times for an axis of `count` ticks at most, in whole seconds from its start. */
export function ticksOf(spanMs: number, count: number) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400];
  const least = spanMs / 1_000 / Math.max(count, 1);
  const step = steps.find((one) => one >= least) ?? Math.ceil(least / 86_400) * 86_400;
  const stepMs = step * 1_000;
  return {
    stepMs,
    ticks: Array.from({ length: Math.floor(spanMs / stepMs) + 1 }, (_, index) => index * stepMs),
  };
}

/** `0:00`, `12:05`, `3:20:00`: a moment of a run, from its start. */
export function clockText(ms: number): string {
  const whole = Math.round(ms / 1_000);
  const [hours, minutes, seconds] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number) => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}
