import type { FileFact, Files } from "../files.ts";

/**
 * What reading and folding agree on: ranges of files in, batches of rows out.
 *
 * A field's text may be a slice that keeps the text of its whole batch in memory: who keeps a key beyond the call
 * copies it (`Buffer.from(key).toString()`), once per key, not per row.
 */

/**
 * The input of one chunk: the records of `file` that begin in `[from, to)`. Of a gzip file all of them, by offsets in
 * what it holds, with the largest safe integer as `to`. A file with only a header has one range without a byte.
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

/** A field as the file has it: text in CSV (an empty field is `null`), a JSON value in NDJSON (nested ones as JSON text). */
export type Field = string | number | boolean | null;

/** Rows of the wanted columns, in the order of the file. A batch is only valid during the call that hands it over. */
export interface RecordBatch {
  readonly rows: readonly (readonly Field[])[];
  /** Byte offset in the (decompressed) file at which row `index` of this batch begins; may be slow, for reports only. */
  offsetOf(index: number): number;
}

/** A record that could not be used: what is wrong, and where. */
export interface Offender {
  readonly path: string;
  readonly offset: number;
  readonly what: string;
}

/** What was read of one range. */
export interface ReadReport {
  readonly records: number;
  /** Of all that begin in the range, decompressed. */
  readonly bytes: number;
  /** Records left out because they have another number of fields than the header, where the policy is to skip. */
  readonly skipped: number;
  /** The first few of them. */
  readonly offenders: readonly Offender[];
  /** The wanted columns that no record had, in their order; only NDJSON, which has no header, can lack one. */
  readonly absent: readonly string[];
}

/** Cuts the files of a source into ranges; throws `CalculationError` where a CSV file lacks a wanted column. */
export type PlanRanges<Params> = (
  params: Params,
  files: Files,
  wanted: readonly string[],
) => AsyncIterable<RangeInput>;

/** Reads one range and hands over the wanted columns, batch by batch; throws `CalculationError` naming path and offset. */
export type ReadRange<Params> = (
  input: RangeInput,
  params: Params,
  files: Files,
  wanted: readonly string[],
  sink: (batch: RecordBatch) => void,
) => Promise<ReadReport>;
