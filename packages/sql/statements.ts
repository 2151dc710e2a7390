import { CalculationError, InputError } from "../../src/engine/model/errors.ts";
import type { SqlParams } from "./params.ts";
import { splitQuery } from "./split/splitQuery.ts";
import type { Schema, SplitQuery } from "./split/splitSteps.ts";
import { refused } from "./split/syntax.ts";

/** Gives the statements for what a query may read. Rejects with `CalculationError` if it is not taken. */
export type StatementsOf = (schema: Schema) => Promise<SplitQuery>;

/** Splits the query of a run, once for each schema in each thread. */
export function statementsOf(given: SqlParams): StatementsOf {
  const known = new Map<string, Promise<SplitQuery>>();
  return (schema) => {
    const key = JSON.stringify(schema);
    const found = known.get(key) ?? split(given, schema);
    known.set(key, found);
    // What failed for want of time or memory may succeed in another attempt.
    found.catch(() => known.delete(key));
    return found;
  };
}

const notRows = "its answer is made of all rows, so that no chunk can save its own part of it";
const oneFile =
  "With --result-format files it may choose and change rows one by one; any other answer is one file, such as parquet";

async function split({ query, resultFormat }: SqlParams, schema: Schema): Promise<SplitQuery> {
  try {
    const found = await splitQuery(query, schema);
    if (resultFormat === "files" && found.rows === undefined) throw refused(notRows, oneFile);
    return found;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new CalculationError(error.code, error.message, { cause: error });
  }
}
