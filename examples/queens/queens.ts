import { defineCalculation, z } from "leasefold";

/** WebAssembly of assembly/count.ts, as `node compile-kernel.ts` prints it: part of this file, it is part of the code's identity. */
export const kernel =
  "AGFzbQEAAAABCQFgBH9/f38BfwMCAQAFAwEAAAcSAgVjb3VudAAABm1lbW9yeQIACl0BWwEDfyAAIAFGBEBBAQ8LIAAgASACciADckF/c3EhBANAIAQEQCAAIARBACAEa3EiBSABciACIAVyQQF0IAMgBXJBAXYQACAGaiEGIAQgBEEBa3EhBAwBCwsgBgs=";

/** Columns and diagonals that the queens of the first rows attack in the next row, as bits. */
interface Prefix {
  readonly columns: number;
  readonly left: number;
  readonly right: number;
}

/** Rows that the plan fills: this makes enough prefixes for many workers, of very different cost. */
const planRows = 3;

/** Counts the ways to place n queens that do not attack each other. A chunk is a board whose first rows are filled. */
// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCalculation({
  name: "queens",
  summary: "counts the solutions of the n-queens problem by prefixes of the board",
  params: z.strictObject({
    n: z.coerce.number().int().min(1).max(18).default(12).describe("queens on a board of n × n"),
  }),
  plan: ({ n }) => prefixes(n, Math.min(planRows, n), { columns: 0, left: 0, right: 0 }),
  // Each thread starts the kernel once for a run.
  setup: () => start(Buffer.from(kernel, "base64")),
  compute: ({ input, params: { n }, shared: { count } }) =>
    count((1 << n) - 1, input.columns, input.left, input.right),
  merge: (a, b) => a + b,
  zero: () => 0,
  finish: (solutions, { params: { n }, folded, count }) => ({
    n,
    solutions,
    ...(folded === count ? {} : { missingChunks: count - folded }),
  }),
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

interface Kernel {
  count(full: number, columns: number, left: number, right: number): number;
}

/** The types of Node leave WebAssembly to those of browsers. */
interface Wasm {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
}

function start(bytes: Uint8Array): Kernel {
  const { Module, Instance } = (globalThis as unknown as { readonly WebAssembly: Wasm }).WebAssembly;
  return new Instance(new Module(bytes)).exports as Kernel;
}
