import { clip, padEnd, paint, type Screen, type Style, widthOf, wrap } from "./text.ts";

export type Column =
  | string
  | {
      readonly title: string;
      readonly right?: boolean;
      readonly shrinks?: "clip" | "wrap";
      readonly drops?: true;
    };

/** A column of numbers. */
export const right = (title: string): Column => ({ title, right: true });
/** Left out, the last one first, where the rest does not fit; --json has what it says. */
export const dropped = (title: string): Column => ({ title, right: true, drops: true });
/** The column that is clipped when the table is too wide; a table without one may exceed the width. */
export const clipped = (title: string): Column => ({ title, shrinks: "clip" });
/** The column that continues below when the table is too wide. */
export const wrapped = (title: string): Column => ({ title, shrinks: "wrap" });

export type Row = readonly (string | { readonly text: string; readonly style: Style })[];

/** A column that shrinks keeps at least this width, to stay readable. */
const shrunkMin = 8;
const gap = "  ";

/** Rows under a header, within the width of the screen. Ends with a newline. */
export function table(
  screen: Pick<Screen, "color" | "columns">,
  columns: readonly Column[],
  rows: readonly Row[],
): string {
  const specs = columns.map((column) => (typeof column === "string" ? { title: column } : column));
  const head = specs.map(({ title }) => ({ text: title, style: "bold" }) as const);
  const textOf = (row: Row, index: number): string => {
    const cell = row[index] ?? "";
    return typeof cell === "string" ? cell : cell.text;
  };
  const widths = specs.map((_, index) =>
    Math.max(...[head, ...rows].map((row) => widthOf(textOf(row, index)))),
  );
  const total = widths.reduce((sum, width) => sum + width, 0) + gap.length * (specs.length - 1);
  const shrinking = specs.findIndex(({ shrinks }) => shrinks !== undefined);
  const over = total - screen.columns;
  const room = shrinking < 0 ? 0 : Math.max(0, (widths[shrinking] ?? 0) - shrunkMin);
  const drop = specs.findLastIndex(({ drops }) => drops);
  if (over > room && drop >= 0)
    return table(
      screen,
      columns.toSpliced(drop, 1),
      rows.map((row) => row.toSpliced(drop, 1)),
    );
  if (over > 0 && shrinking >= 0) widths[shrinking] = Math.max(shrunkMin, (widths[shrinking] ?? 0) - over);
  const linesOf = (row: Row): readonly string[] => {
    const cells = specs.map(({ shrinks }, index) => {
      const [text, width] = [textOf(row, index), widths[index] ?? 0];
      return shrinks === "wrap" ? wrap(text, width) : [clip(text, width)];
    });
    const height = Math.max(...cells.map((lines) => lines.length));
    return Array.from({ length: height }, (_, at) =>
      specs
        .map((spec, index) => {
          const [text, width, cell] = [cells[index]?.[at] ?? "", widths[index] ?? 0, row[index]];
          const isLast = index === specs.length - 1;
          const padded = spec.right ? text.padStart(width) : isLast ? text : padEnd(text, width);
          return typeof cell === "object" ? paint(screen, cell.style, padded) : padded;
        })
        .join(gap)
        .trimEnd(),
    );
  };
  return `${[head, ...rows].flatMap(linesOf).join("\n")}\n`;
}
