import { CalculationError, InputError } from "../../model/errors.ts";
import type { SqlParams } from "./params.ts";
import { type Reads, readsOf } from "./sources/conditions.ts";
import { splitQuery } from "./split/splitQuery.ts";

/** The statements of a run, and what the first reads of `data`. */
export interface Statements {
  readonly map: string;
  readonly reduce: string;
  readonly finish: string;
  readonly reads: Reads;
}

const known = new WeakMap<SqlParams, Promise<Statements>>();

/** Splits the query of a run, once for each set of parameters. Throws `CalculationError` if it does not decompose. */
export function statementsOf(given: SqlParams): Promise<Statements> {
  const found = known.get(given) ?? split(given);
  known.set(given, found);
  return found;
}

async function split({
  query,
  map = "",
  reduce = "",
  finish = "from parts",
  table,
}: SqlParams): Promise<Statements> {
  try {
    const tables = table.map((one) => one.slice(0, one.indexOf("=")));
    const own = query === undefined ? { map, reduce, finish } : await splitQuery(query, { tables });
    return { map: own.map, reduce: own.reduce, finish: own.finish, reads: await readsOf(own.map) };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new CalculationError(error.code, error.message, { cause: error });
  }
}
