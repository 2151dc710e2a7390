import { clip, oneLine, padEnd, paint, type Screen, wrap } from "../render/text.ts";
import { type Breach, type Finding, laws } from "./laws/findings.ts";

/** One line of a check, with the breach of a broken law below it. */
export interface CheckRow {
  readonly law: string;
  readonly says: string;
  readonly outcome: Finding["outcome"];
  /** What was tried, why nothing was, or the advice. */
  readonly text: string;
  readonly ms?: number | undefined;
  readonly breach?: Breach;
}

const adviceSays = {
  empty: "a run of no chunks",
  result: "the result as JSON",
  growth: "size of partials",
  time: "time of a chunk",
  random: "random numbers",
  clock: "the clock",
  math: "bits of Math",
};

export function rowOf(finding: Finding): CheckRow {
  const { law, outcome } = finding;
  if (finding.outcome === "advice")
    return { law, says: adviceSays[finding.law], outcome, text: finding.text };
  const says = laws[finding.law];
  if (finding.outcome === "unchecked") return { law, says, outcome, text: `not tried; ${finding.why}` };
  const ms = finding.ms === undefined ? undefined : Math.round(finding.ms * 10) / 10;
  if (finding.outcome === "holds") return { law, says, outcome, text: finding.tried, ms };
  return { law, says, outcome, text: "", ms, breach: finding.breach };
}

const marks = {
  holds: ["✓", "green"],
  broken: ["✗", "red"],
  unchecked: ["·", "dim"],
  advice: ["!", "yellow"],
} as const;

const saysWidth = 30;
/** Room for `999 ms` and `9.9 s`. */
const timeWidth = 6;

/** The lines of a row, within the width of the screen, without control characters of user code. */
export function linesOf(row: CheckRow, screen: Screen): readonly string[] {
  const [mark, style] = marks[row.outcome];
  const head = `  ${paint(screen, style, mark)} ${row.says.padEnd(saysWidth)}`;
  const time = row.ms === undefined ? "" : timeText(row.ms).padStart(timeWidth);
  const room = screen.columns - 4 - saysWidth - (time === "" ? 0 : timeWidth + 1);
  const text = oneLine(row.text);
  const [first = "", ...more] = row.outcome === "advice" ? wrap(text, room) : [clip(text, room)];
  const line =
    time === ""
      ? head + first
      : `${head}${padEnd(first, Number.isFinite(room) ? room : 0)} ${paint(screen, "dim", time)}`;
  const below = more.map((line) => " ".repeat(4 + saysWidth) + line);
  return [line.trimEnd(), ...below, ...(row.breach === undefined ? [] : breachLines(row.breach, screen))];
}

function breachLines({ example, sides, likely, cure }: Breach, screen: Screen): readonly string[] {
  const under = (label: string, text: string): string[] => {
    const indent = 6 + label.length;
    return wrap(oneLine(text), screen.columns - indent).map((line, index) =>
      index === 0 ? `      ${paint(screen, "dim", label)}${line}` : " ".repeat(indent) + line,
    );
  };
  const width = Math.max(0, ...(sides ?? []).map(({ name }) => name.length));
  const sideLines = (sides ?? []).map(({ name, value }) => {
    const shown = clip(oneLine(value), screen.columns - 10 - width);
    return `        ${name.padEnd(width)}  ${paint(screen, "cyan", shown)}`;
  });
  return [...under("", example), ...sideLines, ...under("likely  ", likely), ...under("fix     ", cure)];
}

const timeText = (ms: number): string =>
  ms < 999.5 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
