import type { Durations } from "../../../engine/client/inspection/durations.ts";
import type { PackMap } from "../../../engine/client/inspection/packMap.ts";
import type { Timeline } from "../../../engine/client/inspection/timeline.ts";
import { rangeText } from "../../../engine/model/packs.ts";
import { type Column, type Row, right } from "./table.ts";
import { count, duration, milliseconds, oneLine, type Screen, stepText } from "./text.ts";

/** What `status --map`, `--durations` and `--timeline` show to people. */

/** Of the states in one cell the one that matters most is shown. */
const marks: readonly (readonly [keyof PackMap["cells"], string])[] = [
  ["failed", "x"],
  ["resent", "!"],
  ["inFlight", "+"],
  ["gapped", "~"],
  ["givenUp", "/"],
];

/** Where the output is no terminal, which would have a width. */
const cellsPerLine = 100;

/** Rows of characters, one for each cell, and what they mean. */
export function mapLines({ columns }: Pick<Screen, "columns">, map: PackMap): readonly string[] {
  const { packs, packsPerCell, cells } = map;
  if (packs === 0) return ["no packs: not planned yet, or a plan without chunks"];
  const room = Number.isFinite(columns) ? columns - 12 : cellsPerLine;
  const width = Math.max(10, Math.floor(room / 10) * 10);
  const text = cells.done.map((done, cell) => {
    const size = Math.min(packsPerCell, packs - cell * packsPerCell);
    const mark = marks.find(([outcome]) => (cells[outcome][cell] ?? 0) > 0);
    return mark?.[1] ?? (done === size ? "#" : done > 0 ? "-" : ".");
  });
  const rows = Array.from({ length: Math.ceil(text.length / width) }, (_, row) => {
    const first = count(row * width * packsPerCell).padStart(10);
    return `${first}  ${text.slice(row * width, (row + 1) * width).join("")}`;
  });
  const cell = packsPerCell === 1 ? "a pack" : `${count(packsPerCell)} packs`;
  // A run that has given packs up sends none any more.
  const open = cells.givenUp.some((packs) => packs > 0) ? "/ given up" : "+ in flight, ! resent";
  const gaps = cells.gapped.some((packs) => packs > 0) ? ", ~ done with gaps" : "";
  return [...rows, `each is ${cell}: # done, - partly${gaps}, ${open}, x failed, . not sent`];
}

const barWidth = 40;

/** Quantiles, a histogram and the slowest packs. */
export function durationTables(found: Durations) {
  const { p50Ms = 0, p75Ms = 0, p95Ms = 0, maxMs = 0, histogram, slowest } = found;
  const most = Math.max(...histogram.map(({ packs }) => packs));
  return [
    {
      columns: [right("COUNTED"), right("P50"), right("P75"), right("P95"), right("MAX")],
      rows: [[count(found.counted), ...[p50Ms, p75Ms, p95Ms, maxMs].map(milliseconds)]],
    },
    {
      columns: [right("FROM"), right("PACKS"), ""],
      rows: histogram.map(({ fromMs, toMs, packs }) => [
        stepText(fromMs, toMs - fromMs),
        count(packs),
        "█".repeat(Math.ceil((barWidth * packs) / most)),
      ]),
    },
    {
      columns: [right("SLOWEST PACK"), "CHUNKS", right("TIME"), right("ATTEMPT")],
      rows: slowest.map(({ pack, chunks, ms, attempt }) => [
        String(pack),
        rangeText(chunks),
        milliseconds(ms),
        attempt === undefined ? "" : String(attempt),
      ]),
    },
  ].filter(({ rows }) => rows.length > 0);
}

const words: Readonly<Record<NonNullable<Timeline["terms"][number]["cameBy"]>, string>> = {
  free: "nobody held it",
  "handed-over": "release",
  expired: "expiry",
  broken: "break",
};

/** The terms that led a run, and how long nobody did between two of them. */
export function termRows({ terms }: Timeline): readonly Row[] {
  return terms.map(({ term, holder, from, to, cameBy }, index) => {
    const before = terms[index - 1]?.to;
    const gapS = before === undefined ? undefined : (Date.parse(from) - Date.parse(before)) / 1_000;
    const without = gapS === undefined ? "" : duration(Math.max(0, gapS));
    const acquired = cameBy === undefined ? "" : words[cameBy];
    return [String(term), time(from), to === undefined ? "" : time(to), without, acquired, oneLine(holder)];
  });
}

export const termColumns: readonly Column[] = [
  right("TERM"),
  "FROM",
  "TO",
  right("WITHOUT LEADER"),
  "ACQUIRED BY",
  "LEADER",
];

/** What people asked of a run, the submit first. */
export const commandRows = ({ submittedAt, submittedBy, commands }: Timeline): readonly Row[] =>
  [{ action: "submit", at: submittedAt, by: submittedBy }, ...commands].map(({ action, at, by = "" }) => [
    time(at),
    action,
    oneLine(by),
  ]);

export const commandColumns: readonly Column[] = ["AT", "COMMAND", "BY"];

const time = (iso: string): string => `${iso.slice(0, 19)}Z`;
