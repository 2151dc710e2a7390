import { csvParse } from "d3-dsv";
import { defineCalculation, z } from "leasefold";

/** Least squares over CSV files: partials are the sums of the normal equations, whose size does not depend on the rows. */
// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCalculation({
  name: "regression",
  summary: "fits a column of CSV files by others, with a constant",
  byInput: true,
  params: z.strictObject({
    source: z.string().describe("container/prefix of the files, such as leasefold-inputs/houses/"),
    of: z.string().default("price").describe("column to explain"),
    by: z.array(z.string()).min(1).default(["area", "rooms"]).describe("columns that explain it"),
  }),
  async *plan({ source }, { files }) {
    for await (const file of files.list(source)) yield file;
  },
  async compute({ input: file, params: { of, by }, files }) {
    const decoder = new TextDecoder();
    let text = "";
    for await (const bytes of files.read(file)) text += decoder.decode(bytes, { stream: true });
    let sums: number[][] = [];
    for (const [at, row] of csvParse(text).entries()) {
      const values = [1, ...[...by, of].map((column) => Number(row[column] || Number.NaN))];
      if (values.some(Number.isNaN)) throw new Error(`${file.path}, line ${at + 2}: ${JSON.stringify(row)}`);
      sums = add(
        sums,
        values.map((a) => values.map((b) => a * b)),
      );
    }
    return sums;
  },
  merge: (a, b) => add(a, b),
  zero: () => [],
  finish(sums, { params: { by } }) {
    const rows = sums[0]?.[0] ?? 0;
    if (rows <= by.length) throw new Error(`${rows} rows are too few for ${by.length + 1} coefficients`);
    const found = solve(sums.slice(0, -1).map((row) => [...row]));
    const named = ["constant", ...by].map((name, index) => [name, found[index] ?? null]);
    return { rows, coefficients: Object.fromEntries(named) as Record<string, number | null> };
  },
});

const add = (a: number[][], b: number[][]): number[][] =>
  a.length === 0 || b.length === 0
    ? [...a, ...b]
    : a.map((row, i) => row.map((x, j) => x + (b[i]?.[j] ?? 0)));

/** Gauss and Jordan: the last column is the right side. Normal equations need no other pivot than their diagonal. */
function solve(rows: number[][]): number[] {
  for (const [at, pivot] of rows.entries()) {
    const scale = pivot[at] ?? 0;
    for (const row of rows.filter((one) => one !== pivot)) {
      const factor = (row[at] ?? 0) / scale;
      for (const [column, x] of pivot.entries()) row[column] = (row[column] ?? 0) - factor * x;
    }
  }
  return rows.map((row, at) => (row.at(-1) ?? 0) / (row[at] ?? 0));
}
