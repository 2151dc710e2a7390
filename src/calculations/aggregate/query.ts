import { CalculationError } from "../../model/errors.ts";
import { type Answer, type Keep, parseAggregates, parseColumns } from "./language/aggregates.ts";
import { type Condition, columnsOf, parseFilter } from "./language/filter.ts";
import type { AnyMeasure } from "./partial/partial.ts";

/** A parsed query with the measures that answer it. */
export interface Query {
  /** Columns of the key. */
  readonly keys: readonly string[];
  /** All columns that are read, each once. */
  readonly wanted: readonly string[];
  readonly where: Condition | undefined;
  /** What is kept for each group; aggregates share measures. */
  readonly measures: readonly AnyMeasure[];
  readonly answers: readonly { readonly name: string; readonly of: Answer }[];
}

interface QueryText {
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
    const index = [...measures.keys()].indexOf(name);
    return (states) => states[index] as never;
  };
  const answers = asked.map(({ name, function: { plan }, column, argument }) => ({
    name,
    of: plan(keep, column, argument),
  }));
  const taken = asked.find(({ name }) => keys.includes(name));
  if (taken !== undefined) {
    const message = `${taken.name} is the name of a key column; rename the aggregate: ${taken.name} as other`;
    throw new CalculationError("bad-query", message);
  }
  const columns = [
    ...keys,
    ...asked.flatMap(({ column }) => (column === "" ? [] : [column])),
    ...(condition === undefined ? [] : columnsOf(condition)),
  ];
  return { keys, wanted: [...new Set(columns)], where: condition, measures: [...measures.values()], answers };
}

const queries = new WeakMap<QueryText, Query>();

/** Like `queryOf`, but parses each set of parameters once. */
export function queryFor(params: QueryText): Query {
  const query = queries.get(params) ?? queryOf(params);
  queries.set(params, query);
  return query;
}
