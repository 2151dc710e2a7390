import { CalculationError, InputError } from "../../src/engine/model/errors.ts";
import type { SqlParams } from "./params.ts";
import { type Reads, readsOf } from "./sources/conditions.ts";
import { splitQuery } from "./split/splitQuery.ts";
import { refused } from "./split/syntax.ts";

/** The statements of a run, and what the first reads of `data`. */
interface Statements {
  readonly map: string;
  readonly reduce: string;
  readonly finish: string;
  readonly reads: Reads;
}

/** Gives the statements for the columns of data that a query names. Rejects with `CalculationError` if it does not decompose. */
export type StatementsOf = (named: readonly string[]) => Promise<Statements>;

/** Splits the query of a run, once for each set of columns: a split takes as long as many megabytes of rows. */
export function statementsOf(given: SqlParams): StatementsOf {
  const known = new Map<string, Promise<Statements>>();
  return (named) => {
    const key = JSON.stringify(named);
    const found = known.get(key) ?? split(given, named);
    known.set(key, found);
    // What failed for want of time or memory may succeed in another attempt.
    found.catch(() => known.delete(key));
    return found;
  };
}

/** Those of the columns that a query may name: partials carry them, as the query means the same everywhere. */
export function namedColumns({ query }: SqlParams, columns: readonly string[]): string[] {
  const text = query.toLowerCase();
  return columns.filter((name) => text.includes(name.toLowerCase()));
}

const notRows = "its answer is made of all rows, so that no chunk can save its own part of it";
const oneFile =
  "With --result-format files it may choose and change rows one by one; any other answer is one file, such as parquet";

async function split(
  { query, table, resultFormat }: SqlParams,
  columns: readonly string[],
): Promise<Statements> {
  try {
    const tables = table.map((one) => one.slice(0, one.indexOf("=")));
    const { map, reduce, finish, isRows } = await splitQuery(query, { tables, columns });
    if (resultFormat === "files" && !isRows) throw refused(notRows, oneFile);
    return { map, reduce, finish, reads: await readsOf(map) };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new CalculationError(error.code, error.message, { cause: error });
  }
}
