import type { Field } from "../records.ts";

/** One column of the current batch as numbers, each parsed when it is first asked for. */
export interface NumberColumn {
  begin(rows: readonly (readonly Field[])[]): void;
  /** Of row `place`; NaN where there is none: an empty field, or one that is no number, which `onBad` was told of. */
  at(place: number): number;
}

const unread = Number.POSITIVE_INFINITY;

export function numberColumn(index: number, onBad: (place: number) => void): NumberColumn {
  let rows: readonly (readonly Field[])[] = [];
  let values = new Float64Array(0);
  const read = (place: number): number => {
    const field = rows[place]?.[index] as Field;
    let value = Number.NaN;
    if (field !== null) {
      value = numberOf(field);
      if (Number.isNaN(value)) onBad(place);
    }
    values[place] = value;
    return value;
  };
  return {
    begin(batch) {
      rows = batch;
      if (values.length < batch.length) values = new Float64Array(batch.length);
      values.fill(unread, 0, batch.length);
    },
    at(place) {
      const value = values[place] as number;
      return value === unread ? read(place) : value;
    },
  };
}

/**
 * A finite decimal number, also with an exponent and blanks around it; NaN for anything else, such as `0x10`, `1,000`,
 * `Infinity`, blanks alone, or a number beyond the range of doubles. Zero has no sign.
 */
export function numberOf(field: Field): number {
  if (typeof field === "string") return plainDecimal(field) ?? anyDecimal(field);
  return typeof field === "number" && Number.isFinite(field) ? field + 0 : Number.NaN;
}

/**
 * Of at most 16 characters, so of 16 digits or of 15 and a point: only the last digit or the one division by an exact
 * power of ten rounds, and both round correctly (W. Clinger, PLDI 1990). Faster than `Number`, and most fields are such.
 */
function plainDecimal(text: string): number | undefined {
  const length = text.length;
  const negative = text.charCodeAt(0) === minus;
  const from = negative ? 1 : 0;
  if (length === from || length > 16) return undefined;
  let digits = 0;
  let point = -1;
  for (let at = from; at < length; at++) {
    const digit = text.charCodeAt(at) - zero;
    if (digit >= 0 && digit <= 9) digits = digits * 10 + digit;
    else if (digit === dot - zero && point < 0 && at > from) point = at;
    else return undefined;
  }
  const places = point < 0 ? 0 : length - 1 - point;
  const value = places === 0 ? digits : digits / (powersOfTen[places] as number);
  return negative ? 0 - value : value;
}

const powersOfTen = Array.from({ length: 16 }, (_, power) => 10 ** power);

function anyDecimal(text: string): number {
  const value = decimal.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value + 0 : Number.NaN;
}

/** Digits have one way to match: with two, a long cell of digits and a letter would take time by the square. */
const decimal = /^\s*[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?\s*$/i;
const [zero, minus, dot] = [48, 45, 46];
