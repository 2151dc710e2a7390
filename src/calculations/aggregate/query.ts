import { CalculationError } from "../../model/errors.ts";
import type { Answer, Keep } from "./functions.ts";
import { type Aggregate, parseAggregates, parseColumns } from "./language/parseAggregates.ts";
import { type Condition, columnsOf, parseFilter } from "./language/parseFilter.ts";
import type { AnyMeasure } from "./partial/partial.ts";

/** What is asked, ready to be folded. */
export interface Query {
  /** Columns of the key. */
  readonly keys: readonly string[];
  /** All columns that are read, each once. */
  readonly wanted: readonly string[];
  readonly where: Condition | undefined;
  /** What is kept for each group; aggregates share what they have in common. */
  readonly measures: readonly AnyMeasure[];
  readonly answers: readonly { readonly name: string; readonly of: Answer }[];
}

export interface QueryText {
  readonly by: string;
  readonly aggregates: string;
  readonly where: string;
}

/** Throws `CalculationError` for a text that is no query. */
export function queryOf({ by, aggregates, where }: QueryText): Query {
  const keys = parseColumns(by);
  const asked = parseAggregates(aggregates);
  const condition = where.trim() === "" ? undefined : parseFilter(where);
  const measures = new Map<string, AnyMeasure>();
  const keep: Keep = (name, measure) => {
    if (!measures.has(name)) measures.set(name, measure());
    const place = [...measures.keys()].indexOf(name);
    return (states) => states[place] as never;
  };
  const answers = asked.map(({ name, function: { plan }, column, argument }) => ({
    name,
    of: plan(keep, column, argument),
  }));
  for (const { name } of asked) {
    if (keys.includes(name))
      throw new CalculationError(
        "bad-query",
        `${name} is the name of a key column; name the aggregate otherwise`,
      );
  }
  const columns = [...keys, ...columnsAsked(asked), ...(condition === undefined ? [] : columnsOf(condition))];
  return { keys, wanted: [...new Set(columns)], where: condition, measures: [...measures.values()], answers };
}

const columnsAsked = (aggregates: readonly Aggregate[]): string[] =>
  aggregates.map(({ column }) => column).filter((column) => column !== "");

const remembered = new WeakMap<QueryText, Query>();

/** As `queryOf`, once for each set of parameters. */
export function queryFor(params: QueryText): Query {
  const known = remembered.get(params);
  if (known !== undefined) return known;
  const query = queryOf(params);
  remembered.set(params, query);
  return query;
}
