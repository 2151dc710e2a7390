import type { Field } from "./records.ts";

/**
 * The number of a field: a finite decimal, also with an exponent and blanks around it. NaN for anything else, such as
 * `0x10`, `1,000`, `Infinity`, blanks alone, or a number beyond the range of doubles. Zero has no sign.
 */
export function numberOf(field: Field): number {
  const value = typeof field === "string" && decimal.test(field) ? Number(field) : field;
  return typeof value === "number" && Number.isFinite(value) ? value + 0 : Number.NaN;
}

/** Digits can match in one way only: with two ways a long cell of digits and a letter would take quadratic time. */
const decimal = /^\s*[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?\s*$/i;

const [zero, plus, minus, dot, lowerE] = [0x30, 0x2b, 0x2d, 0x2e, 0x65] as const;

/** The powers of ten that a double holds exactly. */
const exactPowerMax = 22;
const powersOfTen = Float64Array.from({ length: exactPowerMax + 1 }, (_, power) => Number(`1e${power}`));

/** Digits of an exponent that are read here: the power is bounded by `exactPowerMax` anyway. */
const exponentDigitsMax = 3;

/**
 * The number of a plain decimal in `bytes[from, to)`, the same double as `Number` gives for its text; zero has no sign.
 * NaN for anything else, also for a number that takes more than one rounding: its text has to be read by `Number`.
 *
 * Digits below 2^53 and powers of ten up to 10^22 are exact doubles, so the one product or quotient of them is rounded
 * correctly (W. Clinger, "How to read floating point numbers accurately", PLDI 1990).
 */
export function decimalAt(bytes: Uint8Array, from: number, to: number): number {
  if (from >= to) return Number.NaN;
  const sign = bytes[from] as number;
  const first = sign === minus || sign === plus ? from + 1 : from;
  let at = first;
  let digits = 0;
  let point = -1;
  for (; at < to; at++) {
    const digit = (bytes[at] as number) - zero;
    if (digit >= 0 && digit <= 9) digits = digits * 10 + digit;
    else if (digit === dot - zero && point < 0) point = at;
    else break;
  }
  // Too many digits are rounded here, but never to below 2^53.
  if (digits >= 2 ** 53 || at - first === (point < 0 ? 0 : 1)) return Number.NaN;
  const decimals = point < 0 ? 0 : at - point - 1;
  const power = at === to ? -decimals : exponentAt(bytes, at, to) - decimals;
  let value = digits;
  if (power < 0 && power >= -exactPowerMax) value = digits / (powersOfTen[-power] as number);
  else if (power > 0 && power <= exactPowerMax) value = digits * (powersOfTen[power] as number);
  else if (power !== 0) return Number.NaN;
  return sign === minus ? 0 - value : value;
}

/** The exponent, `e` and the power, that `bytes[from, to)` is; NaN if it is none or a long one. */
function exponentAt(bytes: Uint8Array, from: number, to: number): number {
  if (((bytes[from] as number) | 0x20) !== lowerE || from + 1 === to) return Number.NaN;
  const sign = bytes[from + 1] as number;
  const first = sign === minus || sign === plus ? from + 2 : from + 1;
  if (first === to || to - first > exponentDigitsMax) return Number.NaN;
  let power = 0;
  for (let at = first; at < to; at++) {
    const digit = (bytes[at] as number) - zero;
    if (digit < 0 || digit > 9) return Number.NaN;
    power = power * 10 + digit;
  }
  return sign === minus ? -power : power;
}

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
