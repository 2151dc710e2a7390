import { count, countOf, duration, stepText } from "../../model/figures.ts";
import type { Durations } from "../inspection/durations.ts";
import type { PackMap } from "../inspection/packMap.ts";
import type { Timeline } from "../inspection/timeline.ts";
import { round, type TimeAxis, timeAxis } from "./axis.ts";
import { type Html, html } from "./html.ts";

/**
 * The charts of a report, as SVG whose attributes alone suffice: a host that drops styles still shows them. Each has a
 * table beside it.
 */
const width = 912;
const left = 64;

/** Colors of a light page; `style.ts` has those of a dark one by the same names. */
const fills = {
  ...{
    done: "#3f9a70",
    failed: "#c9332d",
    flight: "#2c52c9",
    resent: "#9a6200",
    lost: "#a9adb8",
    none: "#e6e7eb",
  },
  ...{ term: "#5b78d6", gap: "#fbe3e1" },
} as const;
type Fill = keyof typeof fills;
const dim = "#5a5f6b";

const svg = (height: number, label: string, content: readonly Html[]): Html =>
  html`<div class="scroll"><svg class="chart" xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}" font-family="sans-serif" font-size="11">${content}</svg></div>
`;

type Anchor = "start" | "middle" | "end";
const text = (x: number, y: number, content: string, anchor: Anchor = "start"): Html =>
  html`<text x="${x}" y="${y}" fill="${dim}" text-anchor="${anchor}">${content}</text>`;
const rect = (fill: Fill, x: number, y: number, w: number, h: number, title?: string): Html =>
  html`<rect class="${fill}" fill="${fills[fill]}" x="${x}" y="${y}" width="${round(w)}" height="${h}">${title === undefined ? "" : html`<title>${title}</title>`}</rect>`;
const line = (x1: number, y1: number, x2: number, y2: number): Html =>
  html`<line class="grid" stroke="#e3e4e8" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;

const curveHeight = 132;
const laneHeight = 18;

/** Packs that ended over time, and below on the same axis who led: a lane for each leader, and gaps without any. */
export function timelineChart(timeline: Timeline): Html {
  const { marks, terms, packs } = timeline;
  const fromMs = Date.parse(timeline.retriedAt ?? timeline.submittedAt);
  const toMs = Date.parse(timeline.finishedAt ?? timeline.nowAt);
  const axis = timeAxis(fromMs, toMs, left, width - 8);
  const holders = [...new Set(terms.map(({ holder }) => holder))].slice(0, lanesMax);
  const top = 8;
  const base = top + curveHeight;
  const lanes = base + 14;
  const height = lanes + holders.length * laneHeight + 22;
  const y = (ended: number): number => round(base - (ended / Math.max(packs, 1)) * curveHeight);
  const points = marks.map(({ at, ended }) => `${axis.x(Date.parse(at))},${y(ended)}`);
  const first = marks[0] === undefined ? left : axis.x(Date.parse(marks[0].at));
  const last = marks.at(-1) === undefined ? left : axis.x(Date.parse(marks.at(-1)?.at ?? ""));
  const area = `${first},${base} ${points.join(" ")} ${last},${base}`;
  const gaps = gapsOf(timeline, axis);
  const label = `${count(marks.at(-1)?.ended ?? 0)} of ${countOf(packs, "pack")} ended in ${duration((toMs - fromMs) / 1_000)}`;
  return svg(height, label, [
    ...axis.ticks.map(({ x }) => line(x, top, x, height - 18)),
    ...axis.ticks.map(({ x, text: tick }) => text(x, height - 4, tick, x > width - 40 ? "end" : "middle")),
    ...[0, 0.5, 1].map((share) => line(left, y(share * packs), width - 8, y(share * packs))),
    ...[0.5, 1].map((share) => text(left - 6, y(share * packs) + 4, count(share * packs), "end")),
    ...gaps.map(([from, to, title]) =>
      rect("gap", from, top, Math.max(to - from, 1), lanes + holders.length * laneHeight - top, title),
    ),
    ...gaps
      .filter(([from, to]) => to - from > 28)
      .map(([from, to, , spanS]) => text(round((from + to) / 2), top + 12, duration(spanS), "middle")),
    ...(points.length > 1
      ? [
          html`<polygon class="done" fill="${fills.done}" fill-opacity="0.16" points="${area}"/>`,
          html`<polyline class="curve" stroke="${fills.done}" stroke-width="2" stroke-linejoin="round" fill="none" points="${points.join(" ")}"/>`,
        ]
      : []),
    ...holders.map((holder, lane) => text(left - 6, lanes + lane * laneHeight + 12, shorten(holder), "end")),
    ...termBars(timeline, axis, holders, lanes),
  ]);
}

/** More leaders than these are in the table only. */
const lanesMax = 12;
const shorten = (holder: string): string => (holder.length <= 8 ? holder : `…${holder.slice(-7)}`);

function termBars(
  { terms, finishedAt, nowAt }: Timeline,
  axis: TimeAxis,
  holders: readonly string[],
  top: number,
): readonly Html[] {
  return terms.flatMap(({ term, holder, from, to }, index) => {
    const lane = holders.indexOf(holder);
    const endMs = Date.parse(to ?? terms[index + 1]?.from ?? finishedAt ?? nowAt);
    if (lane < 0 || endMs < axis.fromMs) return [];
    const [start, end] = [axis.x(Date.parse(from)), axis.x(endMs)];
    const title = `term ${term}: ${holder}`;
    return [
      rect("term", start, top + lane * laneHeight + 2, Math.max(end - start, 2), laneHeight - 6, title),
    ];
  });
}

/** Times between two terms in which nobody led, where the record remembers the end of the first. */
function gapsOf({ terms }: Timeline, axis: TimeAxis): readonly (readonly [number, number, string, number])[] {
  return terms.flatMap(({ to, holder }, index) => {
    const next = terms[index + 1];
    if (to === undefined || next === undefined) return [];
    const [fromMs, toMs] = [Date.parse(to), Date.parse(next.from)];
    const spanS = (toMs - fromMs) / 1_000;
    // Storage tells whole seconds, so a shorter gap may be none.
    if (spanS <= 1 || toMs < axis.fromMs) return [];
    return [
      [axis.x(fromMs), axis.x(toMs), `no leader for ${duration(spanS)} after ${holder}`, spanS] as const,
    ];
  });
}

/** Squares in a row: few packs are drawn larger. */
const columnsFor = (cells: number): number => (cells <= 120 ? 40 : cells <= 600 ? 60 : 100);

/** Of the states in one cell the one that matters most; the first that it has. */
const states = [
  ["failed", "failed", "failed"],
  ["resent", "resent", "resent"],
  ["inFlight", "flight", "in flight"],
  ["givenUp", "lost", "given up"],
] as const;

/** Every cell of the map as a square, its states joined to one path each. */
export function mapChart(map: PackMap): Html {
  const { packs, packsPerCell, cells } = map;
  const paths = { none: "", done: "", partly: "", lost: "", flight: "", resent: "", failed: "" };
  const columns = columnsFor(cells.done.length);
  const cellSize = width / columns;
  const side = round(cellSize - 1.6);
  let marks = "";
  cells.done.forEach((done, cell) => {
    const size = Math.min(packsPerCell, packs - cell * packsPerCell);
    const state = states.find(([outcome]) => (cells[outcome][cell] ?? 0) > 0)?.[1];
    const fill = state ?? (done === size ? "done" : done > 0 ? "partly" : "none");
    const [x, y] = [(cell % columns) * cellSize, Math.floor(cell / columns) * cellSize];
    paths[fill] += `M${round(x)} ${round(y)}h${side}v${side}h-${side}z`;
    marks += markOf(fill, x, y, side);
  });
  const height = Math.ceil(Math.ceil(cells.done.length / columns) * cellSize);
  const drawn = Object.entries(paths).filter(([, path]) => path !== "");
  return svg(Math.max(height, 1), "the packs of the run; the table below has the same", [
    ...drawn.map(([name, path]) => {
      const [fill, opacity] = name === "partly" ? ["done" as const, 0.45] : [name as Fill, 1];
      return html`<path class="${fill}" fill="${fills[fill]}" fill-opacity="${opacity}" d="${path}"/>`;
    }),
    html`<path class="cross" stroke="#ffffff" stroke-width="1.5" fill="none" d="${marks}"/>`,
  ]);
}

/** What tells states apart without their colors: a cross for failed, a stroke for in flight, two for resent, a slanted one for given up. */
function markOf(fill: string, x: number, y: number, side: number): string {
  const [near, far, half] = [round(side * 0.28), round(side * 0.72), round(side / 2)];
  const line = (x1: number, y1: number, x2: number, y2: number): string =>
    `M${round(x + x1)} ${round(y + y1)}L${round(x + x2)} ${round(y + y2)}`;
  if (fill === "failed") return line(near, near, far, far) + line(near, far, far, near);
  if (fill === "flight") return line(near, half, far, half);
  if (fill === "lost") return line(near, far, far, near);
  return fill === "resent" ? line(near, near, far, near) + line(near, far, far, far) : "";
}

const histogramHeight = 108;

export function durationChart({ histogram }: Durations): Html {
  const most = Math.max(1, ...histogram.map(({ packs }) => packs));
  const bar = (width - left - 8) / Math.max(histogram.length, 1);
  const base = 8 + histogramHeight;
  const every = Math.ceil(histogram.length / 8);
  return svg(base + 20, `durations of packs in ${countOf(histogram.length, "bar")}`, [
    line(left, base, width - 8, base),
    text(left - 6, 16, count(most), "end"),
    ...histogram.map(({ fromMs, toMs, packs }, index) => {
      const high = round((packs / most) * histogramHeight);
      const [from, to] = [stepText(fromMs, toMs - fromMs), stepText(toMs, toMs - fromMs)];
      const title = `${from} to ${to}: ${countOf(packs, "pack")}`;
      return rect(
        "done",
        round(left + index * bar + 1),
        round(base - high),
        Math.max(bar - 2, 1),
        high,
        title,
      );
    }),
    ...histogram.flatMap(({ fromMs, toMs }, index) =>
      index % every === 0
        ? [text(round(left + index * bar), base + 15, stepText(fromMs, toMs - fromMs))]
        : [],
    ),
  ]);
}

/** What the squares of a map mean. */
export const mapKey = html`<ul class="key">${(
  [
    ["done", "done"],
    ["flight", "in flight"],
    ["resent", "in flight, resent"],
    ["failed", "failed"],
    ["lost", "given up"],
    ["none", "not sent"],
  ] as const
).map(
  ([fill, name]) =>
    html`<li><svg width="12" height="12" aria-hidden="true"><rect class="${fill}" fill="${fills[fill]}" width="12" height="12"/><path class="cross" stroke="#ffffff" stroke-width="1.5" fill="none" d="${markOf(fill, 0, 0, 12)}"/></svg>${name}</li>`,
)}</ul>`;
