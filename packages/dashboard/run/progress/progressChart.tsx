import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { count, countOf, duration, perSecond } from "../../../../src/engine/model/figures.ts";
import { Head, Scroll } from "../../parts/parts.tsx";
import { useWidth } from "../../parts/useWidth.ts";
import { type Chart, cameByText, clockText, type Span, ticksOf } from "./chart.ts";

const height = { progress: 150, rate: 44, terms: 26, axis: 20, space: 22 } as const;
const left = 46;
const right = 12;
const top = 8;

/** Progress, rate and leaders of a run above one time axis; a table says the same in words. */
export function ProgressChart({ chart }: { readonly chart: Chart }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const width = Math.max(useWidth(box), 260);
  const rateTop = top + height.progress + height.space;
  const termsTop = rateTop + height.rate + height.space;
  const axisTop = termsTop + height.terms + 6;
  const x = (ms: number) =>
    left + ((ms - chart.fromMs) / (chart.toMs - chart.fromMs)) * (width - left - right);
  const y = (ended: number) => top + height.progress * (1 - (chart.total === 0 ? 0 : ended / chart.total));
  const yRate = (perS: number) =>
    rateTop + height.rate * (1 - (chart.rateMax === 0 ? 0 : perS / chart.rateMax));
  const { ticks } = ticksOf(chart.toMs - chart.fromMs, Math.floor((width - left) / 90));
  return (
    <div class="chart" ref={box}>
      <svg
        viewBox={`0 0 ${width} ${axisTop + height.axis}`}
        width={width}
        height={axisTop + height.axis}
        role="img"
        aria-label={summaryOf(chart)}
      >
        <g class="grid">
          {[0, 0.5, 1].map((share) => (
            <g key={share}>
              <path d={`M${left} ${y(chart.total * share)}H${width - right}`} />
              <text x={left - 8} y={y(chart.total * share) + 4} class="end">
                {`${share * 100} %`}
              </text>
            </g>
          ))}
          {ticks.map((ms) => (
            <g key={ms}>
              <path d={`M${x(chart.fromMs + ms)} ${top}V${axisTop}`} class="tick" />
              <text x={x(chart.fromMs + ms)} y={axisTop + 14} class={anchorOf(x(chart.fromMs + ms), width)}>
                {clockText(ms)}
              </text>
            </g>
          ))}
        </g>
        <Ahead chart={chart} x={x} y={y} />
        <path
          class="area"
          d={`${lineOf(chart, x, y)}V${y(0)}H${x(chart.points[0]?.atMs ?? chart.fromMs)}Z`}
        />
        <path class="line" d={lineOf(chart, x, y)} />
        <g class="rates">
          <text x={left - 8} y={rateTop + 10} class="end">
            {chart.rateMax > 0 ? perSecond(chart.rateMax) : ""}
          </text>
          <path class="base" d={`M${left} ${rateTop + height.rate}H${width - right}`} />
          {chart.rates.map(({ fromMs, toMs, perS }) => (
            <rect
              key={fromMs}
              x={x(fromMs)}
              y={yRate(perS)}
              width={Math.max(1, x(toMs) - x(fromMs) - 1)}
              height={rateTop + height.rate - yRate(perS)}
            />
          ))}
        </g>
        <g class="terms">
          <text x={left - 8} y={termsTop + 17} class="end">
            leader
          </text>
          {chart.spans.map((span) => (
            <SpanMark
              key={`${span.kind} ${span.fromMs}`}
              span={span}
              from={x(span.fromMs)}
              to={x(span.toMs)}
              y={termsTop}
            />
          ))}
        </g>
        {chart.ahead === undefined ? null : <path class="now" d={`M${x(chart.nowMs)} ${top}V${axisTop}`} />}
      </svg>
      {chart.moved ? (
        <p class="dim">The run was paused: progress from before the pause is drawn at its end.</p>
      ) : null}
      <details>
        <summary>Leaders as a table</summary>
        <SpanTable chart={chart} />
      </details>
    </div>
  );
}

/** Texts of the axis stay inside of the picture. */
const anchorOf = (x: number, width: number): string =>
  x < left + 16 ? "" : x > width - right - 16 ? "end" : "middle";

type Scale = (value: number) => number;

const lineOf = ({ points, fromMs }: Chart, x: Scale, y: Scale): string => {
  const [first, ...rest] = points.map(({ atMs, ended }) => `${x(atMs).toFixed(1)} ${y(ended).toFixed(1)}`);
  return `M${first ?? `${x(fromMs)} ${y(0)}`}${rest.map((point) => `L${point}`).join("")}`;
};

/** The band of the remaining time: between the earliest and the latest end, and the expected way. */
function Ahead(of: { readonly chart: Chart; readonly x: Scale; readonly y: Scale }): JSX.Element | null {
  const { chart, x, y } = of;
  const { ahead, nowMs } = chart;
  if (ahead === undefined) return null;
  const now = `${x(nowMs)} ${y(ahead.ended)}`;
  return (
    <g class="ahead">
      <path class="band" d={`M${now}L${x(ahead.lowMs)} ${y(ahead.goal)}H${x(ahead.highMs)}Z`} />
      <path class="expected" d={`M${now}L${x(ahead.expectedMs)} ${y(ahead.goal)}`} />
    </g>
  );
}

/** Wide enough for about this many pixels a character. */
const characterPx = 6.6;

function SpanMark(of: {
  readonly span: Span;
  readonly from: number;
  readonly to: number;
  readonly y: number;
}): JSX.Element {
  const { span, from, to, y } = of;
  const width = Math.max(2, to - from);
  const text = labelOf(span, width);
  // A takeover is short on the axis of a run, and the first thing to ask about.
  const outside = text === "" && span.kind === "gap" ? secondsOf(span) : "";
  const kind = span.kind === "gap" ? "gap" : `term ${span.term % 2 === 0 ? "even" : "odd"}`;
  return (
    <g class={kind}>
      <title>{spanText(span)}</title>
      <rect x={from} y={y} width={Math.max(1, width - 1)} height={height.terms} rx="2" />
      {span.kind === "gap" ? <path d={hatch(from, width - 1, y)} /> : null}
      {text === "" ? null : (
        <text x={from + width / 2} y={y + 17} class="middle">
          {text}
        </text>
      )}
      {outside === "" ? null : (
        <text x={from + width / 2} y={y - 5} class="middle outside">
          {outside}
        </text>
      )}
    </g>
  );
}

/** Slanted lines, so that a gap is told apart without its color. */
function hatch(from: number, width: number, y: number): string {
  const lines: string[] = [];
  for (let x = from; x < from + width; x += 5) {
    const reach = Math.min(height.terms, from + width - x);
    lines.push(`M${x} ${y + height.terms}l${reach} ${-reach}`);
  }
  return lines.join("");
}

const secondsOf = (span: Span): string => duration((span.toMs - span.fromMs) / 1_000);

function labelOf(span: Span, width: number): string {
  const seconds = secondsOf(span);
  const texts =
    span.kind === "gap"
      ? [`no leader ${seconds}`, seconds]
      : [`${span.holder} · term ${span.term}`, span.holder, `${span.term}`];
  return texts.find((text) => text.length * characterPx + 8 <= width) ?? "";
}

function spanText(span: Span): string {
  const took = secondsOf(span);
  if (span.kind === "gap") return `no leader for ${took}${span.open ? " so far" : ""}`;
  const came = span.cameBy === undefined ? "" : `, ${cameByText[span.cameBy]}`;
  return `${span.holder}, term ${span.term}, ${span.open ? "leads for" : "led for"} ${took}${came}`;
}

/** For those who do not see the picture. */
function summaryOf({ points, total, spans, ahead, nowMs }: Chart): string {
  const ended = points.at(-1)?.ended ?? 0;
  const gaps = spans.filter(({ kind }) => kind === "gap").length;
  const terms = spans.length - gaps;
  const end = ahead === undefined ? "" : `, about ${duration((ahead.expectedMs - nowMs) / 1_000)} remaining`;
  return `Progress over time: ${count(ended)} of ${countOf(total, "pack")} ended${end}; ${countOf(terms, "term")} and ${countOf(gaps, "gap")} without a leader`;
}

function SpanTable({ chart }: { readonly chart: Chart }): JSX.Element {
  return (
    <Scroll label="Leaders of the run">
      <table class="list">
        <Head columns={["From", "To", "Who led"]} />
        <tbody>
          {chart.spans.map((span) => (
            <tr key={`${span.kind} ${span.fromMs}`}>
              <td>{clockText(span.fromMs - chart.fromMs)}</td>
              <td>{span.open ? "now" : clockText(span.toMs - chart.fromMs)}</td>
              <td>{spanText(span)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
