/**
 * How aggregates are computed in steps: states per chunk, states merged, and the answer from merged states.
 *
 * An aggregate that has no small state carries its values: it is exact, and its partials grow with the rows.
 */
export interface Steps {
  readonly states: readonly State[];
  /** The answer depends on the order of the rows. */
  readonly isOrdered?: true;
  /** The answer from the merged states' columns. */
  finish(columns: readonly string[]): string;
}

export interface State {
  /** An aggregate over rows of data. */
  readonly map: string;
  /** An aggregate over the states in a column, in order. */
  reduce(column: string): string;
  /** The state from the value of `reduce`, if that is not one. */
  tidy?(merged: string): string;
}

/** A call of an aggregate as text. */
export interface Call {
  readonly name: string;
  readonly args: readonly string[];
  /** `filter (where …)`, or nothing. */
  readonly filter: string;
}

/** The steps of a call; undefined where it has none. */
export type Rule = (call: Call) => Steps | undefined;
