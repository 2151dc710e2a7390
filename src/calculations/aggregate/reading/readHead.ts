import { CalculationError } from "../../../model/errors.ts";
import type { FileFact, Files } from "../../files.ts";
import { quotedCell } from "../fields.ts";
import { aggregateLimits } from "../limits.ts";
import type { RangeInput } from "../records.ts";
import { csvFields, decodeText } from "./parseRecords.ts";
import { fileBytes, joined } from "./rangeBytes.ts";
import type { CsvFormat } from "./readParams.ts";
import { type RecordBorders, recordBorders } from "./recordBorders.ts";

/** The columns of a CSV file, and where its first record begins. */
interface FileHead {
  readonly columns: readonly string[];
  readonly first: number;
}

/**
 * Reads a file up to the end of its first record: the header or, without one, the record that tells the number of
 * columns. Undefined for a file without a record. Scans each byte once, however many empty lines come first. Throws
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
  /** The bytes so far of the record that begins at `from`; the next piece begins at `at`. */
  let held: Uint8Array[] = [];
  let from = 0;
  let at = 0;
  for await (const piece of sliced(withWholeMark(fileBytes(file, format, files)))) {
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

  /** The head if the record that ends at `to` has a field. */
  function headOf(record: Uint8Array, to: number): FileHead | undefined {
    if (record.includes(0)) throw notText(path);
    const [fields, ...more] = csvFields(decodeText(record, path, from), format.delimiter);
    if (fields === undefined || (fields.length === 1 && fields[0] === "")) return undefined;
    if (!header)
      return {
        columns: checked(
          fields.map((_, index) => `c${index + 1}`),
          path,
        ),
        first: start,
      };
    if (more.length > 0) throw loneReturns(path);
    return { columns: checked(fields, path), first: to };
  }
}

/** The same bytes; the first piece holds at least three of them, so a byte order mark is not cut. */
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

/** A header is short, and all records of a slice are searched for its end. */
async function* sliced(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces)
    for (let at = 0; at < piece.length; at += sliceBytes) yield piece.subarray(at, at + sliceBytes);
}

const sliceBytes = 4 * 1024;

const isEmptyLine = (line: Uint8Array): boolean =>
  line.length === 1 || (line.length === 2 && line[0] === 0x0d);

/** Length of a byte order mark at the start, or 0. */
const markBytes = (bytes: Uint8Array): number =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;

function checked(columns: readonly string[], path: string): readonly string[] {
  const bytes = Buffer.byteLength(JSON.stringify(columns));
  const { columnsBytesMax } = aggregateLimits;
  if (bytes <= columnsBytesMax) return columns;
  throw new CalculationError(
    "header-too-long",
    `${path}: its ${columns.length} column names take ${bytes} bytes as JSON; the limit is ${columnsBytesMax}`,
  );
}

const notText = (path: string): CalculationError =>
  new CalculationError(
    "not-utf8",
    `${path} has zero bytes in its first record, as UTF-16 has; convert the file first, for example with iconv`,
  );

const loneReturns = (path: string): CalculationError =>
  new CalculationError(
    "bad-csv",
    `${path}: its lines end with carriage returns only; convert them to line feeds`,
  );

/**
 * Indexes of the wanted columns among those of a CSV file. Throws `CalculationError` naming the file and the missing
 * columns, or a wanted column whose name occurs twice, so that nobody sums the wrong one.
 */
export function columnIndexes(
  { file, columns = [] }: Pick<RangeInput, "file" | "columns">,
  wanted: readonly string[],
): number[] {
  const missing = wanted.filter((name) => !columns.includes(name)).map((name) => JSON.stringify(name));
  if (missing.length > 0) {
    const what = `column${missing.length === 1 ? "" : "s"} ${missing.join(", ")}`;
    throw new CalculationError("no-column", `${file.path} has no ${what}; it has ${listed(columns)}`);
  }
  return wanted.map((name) => {
    const index = columns.indexOf(name);
    if (!columns.includes(name, index + 1)) return index;
    const message = `${file.path} has two columns ${JSON.stringify(name)}; rename one, or read it with --header false`;
    throw new CalculationError("ambiguous-column", message);
  });
}

const listedMax = 40;

function listed(columns: readonly string[]): string {
  const names = columns
    .slice(0, listedMax)
    .map((one) => (/^[\w.-]{1,80}$/.test(one) ? one : quotedCell(one)));
  const more = columns.length > listedMax ? ` and ${columns.length - listedMax} more` : "";
  return `${names.join(", ")}${more}`;
}
