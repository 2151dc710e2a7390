import { open, truncate, writeFile } from "node:fs/promises";
import { type FileFact, type Files, releasePiece } from "../../../src/engine/calculation/files.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import { type Session, textLiteral } from "../duck/session.ts";
import type { ByteRange } from "./localFile.ts";
import { lowerName, refuseTwins } from "./names.ts";
import { sourceLimits } from "./sourceLimits.ts";
import {
  listOf,
  numberOf,
  readStruct,
  type Struct,
  structsOf,
  textOf,
  withFields,
  writeStruct,
} from "./thrift.ts";

const { firstReadBytes, gapBytes, localBytesMax } = sourceLimits;

/** A Parquet file's metadata. Fields have the ids of https://github.com/apache/parquet-format. */
export interface Footer {
  readonly fields: Struct;
  readonly bytes: Buffer;
  /** Where it begins in the file. */
  readonly from: number;
  /** The columns of the file in order, each with its leaves, which are the column chunks of each row group. */
  readonly columns: readonly ParquetColumn[];
}

interface ParquetColumn {
  readonly name: string;
  /** Leaves `[from, to)`. */
  readonly leaves: ByteRange;
  readonly elements: readonly Struct[];
}

/** Reads the metadata of a file. Throws `CalculationError` if it is no Parquet file, or has two columns of one name. */
export async function readFooter(file: FileFact, files: Files): Promise<Footer> {
  const tail = await bytesOf(file, { from: Math.max(0, file.bytes - firstReadBytes), to: file.bytes }, files);
  const length = tail.length < 12 ? 0 : tail.readUInt32LE(tail.length - 8);
  const from = file.bytes - 8 - length;
  if (tail.toString("latin1", tail.length - 4) !== "PAR1" || from < 4)
    throw new CalculationError("bad-file", `${file.path} is not a Parquet file: it does not end as one`);
  const bytes =
    length + 8 <= tail.length
      ? tail.subarray(tail.length - 8 - length, tail.length - 8)
      : await bytesOf(file, { from, to: from + length }, files);
  try {
    const fields = readStruct(bytes);
    const columns = columnsOf(structsOf(fields, 2));
    refuseTwins(
      columns.map(({ name }) => name),
      `${file.path}: `,
    );
    return { fields, bytes, from, columns };
  } catch (cause) {
    if (cause instanceof CalculationError) throw cause;
    throw new CalculationError("bad-file", `${file.path}: its metadata are damaged`, { cause });
  }
}

/** The elements of a schema are its tree from the root down, depth first. */
function columnsOf([root, ...elements]: readonly Struct[]): ParquetColumn[] {
  const columns: ParquetColumn[] = [];
  let [at, leaf] = [0, 0];
  const skip = (): void => {
    const element = elements[at++];
    const children = numberOf(element, 5) ?? 0;
    if (children === 0) leaf += 1;
    for (let child = 0; child < children; child += 1) skip();
  };
  for (let index = 0; index < (numberOf(root, 5) ?? 0); index += 1) {
    const [first, from] = [at, leaf];
    skip();
    columns.push({
      name: textOf(elements[first], 4),
      leaves: { from, to: leaf },
      elements: elements.slice(first, at),
    });
  }
  return columns;
}

async function bytesOf(file: FileFact, range: ByteRange, files: Files): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of files.read(file, range)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** Writes a local file of metadata alone: none of its rows may be read. */
export async function writeFooter({ from, bytes }: Footer, path: string): Promise<void> {
  await writeFile(path, "PAR1");
  await truncate(path, from);
  await writeFile(path, withEnd(bytes), { flag: "a" });
}

/** Metadata as a file ends with them. */
function withEnd(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([bytes, length, Buffer.from("PAR1")]);
}

/** The columns of a file that are among the names; if none is, the smallest, since a file needs one. */
export function chosenColumns(
  { fields, columns }: Footer,
  names: ReadonlySet<string> | "all",
): readonly ParquetColumn[] {
  if (names === "all") return columns;
  const lower = new Set([...names].map(lowerName));
  const found = columns.filter(({ name }) => lower.has(lowerName(name)));
  if (found.length > 0) return found;
  const groups = structsOf(fields, 4);
  const bytes = ({ leaves }: ParquetColumn): number =>
    groups.reduce((sum, group) => sum + leafBytes(group, leaves), 0);
  return columns.toSorted((a, b) => bytes(a) - bytes(b)).slice(0, 1);
}

const metadataOf = (chunk: Struct | undefined): Struct | undefined => {
  const value = chunk?.get(3)?.value;
  return value instanceof Map ? value : undefined;
};

const leafBytes = (group: Struct, { from, to }: ByteRange): number =>
  structsOf(group, 1)
    .slice(from, to)
    .reduce((sum, chunk) => sum + (numberOf(metadataOf(chunk), 7) ?? 0), 0);

/** Bytes of some columns of each row group. */
export const groupBytes = ({ fields }: Footer, columns: readonly ParquetColumn[]): number[] =>
  structsOf(fields, 4).map((group) => columns.reduce((sum, { leaves }) => sum + leafBytes(group, leaves), 0));

/** Whether each row group may have rows that pass a test of statistics, by DuckDB's reading of them. */
export async function groupsKept(path: string, test: string, session: Session): Promise<boolean[]> {
  const rows = await session.rows(
    `select ${test} as kept from parquet_metadata(${textLiteral(path)}) group by row_group_id order by row_group_id`,
  );
  return rows.map(({ kept }) => kept === true);
}

/** Bytes after a column chunk that are kept too: some writers do not count the header of its first page. */
const slackBytes = 512;

/**
 * Writes a local file with some row groups and columns of a file, whose own metadata name nothing else: no bytes are
 * missing, and no index or Bloom filter is left that could say so. Returns false if the file is of a kind that this does not
 * take apart. Throws `CalculationError` for more bytes than a worker's disk has room for.
 */
export async function fetchGroups(
  file: FileFact,
  footer: Footer,
  { groups, columns }: { readonly groups: ByteRange; readonly columns: readonly ParquetColumn[] },
  path: string,
  files: Files,
): Promise<boolean> {
  const { fields, from: end } = footer;
  const [root] = structsOf(fields, 2);
  if (fields.has(8) || root === undefined) return false;
  const ranges: ByteRange[] = [];
  let at = 4;
  let rows = 0n;
  const kept: Struct[] = [];
  for (const group of structsOf(fields, 4).slice(groups.from, groups.to)) {
    const chunks: Struct[] = [];
    for (const { leaves } of columns)
      for (const chunk of structsOf(group, 1).slice(leaves.from, leaves.to)) {
        const meta = metadataOf(chunk);
        const offsets = [9, 10, 11].flatMap((id) => numberOf(meta, id) ?? []).filter((offset) => offset >= 4);
        const from = Math.min(...offsets);
        const bytes = numberOf(meta, 7) ?? -1;
        if (meta === undefined || chunk.has(1) || chunk.has(8) || bytes < 0 || !(from + bytes <= end))
          return false;
        const moved = (id: number): bigint | undefined => {
          const offset = numberOf(meta, id);
          return offset === undefined || offset < 4 ? undefined : BigInt(offset - from + at);
        };
        const own = withFields(meta, {
          9: moved(9),
          10: moved(10),
          11: moved(11),
          14: undefined,
          15: undefined,
        });
        const without = { 4: undefined, 5: undefined, 6: undefined, 7: undefined };
        chunks.push(withFields(chunk, { 2: BigInt(at), 3: own, ...without }));
        const to = Math.min(end, from + bytes + slackBytes);
        ranges.push({ from, to });
        at += to - from;
      }
    rows += BigInt(numberOf(group, 3) ?? 0);
    kept.push(
      withFields(group, { 1: listOf(chunks), 4: undefined, 5: undefined, 6: undefined, 7: undefined }),
    );
  }
  if (at > localBytesMax) throw tooLarge(file, at);
  const orders = structsOf(fields, 7);
  const elements = [withFields(root, {}), ...columns.flatMap((one) => one.elements)];
  elements[0]?.set(5, { type: 5, value: BigInt(columns.length) });
  const own = withFields(fields, {
    2: listOf(elements),
    3: rows,
    4: listOf(kept),
    7:
      orders.length === 0
        ? undefined
        : listOf(columns.flatMap(({ leaves }) => orders.slice(leaves.from, leaves.to))),
  });
  await writeRanges(file, ranges, writeStruct(own), path, files);
  return true;
}

/** Ranges that are near to each other in the file are read in one call. */
async function writeRanges(
  file: FileFact,
  ranges: readonly ByteRange[],
  footer: Buffer,
  path: string,
  files: Files,
) {
  const local = await open(path, "w");
  try {
    await local.write("PAR1");
    let at = 4;
    for (let first = 0; first < ranges.length; ) {
      const from = ranges[first]?.from ?? 0;
      let [to, last] = [ranges[first]?.to ?? 0, first + 1];
      for (let next = ranges[last]; next !== undefined && next.from >= from && next.from <= to + gapBytes; ) {
        to = Math.max(to, next.to);
        last += 1;
        next = ranges[last];
      }
      const places = ranges.slice(first, last).map((range) => {
        const place = { ...range, at };
        at += range.to - range.from;
        return place;
      });
      let read = from;
      for await (const piece of files.read(file, { from, to })) {
        for (const place of places) {
          const [start, end] = [Math.max(place.from, read), Math.min(place.to, read + piece.length)];
          if (start < end) await local.write(piece, start - read, end - start, place.at + start - place.from);
        }
        read += piece.length;
        releasePiece(piece);
      }
      first = last;
    }
    const tail = withEnd(footer);
    await local.write(tail, 0, tail.length, at);
  } finally {
    await local.close();
  }
}

const tooLarge = ({ path }: FileFact, bytes: number): CalculationError =>
  new CalculationError(
    "file-too-large",
    `${path}: ${bytes} bytes would be one chunk; the limit is ${localBytesMax} (localBytesMax)`,
  );

/** The column that DuckDB adds. A file with one of this name cannot have it. */
export const rowNumber = "file_row_number";

/** A test of a row for those of row groups of a whole file. */
export function rowsTest({ fields }: Footer, { from, to }: ByteRange): string {
  const counts = structsOf(fields, 4).map((group) => numberOf(group, 3) ?? 0);
  const before = (index: number): number => counts.slice(0, index).reduce((a, b) => a + b, 0);
  return `${rowNumber} >= ${before(from)} and ${rowNumber} < ${before(to)}`;
}
