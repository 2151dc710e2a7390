import type { Condition } from "./scans.ts";

/** A column of `data` or of a table, with its type as DuckDB writes it. */
export type Column = readonly [name: string, type: string];

/** A part of a query that chunks compute, each over its own rows of `data`. */
export interface Cut {
  /** Over `data` and the tables. */
  readonly chunk: string;
  /** The columns of `chunk`. */
  readonly columns: readonly Column[];
  /** Over `parts`, the rows of neighboring partials in order; undefined where these are kept as they are. */
  readonly merge?: string | undefined;
  /** A table, of which one partial's rows are enough. */
  readonly isTable?: boolean;
  /** Over `parts` of all chunks: the rows of the table `name`, which the finish reads. */
  readonly answer: string;
  readonly name: string;
  /** What needs the rows that are carried, if it carries rows. */
  readonly carries?: string;
}

/** What a query may read: a split is a function of it and of the query. */
export interface Schema {
  /** The columns of `data`. */
  readonly columns: readonly Column[];
  readonly tables: Readonly<Record<string, readonly Column[]>>;
}

/** A query as statements that compute it in steps. */
export interface SplitQuery {
  readonly way: "aggregate" | "rows" | "gather";
  /** Why rows are carried or gathered. */
  readonly why: string;
  readonly cuts: readonly Cut[];
  /** Over the answers of the cuts. */
  readonly finish: string;
  /** The whole query, if its answer is the rows of the chunks one after the other. */
  readonly rows?: string | undefined;
  /** The columns of `data` that chunks read. */
  readonly reads: readonly string[];
  /** What rows of `data` must satisfy, for each scan. */
  readonly scans: readonly (readonly Condition[])[];
  /** The answer depends on which columns there are, as that of `select *` does. */
  readonly namesAll: boolean;
  /** The fields of structs on which it depends, in lower case; absent: all. */
  readonly fields?: readonly string[] | undefined;
}
