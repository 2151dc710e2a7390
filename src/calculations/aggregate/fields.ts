import { decimalAt } from "./cells/decimals.ts";
import { utf8 } from "./cells/utf8.ts";
import type { Field } from "./records.ts";

/**
 * The number of a field: a finite decimal, also with an exponent and blanks around it. NaN for anything else, such as
 * `0x10`, `1,000`, `Infinity`, blanks alone, or a number beyond the range of doubles. Zero has no sign.
 */
export function numberOf(field: Field): number {
  if (typeof field === "string") return plainDecimal(field) || anyDecimal(field);
  return typeof field === "number" && Number.isFinite(field) ? field + 0 : Number.NaN;
}

/** Characters of a number that is worth trying: longer ones hardly ever take one rounding. */
const plainMax = 24;

function plainDecimal(text: string): number {
  if (text.length > plainMax) return Number.NaN;
  utf8.write(text);
  return decimalAt(utf8.bytes, 0, utf8.length);
}

function anyDecimal(text: string): number {
  const value = decimal.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value + 0 : Number.NaN;
}

/** Digits can match in one way only: with two ways a long cell of digits and a letter would take quadratic time. */
const decimal = /^\s*[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?\s*$/i;

/** A field with what its position in the order depends on. */
interface Sortable {
  readonly field: Field;
  readonly kind: number;
  readonly number: number;
  readonly text: Uint8Array;
}

const kinds = { nothing: 0, number: 1, false: 2, true: 3, text: 4 } as const;

export function sortable(field: Field): Sortable {
  const text = Buffer.from(String(field));
  if (field === null) return { field, kind: kinds.nothing, number: 0, text };
  if (typeof field === "boolean") return { field, kind: field ? kinds.true : kinds.false, number: 0, text };
  const number = numberOf(field);
  return { field, kind: Number.isNaN(number) ? kinds.text : kinds.number, number, text };
}

/**
 * The order of the result: nothing first, then numbers by value (in CSV every field that reads as one), false, true,
 * then other text by code points, the order of UTF-8. Different fields are never equal in it: `1` comes before `1.0`.
 */
export function compareFields(a: Sortable, b: Sortable): number {
  const byNumber = a.kind === kinds.number ? a.number - b.number : 0;
  return (
    a.kind - b.kind || byNumber || Buffer.compare(a.text, b.text) || typeRank(a.field) - typeRank(b.field)
  );
}

const typeRank = (field: Field): number => (typeof field === "number" ? 0 : 1);

/** Characters of a cell that are shown: a cell is the user's data and may be a megabyte long. */
const shownMax = 80;

const clipped = (text: string): string =>
  text.length <= shownMax ? text : `${text.slice(0, shownMax - 1)}…`;

/** A cell as JSON, for the report within a result: whoever reads that may read the files. */
export const quotedCell = (cell: Field): string =>
  JSON.stringify(typeof cell === "string" ? clipped(cell) : cell);

/**
 * The shape of a cell, for errors, which are logged: each letter as `a`, each digit as `9`, and anything but these and
 * printable ASCII as `?`.
 */
export function shapeOf(cell: Field): string {
  if (typeof cell !== "string") return `a ${typeof cell}`;
  const shape = clipped(cell)
    .replace(/\p{L}/gu, "a")
    .replace(/\p{Nd}/gu, "9")
    .replace(/[^ -~…]/gu, "?");
  return `text like ${JSON.stringify(shape)}`;
}
