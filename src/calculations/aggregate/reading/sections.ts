import type { Files } from "../../files.ts";
import { aggregateLimits } from "../limits.ts";
import { type CsvFile, lookForBorder, piecesOf } from "./lookForBorder.ts";
import type { OpenFile } from "./openFile.ts";
import type { ReadParams } from "./readParams.ts";
import { recordBorders } from "./recordBorders.ts";

const { firstReadBytes, hopBytes, recordBytesMax, sectionBytes } = aggregateLimits;

/** A part of a file, whose ranges are found without the others: one long range or many short ones. */
export interface Section {
  readonly opened: OpenFile;
  /** About where its first range begins; exactly, where no border must be found. */
  readonly from: number;
  /** The same for the section that follows, or the end of the file. */
  readonly to: number;
  /** Bytes of a range. */
  readonly stride: number;
  /** Borders must be found, because a line break may be quoted. */
  readonly quoted: boolean;
  /** No other section of the file follows. */
  readonly last: boolean;
}

/** The sections of a file, in order. One of gzip, whose bytes are those of its content, is never cut. */
export function* sectionsOf(opened: OpenFile, params: ReadParams): Generator<Section> {
  const { file, format, first } = opened;
  const span = format.gzip ? 0 : file.bytes - first;
  const ranges = Math.max(1, Math.ceil(span / params.chunkBytes));
  const stride = Math.ceil(span / ranges);
  const quoted = ranges > 1 && format.kind === "csv" && params.quotedNewlines;
  const bytes = quoted ? bytesOfSection(stride) : span;
  const end = first + span;
  for (let from = first, last = false; !last; from += bytes) {
    const to = Math.min(from + bytes, end);
    last = to === end;
    yield { opened, from, to, stride, quoted, last };
  }
}

/** A look may read as many bytes as a quoted field may have, so ranges that are shorter share one. */
const bytesOfSection = (stride: number): number =>
  stride >= recordBytesMax ? stride : stride * Math.ceil(sectionBytes / stride);

/**
 * Where the ranges of a section begin, the first one included, as its own bytes tell. Undefined where they do not tell
 * where the first one begins.
 */
export async function bordersOf(section: Section, files: Files): Promise<Iterable<number> | undefined> {
  const { opened, from } = section;
  if (!section.quoted) return evenBorders(section);
  const start = from === opened.first ? from : await lookForBorder(csvOf(opened), from, files);
  return start === undefined ? undefined : bordersFrom(section, start, files);
}

/** The same by a scan from `known` on, where a record begins. */
export async function scannedBorders(section: Section, known: number, files: Files) {
  if (known >= section.from) return bordersFrom(section, known, files);
  const csv = csvOf(section.opened);
  const to = csv.file.bytes;
  for await (const start of scanned(csv, { from: known, stride: section.from - known, to }, files))
    return bordersFrom(section, start, files);
  return [];
}

function* evenBorders({ from, to, stride }: Section): Generator<number> {
  for (let at = from; at < to; at += stride) yield at;
}

/** A short look at each border, and a scan from the one before where that does not tell. */
async function bordersFrom({ opened, stride, to }: Section, start: number, files: Files): Promise<number[]> {
  const csv = csvOf(opened);
  const hops = stride >= hopBytes;
  const found = [start];
  for (let at = start; at + stride < to; ) {
    const near = hops ? await lookForBorder(csv, at + stride, files, firstReadBytes) : undefined;
    const borders = near === undefined ? scanned(csv, { from: at, stride, to }, files) : [near];
    at = to;
    for await (const border of borders) {
      found.push(border);
      if (!hops) continue;
      at = border;
      break;
    }
  }
  return found;
}

/** Record borders from the record at `from` on, in the bytes up to `to`. Throws for a quote that the file does not close. */
async function* scanned(
  { file, delimiter }: CsvFile,
  { from, stride, to }: { from: number; stride: number; to: number },
  files: Files,
): AsyncGenerator<number> {
  const borders = recordBorders({ path: file.path, from, stride, delimiter });
  const target = Math.min(to, from + stride);
  for await (const piece of piecesOf(file, { from, to: target }, files)) yield* borders.push(piece);
  // The first border is near, and the caller may need no other.
  for await (const piece of piecesOf(file, { from: target, to, firstBytes: firstReadBytes }, files))
    yield* borders.push(piece);
  if (to === file.bytes) borders.end();
}

const csvOf = ({ file, first, format }: OpenFile): CsvFile => ({
  ...{ file, first },
  delimiter: format.kind === "csv" ? format.delimiter : "",
});
