import { CalculationError } from "../../../model/errors.ts";
import { type AggregateFunction, type Argument, aggregateFunctions } from "../functions.ts";
import type { Share } from "../measures/quantileMeasure.ts";
import { type Scanner, scanner } from "./scanner.ts";

/** One aggregate as it was asked for. */
export interface Aggregate {
  /** Heading of its column in the result. */
  readonly name: string;
  readonly function: AggregateFunction;
  /** Empty for `count` of rows. */
  readonly column: string;
  readonly argument: Argument;
}

const topMax = 1000;

/**
 * `count, sum(price) as total, quantile(price, 0.9), p50(price), top("ship mode", 3)` → aggregates. Throws
 * `CalculationError` with the position and what was expected there.
 */
export function parseAggregates(text: string): Aggregate[] {
  const from = scanner(text);
  const aggregates: Aggregate[] = [];
  for (;;) {
    from.atEnd();
    const at = from.at;
    const aggregate = parseOne(from);
    if (aggregates.some(({ name }) => name === aggregate.name)) {
      throw new CalculationError(
        "bad-query",
        `position ${at + 1}: there are two named ${aggregate.name}; name one: ${aggregate.name} as other`,
      );
    }
    aggregates.push(aggregate);
    if (from.atEnd()) return aggregates;
    if (from.take(/,/y) === undefined) from.fail("a comma or as");
  }
}

function parseOne(from: Scanner): Aggregate {
  const at = from.at;
  const word = from.take(/[a-z]+[\d.]*/iy)?.toLowerCase() ?? "";
  const percent = /^p(\d{1,2}(?:\.\d+)?)$/.exec(word)?.[1];
  const known = percent === undefined ? aggregateFunctions[word] : aggregateFunctions["quantile"];
  if (known === undefined || (percent === undefined && !Object.hasOwn(aggregateFunctions, word))) {
    from.fail(`one of ${Object.keys(aggregateFunctions).join(" ")} or p1 to p99`, at);
  }
  const column = columnOf(from, known);
  const argument = { share: zero, whole: 0 };
  let shown = word;
  if (column !== undefined) {
    shown += `(${column}`;
    if (percent !== undefined) {
      argument.share = shareOf(percent, 2);
    } else if (known.argument !== undefined) {
      if (from.take(/,/y) === undefined) from.fail(`a comma and ${wanted[known.argument]}`);
      const text = argumentOf(from, known.argument);
      if (known.argument === "share") argument.share = shareOf(text, 0);
      else argument.whole = Number(text);
      shown += `,${text}`;
    }
    if (from.take(/\)/y) === undefined) from.fail("a closing parenthesis");
    shown += ")";
  }
  const alias = from.take(/as(?!\w)/iy) === undefined ? undefined : from.column(",");
  return { name: alias ?? shown, function: known, column: column ?? "", argument };
}

/** Undefined for `count` and `count(*)`. */
function columnOf(from: Scanner, known: AggregateFunction): string | undefined {
  if (from.take(/\(/y) === undefined) {
    if (known.column === "needed") from.fail("(column)");
    return undefined;
  }
  if (known.column === "optional" && from.take(/\*\s*\)/y) !== undefined) return undefined;
  return from.column(",)");
}

const wanted = { share: "a share from 0 to 1", whole: `a whole number from 1 to ${topMax}` } as const;

function argumentOf(from: Scanner, kind: keyof typeof wanted): string {
  from.atEnd();
  const at = from.at;
  const text = from.take(/[\d.]+/y) ?? "";
  const right =
    kind === "share"
      ? /^(0?\.\d{1,20}|0|1|1\.0+|0\.)$/.test(text)
      : /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= topMax;
  if (!right) from.fail(wanted[kind], at);
  return text;
}

const zero: Share = { numerator: 0n, denominator: 1n };

/** Decimal digits as an exact share, after the point has moved `places` to the left. */
function shareOf(text: string, places: number): Share {
  const [whole = "", part = ""] = text.split(".");
  return { numerator: BigInt(`${whole}${part}`), denominator: 10n ** BigInt(part.length + places) };
}

/** `year, "Airport Name"` → its columns; of an empty text none. Throws `CalculationError` with the position. */
export function parseColumns(text: string): string[] {
  const from = scanner(text);
  const columns: string[] = [];
  if (from.atEnd()) return columns;
  for (;;) {
    from.atEnd();
    const at = from.at;
    const column = from.column(",");
    if (columns.includes(column)) {
      throw new CalculationError("bad-query", `position ${at + 1}: ${column} is there twice`);
    }
    columns.push(column);
    if (from.atEnd()) return columns;
    if (from.take(/,/y) === undefined) from.fail("a comma");
  }
}
