import * as z from "zod";
import { defineCalculation } from "../engine/calculation/contract.ts";
import { shareOf } from "../engine/calculation/timeChunks.ts";

const params = z.strictObject({
  n: z.coerce.number().int().min(1).max(18).default(12).describe("queens on a board of n × n, 1 to 18"),
});
type Params = z.infer<typeof params>;

/** Columns and diagonals that the queens of the first rows attack in the next row, as bits. */
interface Prefix {
  readonly columns: number;
  readonly left: number;
  readonly right: number;
}

/** Rows that the plan fills: this makes enough prefixes for many workers, of very different cost. */
const planRows = 3;

/** Counts the ways to place n queens that do not attack each other. Its chunks differ widely in cost. */
export const queens = defineCalculation<Params, Prefix, number>({
  name: "queens",
  version: "1",
  summary: "Counts the solutions of the n-queens problem by prefixes of the board.",
  params,
  plan: ({ n }) => prefixes(n, Math.min(planRows, n), { columns: 0, left: 0, right: 0 }),
  compute: ({ input, params: { n } }) => count((1 << n) - 1, input.columns, input.left, input.right),
  merge: (a, b) => a + b,
  zero: () => 0,
  finish: (solutions, context) => ({ n: context.params.n, solutions, ...shareOf(context) }),
});

function* prefixes(n: number, rows: number, placed: Prefix): Generator<Prefix> {
  if (rows === 0) {
    yield placed;
    return;
  }
  const full = (1 << n) - 1;
  for (let free = full & ~(placed.columns | placed.left | placed.right); free !== 0; free &= free - 1) {
    const queen = free & -free;
    yield* prefixes(n, rows - 1, {
      columns: placed.columns | queen,
      left: ((placed.left | queen) << 1) & full,
      right: (placed.right | queen) >> 1,
    });
  }
}

/** Completes a board row by row; `free` has a bit for each column that no queen attacks. */
function count(full: number, columns: number, left: number, right: number): number {
  if (columns === full) return 1;
  let solutions = 0;
  for (let free = full & ~(columns | left | right); free !== 0; free &= free - 1) {
    const queen = free & -free;
    solutions += count(full, columns | queen, (left | queen) << 1, (right | queen) >> 1);
  }
  return solutions;
}
