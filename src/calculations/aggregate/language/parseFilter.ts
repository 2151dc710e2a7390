import { quoted, type Scanner, scanner } from "./scanner.ts";

/** A filter as it was written. */
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

export type Operator = "=" | "!=" | "<" | "<=" | ">" | ">=";

/** A number compares as a number, anything else as text. */
export type Literal = number | string;

export function columnsOf(condition: Condition): string[] {
  if ("parts" in condition) return condition.parts.flatMap(columnsOf);
  return "part" in condition ? columnsOf(condition.part) : [condition.column];
}

/** Nobody writes more of them by hand, and the stack has an end. */
const depthMax = 100;

/**
 * `price >= 10 and not (shop = 'a' or "ship mode" in ('AIR', 'RAIL')) and note is not null` → a condition.
 *
 * `or` binds weaker than `and`, that weaker than `not`. Columns stand bare (letters, digits, `_`, `.`) or in double
 * quotes, texts in single quotes. Throws `CalculationError` with the position and what was expected there.
 */
export function parseFilter(text: string): Condition {
  const from = scanner(text);
  const condition = either(from, 0);
  if (!from.atEnd()) from.fail("and, or, or the end");
  return condition;
}

function either(from: Scanner, depth: number): Condition {
  if (depth > depthMax) from.fail(`at most ${depthMax} parentheses and nots in each other`);
  const parts = [both(from, depth)];
  while (word(from, "or")) parts.push(both(from, depth));
  return parts.length === 1 ? (parts[0] as Condition) : { kind: "or", parts };
}

function both(from: Scanner, depth: number): Condition {
  const parts = [single(from, depth)];
  while (word(from, "and")) parts.push(single(from, depth));
  return parts.length === 1 ? (parts[0] as Condition) : { kind: "and", parts };
}

function single(from: Scanner, depth: number): Condition {
  if (depth > depthMax) from.fail(`at most ${depthMax} parentheses and nots in each other`);
  if (word(from, "not")) return { kind: "not", part: single(from, depth + 1) };
  if (from.take(/\(/y) === undefined) return comparison(from);
  const inner = either(from, depth + 1);
  if (from.take(/\)/y) === undefined) from.fail("and, or, or a closing parenthesis");
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
  if (word(from, "in")) return unless(negated, { kind: "in", column, literals: list(from) });
  if (negated) from.fail("in");
  const sign = from.take(/<=|>=|<>|!=|==|=|<|>/y);
  if (sign === undefined) from.fail("= != < <= > >=, in, or is null");
  const operator = (sign === "==" ? "=" : sign === "<>" ? "!=" : sign) as Operator;
  return { kind: "compare", column, operator, literal: literal(from) };
}

const unless = (negated: boolean, part: Condition): Condition => (negated ? { kind: "not", part } : part);

function columnOf(from: Scanner): string {
  if (from.atEnd()) from.fail("a column, not, or a parenthesis");
  if (from.text[from.at] === '"') return quoted(from, '"');
  const at = from.at;
  const name = from.take(/[\p{L}_][\p{L}\p{N}_.]*/uy);
  if (name === undefined) from.fail('a column (in "double quotes" if it is no plain word)', at);
  if (/^(and|or|not|is|in|null|true|false)$/i.test(name)) from.fail(`a column ("${name}" if it is one)`, at);
  return name;
}

function list(from: Scanner): Literal[] {
  if (from.take(/\(/y) === undefined) from.fail("a parenthesis");
  const literals = [literal(from)];
  while (from.take(/,/y) !== undefined) {
    from.atEnd();
    const at = from.at;
    const next = literal(from);
    if (typeof next !== typeof literals[0]) from.fail("numbers only or texts only", at);
    literals.push(next);
  }
  if (from.take(/\)/y) === undefined) from.fail("a comma or a closing parenthesis");
  return literals;
}

function literal(from: Scanner): Literal {
  if (!from.atEnd() && from.text[from.at] === "'") return quoted(from, "'");
  const at = from.at;
  const bool = from.take(/(true|false)(?![\p{L}\p{N}_.])/iuy);
  if (bool !== undefined) return bool.toLowerCase();
  const digits = from.take(/[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?(?![\p{L}\p{N}_.])/iuy);
  const number = Number(digits ?? Number.NaN);
  if (!Number.isFinite(number)) from.fail("a number, a 'text' in single quotes, true or false", at);
  return number;
}

/** Passes a word if it stands here, in letters of any case. */
const word = (from: Scanner, expected: Keyword): boolean => from.take(keywords[expected]) !== undefined;

type Keyword = keyof typeof keywords;
const keywords = {
  and: /and(?![\p{L}\p{N}_.])/iuy,
  or: /or(?![\p{L}\p{N}_.])/iuy,
  not: /not(?![\p{L}\p{N}_.])/iuy,
  is: /is(?![\p{L}\p{N}_.])/iuy,
  in: /in(?![\p{L}\p{N}_.])/iuy,
  null: /null(?![\p{L}\p{N}_.])/iuy,
} as const;
