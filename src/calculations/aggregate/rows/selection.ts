import type { Field } from "../records.ts";

/** The rows of a batch that the filter let through, each with its group. Valid only until the next batch. */
export interface Selection {
  readonly rows: readonly (readonly Field[])[];
  readonly count: number;
  /** `[0, count)`: place of the row in the batch. */
  readonly place: Int32Array;
  /** `[0, count)`: group of the row. */
  readonly group: Int32Array;
}
