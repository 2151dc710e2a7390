import type { FileFact } from "../files.ts";

/**
 * What reading and folding agree on: ranges of files in, batches of rows out.
 *
 * A field may be a slice that keeps the text of its whole batch in memory: whoever keeps a field beyond the call copies
 * it with `detached`, once per key and not per row.
 */

/**
 * The input of one chunk: the records of `file` that begin in `[from, to)`. A gzip file has one range, by offsets in its
 * content, with the largest safe integer as `to`. A file with only a header has one range without a byte.
 */
export interface RangeInput {
  readonly file: FileFact;
  readonly from: number;
  readonly to: number;
  /** Where the first record of the file begins: after a byte order mark and the header. */
  readonly first: number;
  /** The columns of a CSV file, in order, from its header or as `c1`, `c2`, …; absent for NDJSON. */
  readonly columns?: readonly string[];
}

/** A field of the file: text in CSV (an empty field is `null`), a JSON value in NDJSON (nested ones as JSON text). */
export type Field = string | number | boolean | null;

/** A record that could not be used: what is wrong, and where. */
export interface Offender {
  readonly path: string;
  readonly offset: number;
  readonly what: string;
}

/** What was read of one range. */
export interface ReadReport {
  readonly records: number;
  /** Bytes of all records that begin in the range, decompressed. */
  readonly bytes: number;
  /** Records left out because they do not fit; only where the policy is to skip. */
  readonly skipped: number;
  /** The first few of the skipped. */
  readonly offenders: readonly Offender[];
  /** Wanted columns that no record had, in their order; only NDJSON, which has no header, can lack one. */
  readonly absent: readonly string[];
}
