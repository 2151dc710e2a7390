import { CalculationError } from "../../../model/errors.ts";
import type { JsonValue } from "../../contract.ts";
import { quantileOf, type Share, shareOf } from "../../exact/buckets.ts";
import { distinctMeasure, estimate } from "../measures/distinctMeasure.ts";
import { numberExtreme, textExtreme } from "../measures/extremeMeasure.ts";
import type { Measure } from "../measures/measure.ts";
import { quantileMeasure } from "../measures/quantileMeasure.ts";
import {
  countMeasure,
  deviationOf,
  meanOf,
  squaresMeasure,
  sumMeasure,
  sumOf,
  varianceOf,
} from "../measures/sums.ts";
import { topMeasure, topOf } from "../measures/topMeasure.ts";
import { type Scanner, scanner } from "./scanner.ts";

export interface Aggregate {
  /** Heading of its column in the result. */
  readonly name: string;
  readonly function: AggregateFunction;
  /** Empty for `count` of rows. */
  readonly column: string;
  readonly argument: Argument;
}

interface AggregateFunction {
  /** Without a column the function counts rows. */
  readonly columnOptional?: boolean;
  /** What follows the column. */
  readonly argument?: "share" | "whole" | undefined;
  /** Keeps the measures that the answer is made from; aggregates that need the same measure share it. */
  plan(keep: Keep, column: string, argument: Argument): Answer;
}

/** Keeps a measure under a name and returns a getter of its state. */
export type Keep = <State>(
  name: string,
  measure: () => Measure<State>,
) => (states: readonly unknown[]) => State;
export type Answer = (states: readonly unknown[]) => JsonValue;
interface Argument {
  readonly share: Share;
  readonly whole: number;
}

/** A function that answers from one measure of its column. */
const from = <State>(
  name: string,
  measure: (column: string) => Measure<State>,
  answer: (state: State, argument: Argument) => JsonValue,
  argument?: "share" | "whole",
): AggregateFunction => ({
  argument,
  plan(keep, column, given) {
    const stateOf = keep(`${name} ${column}`, () => measure(column));
    return (states) => answer(stateOf(states), given);
  },
});

const fromSquares = (answer: typeof varianceOf): AggregateFunction => ({
  plan(keep, column) {
    const sum = keep(`sum ${column}`, () => sumMeasure(column));
    const squares = keep(`squares ${column}`, () => squaresMeasure(column));
    return (states) => answer(sum(states), squares(states));
  },
});

const itself = <T>(state: T): T => state;
const quantile = from("sketch", quantileMeasure, (sketch, { share }) => quantileOf(sketch, share), "share");

const functions: Readonly<Record<string, AggregateFunction>> = {
  count: { ...from("count", countMeasure, itself), columnOptional: true },
  sum: from("sum", sumMeasure, sumOf),
  min: from("min", (column) => numberExtreme(column, "min"), itself),
  max: from("max", (column) => numberExtreme(column, "max"), itself),
  mintext: from("mintext", (column) => textExtreme(column, "min"), itself),
  maxtext: from("maxtext", (column) => textExtreme(column, "max"), itself),
  mean: from("sum", sumMeasure, meanOf),
  variance: fromSquares(varianceOf),
  stddev: fromSquares(deviationOf),
  distinct: from("distinct", distinctMeasure, estimate),
  quantile,
  top: from("values", topMeasure, (values, { whole }) => topOf(values, whole), "whole"),
};

/**
 * `count, sum(price) as total, quantile(price, 0.9), p50(price), top("ship mode", 3)` → aggregates. Throws
 * `CalculationError` with the position and what was expected there.
 */
export function parseAggregates(text: string): Aggregate[] {
  const same = ({ name }: Aggregate, before: readonly Aggregate[]) =>
    before.some((one) => one.name === name)
      ? `two aggregates are named ${name}; rename one: ${name} as other`
      : undefined;
  return listOf(scanner(text), parseOne, "a comma or as", same);
}

/** `year, "Airport Name"` → its columns; an empty text has none. Throws `CalculationError` with the position. */
export function parseColumns(text: string, what = "a column"): string[] {
  if (text.trim() === "") return [];
  const same = (column: string, before: readonly string[]) =>
    before.includes(column) ? `${column} is listed twice` : undefined;
  return listOf(scanner(text), (all) => all.column(",", what), "a comma", same);
}

/** `NA, -, "a,b"` → its texts, in the syntax of columns. */
export const parseTexts = (text: string): string[] => parseColumns(text, "a text");

/** Items separated by commas, up to the end of the text. `refuse` says what is wrong with an item after those before. */
function listOf<T>(
  text: Scanner,
  parse: (from: Scanner) => T,
  separator: string,
  refuse: (item: T, before: readonly T[]) => string | undefined,
): T[] {
  const items: T[] = [];
  for (;;) {
    const at = text.skipBlanks();
    const item = parse(text);
    const rule = refuse(item, items);
    if (rule !== undefined) throw new CalculationError("bad-query", `position ${at + 1}: ${rule}`);
    items.push(item);
    if (text.atEnd()) return items;
    text.expect(/,/y, separator);
  }
}

function parseOne(text: Scanner): Aggregate {
  const { at } = text;
  const word = text.take(/[a-z]+[\d.]*/iy)?.toLowerCase() ?? "";
  const percent = /^p(\d{1,2}(?:\.\d+)?)$/.exec(word)?.[1];
  const known =
    percent !== undefined ? quantile : Object.hasOwn(functions, word) ? functions[word] : undefined;
  if (known === undefined) text.fail(`one of ${Object.keys(functions).join(" ")} or p1 to p99`, at);
  const column = columnOf(text, known);
  const argument = { share: { numerator: 0n, denominator: 1n }, whole: 0 };
  let shown = word;
  if (column !== undefined) {
    shown += `(${column}`;
    if (percent !== undefined) {
      argument.share = shareOf(percent, 2);
    } else if (known.argument !== undefined) {
      text.expect(/,/y, `a comma and ${argumentRules[known.argument]}`);
      const digits = argumentOf(text, known.argument);
      if (known.argument === "share") argument.share = shareOf(digits, 0);
      else argument.whole = Number(digits);
      shown += `,${digits}`;
    }
    text.expect(/\)/y, "a closing parenthesis");
    shown += ")";
  }
  const alias = text.take(/as(?!\w)/iy) === undefined ? undefined : text.column(",");
  return { name: alias ?? shown, function: known, column: column ?? "", argument };
}

/** Undefined for `count` and `count(*)`. */
function columnOf(text: Scanner, { columnOptional = false }: AggregateFunction): string | undefined {
  if (text.take(/\(/y) === undefined) return columnOptional ? undefined : text.fail("(column)");
  return columnOptional && text.take(/\*\s*\)/y) !== undefined ? undefined : text.column(",)");
}

const topMax = 1000;
const argumentRules = {
  share: "a share from 0 to 1",
  whole: `a whole number from 1 to ${topMax}`,
} as const;

function argumentOf(text: Scanner, kind: keyof typeof argumentRules): string {
  const at = text.skipBlanks();
  const digits = text.take(/[\d.]+/y) ?? "";
  const valid =
    kind === "share"
      ? /^(0?\.\d{1,20}|0|1|1\.0+|0\.)$/.test(digits)
      : /^\d{1,4}$/.test(digits) && Number(digits) >= 1 && Number(digits) <= topMax;
  return valid ? digits : text.fail(argumentRules[kind], at);
}
