import { isUtf8 } from "node:buffer";
import { createWriteStream } from "node:fs";
import { readFile, rename } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import { isRecord } from "../../../src/engine/model/json.ts";
import { type Session, textLiteral } from "../duck/session.ts";
import type { FileKind } from "./fileFormat.ts";
import { type LocalFile, localPieces, packing } from "./localFile.ts";
import type { ReadOptions } from "./readOptions.ts";
import { sourceLimits } from "./sourceLimits.ts";

/** Records that were left out because they do not have the columns and types of the source. */
export interface Rejects {
  readonly count: number;
  /** The first of them, in order. */
  readonly first: readonly Reject[];
}

interface Reject {
  readonly file: string;
  /** Where the record begins; in a compressed file, in its content. */
  readonly byte: number;
  readonly why: string;
}

export const noRejects: Rejects = { count: 0, first: [] };

export const joinRejects = (a: Rejects, b: Rejects): Rejects => ({
  count: a.count + b.count,
  first: [...a.first, ...b.first].slice(0, sourceLimits.rejectsShown),
});

/** Throws `CalculationError` naming the first rejected record if there are more than the run allows. */
export function refuseRejects({ count, first: [first] }: Rejects, max: number): void {
  if (count <= max || first === undefined) return;
  const others = count === 1 ? "" : ` (and ${count - 1} more)`;
  throw new CalculationError(
    "bad-record",
    `${first.file}: the record at byte ${first.byte}: ${first.why}${others}; ` +
      `with --rejects-max ${count} or more ${count === 1 ? "it is" : "they are"} left out and counted`,
  );
}

/** The records of CSV files that DuckDB has rejected in this use of the session. */
export async function takeRejects(
  local: readonly LocalFile[],
  comment: string | undefined,
  session: Session,
): Promise<Rejects> {
  const there = await session.rows(
    "select 1 from duckdb_tables() where table_name = 'reject_errors' and estimated_size > 0",
  );
  if (there.length === 0) return noRejects;
  // A statement may read a file twice, and a record may have several faults.
  const rows = await session.rows(
    `select file_path, line_byte_position as byte, count(*) over () as n,
       first(case error_type when 'CAST' then 'the value of column "' || column_name || '" is not of its type'
         else lower(error_type) || ': ' || error_message end order by column_idx) as why
     from reject_errors join reject_scans using (scan_id, file_id) group by file_path, line_byte_position
     order by list_position([${local.map(({ path }) => textLiteral(path)).join(", ")}]::varchar[], file_path), byte
     limit ${sourceLimits.rejectsShown}`,
  );
  const origins = new Map(local.map((one) => [one.path, one]));
  const first = rows.flatMap((row) => {
    const origin = origins.get(String(row["file_path"]));
    const byte = (origin?.from ?? 0) + Number(row["byte"]) - 1;
    const why = `${row["why"]}${comment === undefined ? "" : `; if lines that begin with ${comment} are comments, say --read "comment='${comment}'"`}`;
    return origin === undefined ? [] : [{ file: origin.file.path, byte, why }];
  });
  return { count: Number(rows[0]?.["n"] ?? 0), first };
}

const notObject = "the line is not a JSON object; --format json reads objects over several lines";

/** What a result says of the records that it leaves out; empty if there are none. */
export const rejectNotes = ({ count, first }: Rejects): string[] =>
  count === 0
    ? []
    : [
        `${count} record${count === 1 ? " is" : "s are"} left out because they do not fit the columns`,
        ...first.map(({ file, byte, why }) => `left out: ${file}, byte ${byte}: ${why}`.slice(0, 500)),
      ];

/**
 * Takes the lines of local NDJSON files out that are no JSON objects. DuckDB fails at the first of them and does not say how
 * many there are, so this reads the files a second time, after such a failure.
 */
export async function takeBadLines(local: readonly LocalFile[]): Promise<Rejects> {
  let found = noRejects;
  for (const { path, file, from } of local) {
    const kept = `${path}.kept`;
    const goodLines = async function* (): AsyncGenerator<Buffer> {
      let at = from;
      for await (const lines of wholeLines(path)) {
        const good = lines.filter((line) => {
          const reject = { file: file.path, byte: at, why: notObject };
          at += line.length;
          // A packed file may begin with a byte order mark, which DuckDB passes over.
          const isGood = isObject(
            at === line.length ? line.toString().replace(/^\uFEFF/, "") : line.toString(),
          );
          if (!isGood) found = joinRejects(found, { count: 1, first: [reject] });
          return isGood;
        });
        yield Buffer.concat(good);
      }
    };
    await pipeline([Readable.from(goodLines()), ...packing(path), createWriteStream(kept)]);
    await rename(kept, path);
  }
  return found;
}

/** The lines of a local file with their ends, unpacked, those of one piece at a time. */
async function* wholeLines(path: string): AsyncGenerator<Buffer[]> {
  let open: Buffer[] = [];
  for await (const piece of localPieces(path)) {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = piece.indexOf(0x0a); end !== -1; end = piece.indexOf(0x0a, start)) {
      lines.push(Buffer.concat([...open, piece.subarray(start, end + 1)]));
      [open, start] = [[], end + 1];
    }
    if (start < piece.length) open.push(piece.subarray(start));
    yield lines;
  }
  yield [Buffer.concat(open)];
}

/**
 * Throws `CalculationError` for a local text file in another encoding than it is read in: DuckDB's own errors for one are many,
 * none says so, and of UTF-16 in big-endian order it reads no row.
 */
export async function refuseOtherEncoding(
  local: readonly Pick<LocalFile, "path" | "file">[],
  { kind, options: { encoding } }: { readonly kind: FileKind; readonly options: ReadOptions },
): Promise<void> {
  if (kind === "parquet") return;
  for (const { path, file } of local) {
    const isPacked = /\.(gz|zst)$/.test(path);
    if (isPacked && encoding === undefined) continue;
    const bytes = isPacked || encoding !== undefined ? await firstPiece(path) : await readFile(path);
    const [even, odd] = zerosOf(bytes);
    const isOther = encoding === undefined && !isUtf8(bytes);
    const isWide = even + odd > (isOther || /16/.test(encoding ?? "") ? 0 : bytes.length / 8);
    if (!isOther && !(isWide && (encoding === undefined || even > odd))) continue;
    const advice =
      isWide && even > odd
        ? "it is UTF-16 in big-endian order, which DuckDB does not read; save it as UTF-8"
        : `name its encoding, such as --read "encoding='${isWide ? "utf-16" : "latin-1"}'"`;
    throw new CalculationError(
      "bad-encoding",
      `${file.path} is not UTF-8: ${kind === "csv" ? advice : "JSON must be"}`,
    );
  }
}

/** The zeros at even and at odd places: of UTF-16 the halves of digits, delimiters and line ends. */
function zerosOf(bytes: Buffer): [even: number, odd: number] {
  const zeros: [number, number] = [0, 0];
  for (let at = bytes.indexOf(0); at !== -1; at = bytes.indexOf(0, at + 1)) zeros[at % 2 === 0 ? 0 : 1] += 1;
  return zeros;
}

async function firstPiece(path: string): Promise<Buffer> {
  for await (const piece of localPieces(path)) return piece;
  return Buffer.alloc(0);
}

function isObject(line: string): boolean {
  if (line.trim() === "") return true;
  try {
    return isRecord(JSON.parse(line));
  } catch {
    return false;
  }
}
