import { isAscii } from "node:buffer";
import { type Cells, emptyCell, textCell } from "../cells/cells.ts";
import type { Columns } from "../measures/measure.ts";
import { exactOf } from "../wholeNumbers.ts";
import { quoted, type Scanner, scanner } from "./scanner.ts";

/** A parsed filter. */
export type Condition =
  | { readonly kind: "and" | "or"; readonly parts: readonly Condition[] }
  | { readonly kind: "not"; readonly part: Condition }
  | { readonly kind: "empty"; readonly column: string }
  | {
      readonly kind: "compare";
      readonly column: string;
      readonly operator: Operator;
      readonly literal: Literal;
    }
  | { readonly kind: "in"; readonly column: string; readonly literals: readonly Literal[] };

type Operator = "=" | "!=" | "<" | "<=" | ">" | ">=";

/** A number compares as a number, a whole one that no double holds as a bigint, and anything else as text. */
type Literal = number | bigint | string;

export function columnsOf(condition: Condition): string[] {
  if ("parts" in condition) return condition.parts.flatMap(columnsOf);
  return "part" in condition ? columnsOf(condition.part) : [condition.column];
}

/** Limits the recursion: the stack has an end, and nobody writes more levels by hand. */
const depthMax = 100;

/**
 * `price >= 10 and not (shop = 'a' or "ship mode" in ('AIR', 'RAIL')) and note is not null` → a condition.
 *
 * `or` binds weaker than `and`, that weaker than `not`. Columns stand bare (letters, digits, `_`, `.`) or in double
 * quotes, texts in single quotes. Throws `CalculationError` with the position and what was expected there.
 */
export function parseFilter(text: string): Condition {
  const from = scanner(text);
  const condition = disjunction(from, 0);
  if (!from.atEnd()) from.fail("and, or, or the end");
  return condition;
}

const disjunction = (from: Scanner, depth: number): Condition =>
  joinedBy("or", from, () => joinedBy("and", from, () => single(from, depth)));

function joinedBy(kind: "and" | "or", from: Scanner, parse: () => Condition): Condition {
  const first = parse();
  const parts = [first];
  while (word(from, kind)) parts.push(parse());
  return parts.length === 1 ? first : { kind, parts };
}

function single(from: Scanner, depth: number): Condition {
  if (depth > depthMax) from.fail(`at most ${depthMax} levels of parentheses and nots`);
  if (word(from, "not")) return { kind: "not", part: single(from, depth + 1) };
  if (from.take(/\(/y) === undefined) return comparison(from);
  const inner = disjunction(from, depth + 1);
  from.expect(/\)/y, "and, or, or a closing parenthesis");
  return inner;
}

function comparison(from: Scanner): Condition {
  const column = columnOf(from);
  if (word(from, "is")) {
    const negated = word(from, "not");
    if (!word(from, "null")) from.fail(negated ? "null" : "null or not null");
    return unless(negated, { kind: "empty", column });
  }
  const negated = word(from, "not");
  if (word(from, "in")) return unless(negated, { kind: "in", column, literals: literals(from) });
  if (negated) from.fail("in");
  const sign = from.expect(/<=|>=|<>|!=|==|=|<|>/y, "= != < <= > >=, in, or is null");
  const operator = (sign === "==" ? "=" : sign === "<>" ? "!=" : sign) as Operator;
  return { kind: "compare", column, operator, literal: literal(from) };
}

const unless = (negated: boolean, part: Condition): Condition => (negated ? { kind: "not", part } : part);

function columnOf(from: Scanner): string {
  if (from.atEnd()) from.fail("a column, not, or a parenthesis");
  const { at } = from;
  if (from.text[at] === '"') return quoted(from, '"');
  const name = from.expect(
    /[\p{L}_][\p{L}\p{N}_.]*/uy,
    'a column (in "double quotes" unless it is a plain word)',
  );
  if (/^(and|or|not|is|in|null|true|false)$/i.test(name)) from.fail(`a column ("${name}" if it is one)`, at);
  return name;
}

function literals(from: Scanner): Literal[] {
  from.expect(/\(/y, "a parenthesis");
  const all = [literal(from)];
  while (from.take(/,/y) !== undefined) {
    const at = from.skipBlanks();
    const next = literal(from);
    if (isText(next) !== isText(all[0])) from.fail("numbers only or texts only", at);
    all.push(next);
  }
  from.expect(/\)/y, "a comma or a closing parenthesis");
  return all;
}

const isText = (literal: Literal | undefined): boolean => typeof literal === "string";

function literal(from: Scanner): Literal {
  if (!from.atEnd() && from.text[from.at] === "'") return quoted(from, "'");
  const { at } = from;
  const bool = from.take(/(true|false)(?![\p{L}\p{N}_.])/iuy);
  if (bool !== undefined) return bool.toLowerCase();
  // Digits can match in one way only, as in `numberOf`.
  const digits = from.take(/[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?(?![\p{L}\p{N}_.])/iuy);
  const number = Number(digits ?? Number.NaN);
  if (!Number.isFinite(number)) from.fail("a number, a 'text' in single quotes, true or false", at);
  return exactOf(digits, number);
}

/** Consumes a keyword, in letters of any case, if it stands here. */
const word = (from: Scanner, keyword: "and" | "or" | "not" | "is" | "in" | "null"): boolean =>
  from.take(new RegExp(`${keyword}(?![\\p{L}\\p{N}_.])`, "iuy")) !== undefined;

/** True, false, or undefined where the answer is unknown, as in SQL for a comparison with an empty field. */
type Filter = (cells: Cells, row: number) => boolean | undefined;

/** Evaluates parts from left to right and stops at the first that decides. */
export function compileFilter(condition: Condition, columns: Columns): Filter {
  switch (condition.kind) {
    case "and":
    case "or": {
      const parts = condition.parts.map((part) => compileFilter(part, columns));
      const decides = condition.kind === "or";
      return (cells, row) => {
        let answer: boolean | undefined = !decides;
        for (const part of parts) {
          const one = part(cells, row);
          if (one === decides) return decides;
          if (one === undefined) answer = undefined;
        }
        return answer;
      };
    }
    case "not": {
      const part = compileFilter(condition.part, columns);
      return (cells, row) => {
        const answer = part(cells, row);
        return answer === undefined ? undefined : !answer;
      };
    }
    case "empty": {
      const at = columns.indexOf(condition.column);
      return (cells, row) => cells.kinds[row * cells.width + at] === emptyCell;
    }
    case "compare": {
      const { column, operator, literal } = condition;
      const holds = holdsOf[operator];
      const test = (value: Literal): boolean => holds(value, literal);
      if (typeof literal !== "string") return numberTest(column, columns, test);
      const bytes = Buffer.from(literal);
      // The order of UTF-8 is that of UTF-16 where one of the two texts is ASCII.
      const inBytes = (cells: Cells, cell: number): boolean => holds(cells.compare(cell, bytes), 0);
      return textTest(columns.indexOf(column), test, isAscii(bytes) ? inBytes : undefined);
    }
    case "in": {
      const wanted = new Set(condition.literals);
      const test = (value: Literal): boolean => wanted.has(value);
      if (!isText(condition.literals[0])) return numberTest(condition.column, columns, test);
      return textTest(columns.indexOf(condition.column), test);
    }
  }
}

function numberTest(column: string, columns: Columns, test: (value: Literal) => boolean): Filter {
  const numbers = columns.numbers(column);
  return (_, row) => {
    const number = numbers.exact(row);
    return Number.isNaN(number) ? undefined : test(number);
  };
}

/** `inBytes` tells the same as `test` for a cell that is a text of the file, and makes no string of it. */
function textTest(
  column: number,
  test: (value: Literal) => boolean,
  inBytes?: (cells: Cells, cell: number) => boolean,
): Filter {
  return (cells, row) => {
    const cell = row * cells.width + column;
    const kind = cells.kinds[cell];
    if (kind === emptyCell) return undefined;
    return kind === textCell && inBytes !== undefined
      ? inBytes(cells, cell)
      : test(String(cells.field(row, column)));
  };
}

/** Texts compare by UTF-16 code units, a bigint and a number exactly. */
const holdsOf: Readonly<Record<Operator, (a: Literal, b: Literal) => boolean>> = {
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};
