import type { Tree } from "./tree.ts";

/** Times and spans are ms; `null` is KQL's null, with which no comparison holds. */
export type Value = unknown;
export type Row = Readonly<Record<string, Value>>;
/** Names of `let`, and the time that `now()` gives. */
export interface Scope {
  readonly nowMs: number;
  readonly named: ReadonlyMap<string, Value>;
  /** Evaluates what is a table within an expression, as in `toscalar`. */
  table(tree: Tree): readonly Row[];
}

const spans: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, ms: 1 };

function literal(tree: Tree): Value {
  const text = tree.tokens.join("");
  const span = /^([\d.]+)(ms|s|m|h|d)$/.exec(text);
  if (span !== null) return Number(span[1]) * (spans[span[2] ?? ""] ?? Number.NaN);
  const date = /^datetime\((.*)\)$/.exec(text)?.[1];
  if (date !== undefined) return Date.parse(date);
  if (/^(true|false)$/.test(text)) return text === "true";
  return typeof tree.literal === "string" ? tree.literal : Number(text);
}

const isNull = (value: Value): boolean => value === null || value === undefined;
const asText = (value: Value): string =>
  isNull(value) ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
const lower = (value: Value): string => asText(value).toLowerCase();
/** A term of letters and digits from end to end, which is how `has` looks. */
const hasTerm = (text: Value, term: Value): boolean => {
  const pattern = lower(term).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![a-z0-9])${pattern}(?![a-z0-9])`).test(lower(text));
};
const whole = (value: Value): Value => {
  const number = typeof value === "boolean" ? Number(value) : Number.parseFloat(asText(value));
  return Number.isFinite(number) ? Math.trunc(number) : null;
};

const functions: Readonly<Record<string, (...given: Value[]) => Value>> = {
  array_length: (list) => (Array.isArray(list) ? list.length : null),
  coalesce: (...all) => all.find((one) => !isNull(one) && one !== "") ?? null,
  iff: (condition, yes, no) => (condition === true ? yes : no),
  max_of: (...all) => Math.max(...(all as number[])),
  not: (value) => !value,
  strcat: (...all) => all.map(asText).join(""),
  substring: (text, from, count) => asText(text).substr(Number(from), Number(count)),
  tobool: (value) => (isNull(value) ? null : asText(value) === "true"),
  todouble: (value) => (Number.isNaN(Number.parseFloat(asText(value))) ? null : Number(value)),
  todatetime: (value) => (Number.isNaN(Date.parse(asText(value))) ? null : Date.parse(asText(value))),
  toint: whole,
  tolong: whole,
  tostring: asText,
  extract: (pattern, group, text) => new RegExp(asText(pattern)).exec(asText(text))?.[Number(group)] ?? "",
  parse_json: (text) => {
    try {
      return JSON.parse(asText(text));
    } catch {
      return text;
    }
  },
};

const compare = (holds: (a: never, b: never) => boolean) => (a: Value, b: Value) =>
  !isNull(a) && !isNull(b) && holds(a as never, b as never);
const operators: Readonly<Record<string, (a: Value, b: Value) => Value>> = {
  "==": compare((a, b) => a === b),
  "!=": compare((a, b) => a !== b),
  ">": compare((a, b) => a > b),
  "<": compare((a, b) => a < b),
  ">=": compare((a, b) => a >= b),
  "<=": compare((a, b) => a <= b),
  startswith: (a, b) => lower(a).startsWith(lower(b)),
  endswith: (a, b) => lower(a).endsWith(lower(b)),
  contains: (a, b) => lower(a).includes(lower(b)),
  "!contains": (a, b) => !lower(a).includes(lower(b)),
  "=~": (a, b) => lower(a) === lower(b),
  has: hasTerm,
  "!has": (a, b) => !hasTerm(a, b),
  "+": (a, b) => (isNull(a) || isNull(b) ? null : Number(a) + Number(b)),
  "-": (a, b) => (isNull(a) || isNull(b) ? null : Number(a) - Number(b)),
  "*": (a, b) => (isNull(a) || isNull(b) ? null : Number(a) * Number(b)),
  "/": (a, b) => (isNull(a) || isNull(b) ? null : Number(a) / Number(b)),
};

/** The value of a scalar expression on a row. Throws at what no query here uses. */
export function valueOn(row: Row, tree: Tree, scope: Scope): Value {
  const of = (part: Tree | undefined): Value => valueOn(row, part as Tree, scope);
  const [first, second] = tree.parts;
  const word = tree.tokens[0] ?? "";
  switch (tree.kind) {
    case "LiteralExpression":
    case "CompoundStringLiteralExpression":
      return literal(tree);
    case "DynamicExpression":
      return JSON.parse(String(tree.literal));
    case "ParenthesizedExpression":
      return of(first);
    case "NameReference":
      if (word in row) return row[word];
      if (scope.named.has(word)) return scope.named.get(word);
      throw new Error(`no column is called ${word}`);
    case "PathExpression":
    case "ElementExpression": {
      const whole = of(first);
      const key = tree.kind === "PathExpression" ? second?.tokens[0] : of(second?.parts[0]);
      return isNull(whole) ? null : ((whole as Record<string, Value>)[String(key)] ?? null);
    }
    case "PrefixUnaryExpression":
      return -Number(of(first));
    case "InExpression":
    case "HasAnyExpression": {
      const list = (second?.parts ?? []).flatMap(of);
      const value = of(first);
      return word === "in" ? list.includes(value) : list.some((one) => hasTerm(value, one));
    }
    case "ToScalarExpression": {
      const [found] = scope.table(first as Tree);
      return found === undefined ? null : (Object.values(found)[0] ?? null);
    }
    case "FunctionCallExpression": {
      const name = first?.tokens[0] ?? "";
      if (name === "now") return scope.nowMs;
      const known = functions[name];
      if (known === undefined) throw new Error(`the function ${name} is not evaluated here`);
      return known(...(second?.parts ?? []).map(of));
    }
    case "BinaryExpression": {
      if (word === "and") return of(first) === true && of(second) === true;
      if (word === "or") return of(first) === true || of(second) === true;
      const known = operators[word];
      if (known === undefined) throw new Error(`the operator ${word} is not evaluated here`);
      return known(of(first), of(second));
    }
    default:
      throw new Error(`${tree.kind} is not evaluated here`);
  }
}
