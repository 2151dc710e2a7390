import { CalculationError } from "../../../model/errors.ts";
import { type Files, releasePiece } from "../../files.ts";
import { Cells } from "../cells/cells.ts";
import { aggregateLimits } from "../limits.ts";
import type { Offender, RangeInput, ReadReport } from "../records.ts";
import { csvCutter } from "./cutCsv.ts";
import { ndjsonCutter } from "./cutNdjson.ts";
import { joined, type RangeBytes, rangeBytes } from "./rangeBytes.ts";
import { columnIndexes } from "./readHead.ts";
import { fileFormat, type ReadParams } from "./readParams.ts";
import { type RecordBorders, recordBorders } from "./recordBorders.ts";
import { requireUtf8 } from "./utf8Text.ts";

const { batchBytes, offendersMax } = aggregateLimits;

/** How to read a range: the run's parameters, its files and the wanted columns. */
export interface Reading {
  readonly params: ReadParams;
  readonly files: Files;
  readonly wanted: readonly string[];
}

/**
 * Reads one range and passes the wanted columns to `sink`, batch by batch; a batch is only valid during the call. At most
 * two pieces of `files.read`, one batch and one unfinished record are in memory, however long the range is. Throws
 * `CalculationError` naming path and offset.
 */
export async function readRange(
  input: RangeInput,
  { params, files, wanted }: Reading,
  sink: (batch: Cells) => void,
): Promise<ReadReport> {
  const { path } = input.file;
  const format = fileFormat(path, params);
  const absent = new Set(format.kind === "ndjson" ? wanted : []);
  const cut =
    format.kind === "ndjson"
      ? ndjsonCutter(wanted, absent)
      : csvCutter(format, input.columns?.length ?? 0, columnIndexes(input, wanted));
  const aligned = format.kind === "csv" && params.quotedNewlines;
  const range = await rangeBytes(input, format, aligned, files);
  const delimiter = format.kind === "csv" ? format.delimiter : undefined;
  const borders = recordBorders({ path, from: range.from, stride: batchBytes, delimiter });

  const cells = new Cells(wanted.length);
  const offenders: Offender[] = [];
  let records = 0;
  let bytes = 0;
  let skipped = 0;
  for await (const batch of batches(range, borders)) {
    requireUtf8(batch.bytes, path, batch.offset);
    cells.begin(batch.bytes, batch.offset);
    const misfits = cut(cells);
    for (const { at, what } of misfits) {
      if (params.ragged === "skip" && offenders.length === offendersMax) break;
      const offender = { path, offset: batch.offset + at, what };
      if (params.ragged === "fail") throw refused(offender);
      offenders.push(offender);
    }
    skipped += misfits.length;
    records += cells.rows;
    bytes += batch.bytes.length;
    if (cells.rows > 0) sink(cells);
  }
  return { records, bytes, skipped, offenders, absent: [...absent] };
}

/** The bytes of whole records, about `batchBytes` at a time. */
async function* batches({ from, cut, pieces }: RangeBytes, borders: RecordBorders) {
  let held: Uint8Array[] = [];
  let offset = from;
  let at = from;
  for await (const piece of pieces) {
    let used = 0;
    for (const border of borders.push(piece)) {
      held.push(piece.subarray(used, border - at));
      yield { bytes: joined(held), offset };
      held = [];
      offset = border;
      used = border - at;
    }
    at += piece.length;
    // A copy, since the piece goes.
    if (used < piece.length) held.push(new Uint8Array(piece.subarray(used)));
    releasePiece(piece);
  }
  borders.end(cut);
  if (held.length > 0) yield { bytes: joined(held), offset };
}

const refused = ({ path, offset, what }: Offender): CalculationError =>
  new CalculationError(
    "bad-record",
    `${path}: the record at byte ${offset} ${what}; with --ragged skip such records are left out and counted`,
  );
