import type { Screen } from "../cli.ts";
import { clip, paint, type Style, wrap } from "./text.ts";

export interface Column {
  readonly title: string;
  readonly right?: boolean;
  /** Gives way when the table is too wide; without one the table may run over. */
  readonly gives?: boolean;
  /** Then goes on below, where it would be cut. */
  readonly wraps?: boolean;
}

export interface Cell {
  readonly text: string;
  readonly style: Style;
}

/** A column that gives way keeps at least this width, so that something can still be read. */
const narrowest = 8;
const gap = "  ";

/** Rows under a head line, within the width of the screen. Ends with a newline. */
export function table(
  screen: Screen,
  columns: readonly Column[],
  rows: readonly (readonly (string | Cell)[])[],
): string {
  const textOf = (cell: string | Cell | undefined): string =>
    typeof cell === "string" ? cell : (cell?.text ?? "");
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...rows.map((row) => textOf(row[index]).length)),
  );
  const total = widths.reduce((sum, width) => sum + width, 0) + gap.length * (columns.length - 1);
  const giving = columns.findIndex(({ gives }) => gives === true);
  if (total > screen.columns && giving >= 0) {
    widths[giving] = Math.max(narrowest, (widths[giving] ?? 0) - (total - screen.columns));
  }
  const line = (cells: readonly (string | Cell)[], style?: Style): string => {
    const lines = columns.map(({ wraps }, index) => {
      const text = textOf(cells[index]);
      return wraps ? wrap(text, widths[index] ?? 0) : [text];
    });
    const height = Math.max(...lines.map((one) => one.length));
    return Array.from({ length: height }, (_, row) => lineOf(cells, lines, row, style)).join("\n");
  };
  const lineOf = (
    cells: readonly (string | Cell)[],
    lines: readonly (readonly string[])[],
    row: number,
    style: Style | undefined,
  ): string =>
    columns
      .map(({ right }, index) => {
        const cell = cells[index];
        const width = widths[index] ?? 0;
        const text = clip(lines[index]?.[row] ?? "", width);
        const last = index === columns.length - 1;
        const padded = right === true ? text.padStart(width) : last ? text : text.padEnd(width);
        const own = typeof cell === "object" ? cell.style : style;
        return own === undefined ? padded : paint(screen, own, padded);
      })
      .join(gap)
      .trimEnd();
  const head = line(
    columns.map(({ title }) => title),
    "bold",
  );
  return `${[head, ...rows.map((row) => line(row))].join("\n")}\n`;
}
