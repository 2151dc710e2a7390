import { CalculationError } from "../../../model/errors.ts";
import type { Offender, ReadRange } from "../records.ts";
import { columnPlaces } from "./columnPlaces.ts";
import { csvParser } from "./parseCsv.ts";
import type { ParseBatch } from "./parsedBatch.ts";
import { ndjsonParser } from "./parseNdjson.ts";
import { joined, type RangeBytes, rangeBytes } from "./rangeBytes.ts";
import { type FileFormat, fileFormat, type ReadParams, readLimits } from "./readParams.ts";
import { type RecordBorders, recordBorders } from "./recordBorders.ts";

/**
 * Streams one range: two pieces of `files.read`, one batch and what there is of an unfinished record are in memory at
 * a time, however long the range and the file are.
 */
export const readRange: ReadRange<ReadParams> = async (input, params, files, wanted, sink) => {
  const { path } = input.file;
  const format = fileFormat(path, params);
  const absent = new Set(format.kind === "ndjson" ? wanted : []);
  const parse = parserOf(format);
  const aligned = format.kind === "csv" && params.quotedNewlines;
  const range = await rangeBytes(input, format, aligned, files);
  const delimiter = format.kind === "csv" ? format.delimiter : undefined;
  const borders = recordBorders({ path, from: range.from, stride: readLimits.batchBytes, delimiter });

  const offenders: Offender[] = [];
  let records = 0;
  let bytes = 0;
  let skipped = 0;
  for await (const batch of batches(range, borders)) {
    const { rows, places, misfits, offsetOf } = parse(batch.bytes, batch.offset);
    const offsetAt = (place: number): number => batch.offset + offsetOf(place);
    for (const { place, what } of misfits) {
      if (params.ragged === "skip" && offenders.length === readLimits.offendersMax) break;
      const offender = { path, offset: offsetAt(place), what };
      if (params.ragged === "fail") throw refused(offender);
      offenders.push(offender);
    }
    skipped += misfits.length;
    records += rows.length;
    bytes += batch.bytes.length;
    if (rows.length > 0) sink({ rows, offsetOf: (index) => offsetAt(places[index] ?? 0) });
  }
  return { records, bytes, skipped, offenders, absent: [...absent] };

  function parserOf(kind: FileFormat): ParseBatch {
    if (kind.kind === "ndjson") return ndjsonParser(path, wanted, absent);
    return csvParser(path, kind.delimiter, input.columns?.length ?? 0, columnPlaces(input, wanted));
  }
};

/** Bytes of whole records, about `batchBytes` of them at a time. */
async function* batches(
  { from, cut, pieces }: RangeBytes,
  borders: RecordBorders,
): AsyncGenerator<{ bytes: Uint8Array; offset: number }> {
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
    if (used < piece.length) held.push(piece.subarray(used));
    at += piece.length;
  }
  borders.end(cut);
  if (held.length > 0) yield { bytes: joined(held), offset };
}

const refused = ({ path, offset, what }: Offender): CalculationError =>
  new CalculationError(
    "bad-record",
    `${path}: the record at byte ${offset} ${what}; with ragged=skip such records are left out and counted`,
  );
