import type { Field } from "../records.ts";

/** Records parsed of one batch, before anything is handed over. */
export interface ParsedBatch {
  readonly rows: (readonly Field[])[];
  /** Place of each row among the records of the batch, empty lines included. */
  readonly places: number[];
  /** Records that do not fit: their places, and what is wrong with them. */
  readonly misfits: { readonly place: number; readonly what: string }[];
  /** Byte offset of the record at a place, from the begin of the batch. */
  offsetOf(place: number): number;
}

/** Parses the whole records of one batch; `offset` is that of its first byte in the file. */
export type ParseBatch = (bytes: Uint8Array, offset: number) => ParsedBatch;
