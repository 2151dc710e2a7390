import { CalculationError } from "../../../model/errors.ts";
import type { FileFact, Files } from "../../files.ts";
import { csvFields } from "./parseCsv.ts";
import { decodeText } from "./parsedBatch.ts";
import { fileBytes, joined } from "./rangeBytes.ts";
import { type FileFormat, readLimits } from "./readParams.ts";
import { type RecordBorders, recordBorders } from "./recordBorders.ts";

/** The columns of a CSV file, and where its first record begins. */
export interface FileHead {
  readonly columns: readonly string[];
  readonly first: number;
}

type CsvFormat = Extract<FileFormat, { kind: "csv" }>;

/**
 * Reads as much of a file as its first record takes: the header, or where there is none the record that tells how many
 * columns there are. No head: no record. Each byte is scanned once, however many empty lines come first. Throws
 * `CalculationError`.
 */
export async function readHead(
  file: FileFact,
  format: CsvFormat,
  header: boolean,
  files: Files,
): Promise<FileHead | undefined> {
  const { path } = file;
  let start = 0;
  let borders: RecordBorders | undefined;
  /** What there is of the record that begins at `from`; `at` is where the next piece begins. */
  let held: Uint8Array[] = [];
  let from = 0;
  let at = 0;
  for await (const piece of withWholeMark(fileBytes(file, format, files))) {
    let used = 0;
    if (borders === undefined) {
      start = from = used = markBytes(piece);
      borders = recordBorders({ path, from, stride: 1, delimiter: format.delimiter });
    }
    for (const to of borders.push(piece.subarray(used))) {
      const rest = piece.subarray(used, to - at);
      const head = isEmptyLine(rest) && held.length === 0 ? undefined : headOf(joined([...held, rest]), to);
      if (head !== undefined) return head;
      held = [];
      from = to;
      used = to - at;
    }
    if (used < piece.length) held.push(piece.subarray(used));
    at += piece.length;
  }
  borders?.end();
  return headOf(joined(held), at);

  /** The head, if the record that ends at `to` has a field. */
  function headOf(record: Uint8Array, to: number): FileHead | undefined {
    if (record.includes(0)) throw notText(path);
    const [fields, ...more] = csvFields(decodeText(record, path, from), format.delimiter);
    if (fields === undefined || (fields.length === 1 && fields[0] === "")) return undefined;
    if (!header) return { columns: checked(numbered(fields.length), path), first: start };
    if (more.length > 0) throw loneReturns(path);
    return { columns: checked(fields, path), first: to };
  }
}

/** The same bytes; a byte order mark is not cut in two. */
async function* withWholeMark(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let first: Uint8Array | undefined = new Uint8Array();
  for await (const piece of pieces) {
    first = first === undefined ? piece : joined([first, piece]);
    if (first.length < 3) continue;
    yield first;
    first = undefined;
  }
  if (first !== undefined) yield first;
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `c${index + 1}`);

const isEmptyLine = (line: Uint8Array): boolean =>
  line.length === 1 || (line.length === 2 && line[0] === 0x0d);

/** Bytes of a byte order mark. */
const markBytes = (bytes: Uint8Array): number =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;

function checked(columns: readonly string[], path: string): readonly string[] {
  const bytes = Buffer.byteLength(JSON.stringify(columns));
  const { columnsBytesMax } = readLimits;
  if (bytes <= columnsBytesMax) return columns;
  throw new CalculationError(
    "header-too-long",
    `${path}: its ${columns.length} column names take ${bytes} bytes as JSON; the limit is ${columnsBytesMax}`,
  );
}

const notText = (path: string): CalculationError =>
  new CalculationError(
    "not-utf8",
    `${path} holds bytes 0 in its first record, as UTF-16 does; convert the file first, for example with iconv`,
  );

const loneReturns = (path: string): CalculationError =>
  new CalculationError(
    "bad-csv",
    `${path}: its lines end with carriage returns alone; convert them to line feeds`,
  );
