import { truncate, writeFile } from "node:fs/promises";
import type { FileFact, Files } from "../../../src/engine/calculation/files.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import { type Session, textLiteral } from "../duck/session.ts";
import { type ByteRange, fetchFile, fetchRanges } from "./localFile.ts";
import { sourceLimits } from "./sourceLimits.ts";

const { firstReadBytes, gapBytes } = sourceLimits;

/** Row groups of a file, and the columns of them that are read. */
export interface ParquetPart {
  readonly file: FileFact;
  /** Row groups `[from, to)`; absent: all. */
  readonly groups?: ByteRange | undefined;
  readonly columns: readonly string[] | "all";
}

/**
 * Writes the parts of a Parquet file that a query needs to a local file, each where it is in the file: DuckDB never reads
 * the holes between them. Each local file needs a name of its own, since DuckDB remembers metadata by name.
 */
export async function fetchParquet(
  part: ParquetPart,
  path: string,
  files: Files,
  session: Session,
): Promise<void> {
  const { file, groups, columns } = part;
  if (groups === undefined && (columns === "all" || file.bytes <= gapBytes))
    return fetchFile(file, path, files);
  await fetchFooter(file, path, files);
  const ranges = await neededRanges(path, part, session);
  await fetchRanges(file, ranges, { path, sparse: true }, files);
}

/** Writes a local file that is a hole but for its metadata. */
export async function fetchFooter(file: FileFact, path: string, files: Files): Promise<void> {
  const tail = await bytesOf(file, { from: Math.max(0, file.bytes - firstReadBytes), to: file.bytes }, files);
  const length = tail.length < 12 ? 0 : tail.readUInt32LE(tail.length - 8);
  const from = file.bytes - 8 - length;
  if (tail.toString("latin1", tail.length - 4) !== "PAR1" || from < 4)
    throw new CalculationError("bad-file", `${file.path} is not a Parquet file: it does not end as one`);
  const metadata =
    length + 8 <= tail.length
      ? tail.subarray(tail.length - 8 - length, tail.length - 8)
      : await bytesOf(file, { from, to: from + length }, files);
  await writeFile(path, "PAR1");
  await truncate(path, from);
  await writeFile(path, Buffer.concat([metadata, tail.subarray(-8)]), { flag: "a" });
}

async function bytesOf(file: FileFact, range: ByteRange, files: Files): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of files.read(file, range)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** Bytes of the needed columns of each row group, from a local file's metadata, undefined for one that fails `test`. */
export async function groupBytes(
  path: string,
  { columns, test }: { readonly columns: readonly string[] | "all"; readonly test: string },
  session: Session,
): Promise<(number | undefined)[]> {
  const rows = await session.rows(
    `select sum(total_compressed_size) filter (${isNeeded(columns)}) as bytes, ${test} as kept
     from parquet_metadata(${textLiteral(path)}) group by row_group_id order by row_group_id`,
  );
  return rows.map(({ bytes, kept }) => (kept === true ? Number(bytes ?? 0) : undefined));
}

/** Where the pages of the needed columns are, with their Bloom filters; what is near to each other is one range. */
async function neededRanges(
  path: string,
  { groups, columns }: ParquetPart,
  session: Session,
): Promise<ByteRange[]> {
  const chosen =
    groups === undefined ? "true" : `row_group_id >= ${groups.from} and row_group_id < ${groups.to}`;
  const rows = await session.rows(
    `with needed as (from parquet_metadata(${textLiteral(path)}) where ${isNeeded(columns)} and ${chosen})
     select least(dictionary_page_offset, index_page_offset, data_page_offset) as "from", "from" + total_compressed_size as "to" from needed
     union all select bloom_filter_offset, bloom_filter_offset + coalesce(bloom_filter_length, ${firstReadBytes}) from needed
       where bloom_filter_offset is not null
     order by all`,
  );
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of rows) {
    const last = joined.at(-1);
    if (last !== undefined && Number(from) - last.to <= gapBytes) last.to = Math.max(last.to, Number(to));
    else joined.push({ from: Number(from), to: Number(to) });
  }
  return joined;
}

/** A test of a row for those of row groups, by which DuckDB leaves out the others before it reads them. */
export async function rowsTest(path: string, { from, to }: ByteRange, session: Session): Promise<string> {
  const [range] = await session.rows(
    `select coalesce(sum(n) filter (g < ${from}), 0)::bigint as first, coalesce(sum(n) filter (g < ${to}), 0)::bigint as "end"
     from (select distinct row_group_id as g, row_group_num_rows as n from parquet_metadata(${textLiteral(path)}))`,
  );
  return `${rowNumber} >= ${range?.["first"]} and ${rowNumber} < ${range?.["end"]}`;
}

/** The column that DuckDB adds. A file with one of this name cannot have it. */
export const rowNumber = "file_row_number";

/** A nested column's path begins with the name of the column. */
const isNeeded = (columns: readonly string[] | "all"): string =>
  columns === "all"
    ? "true"
    : `list_has_any([${columns.map((one) => textLiteral(one.toLowerCase())).join(", ")}]::varchar[],
        [lower(path_in_schema), lower(split_part(path_in_schema, ', ', 1))])`;
