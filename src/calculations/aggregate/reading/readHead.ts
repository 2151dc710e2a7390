import { CalculationError } from "../../../model/errors.ts";
import type { FileFact, Files } from "../../files.ts";
import { decodeText } from "./decodeText.ts";
import type { FileFormat } from "./fileFormat.ts";
import { csvFields } from "./parseCsv.ts";
import { fileBytes } from "./rangeBytes.ts";
import { readLimits } from "./readLimits.ts";
import { recordBorders } from "./recordBorders.ts";

/** The columns of a CSV file, and where its first record begins. */
export interface FileHead {
  readonly columns: readonly string[];
  readonly first: number;
}

type CsvFormat = Extract<FileFormat, { kind: "csv" }>;

/**
 * Reads as much of a file as its first record takes: the header, or where there is none the record that tells how many
 * columns there are. No head: no record. Throws `CalculationError`.
 */
export async function readHead(
  file: FileFact,
  format: CsvFormat,
  header: boolean,
  files: Files,
): Promise<FileHead | undefined> {
  let bytes = Buffer.alloc(0);
  for await (const piece of fileBytes(file, format, files)) {
    bytes = Buffer.concat([bytes, piece]);
    const head = headOf(bytes, file, format, header, false);
    if (head !== undefined) return head;
  }
  return headOf(bytes, file, format, header, true);
}

/** The head, once a whole record has been read. */
function headOf(
  bytes: Uint8Array,
  { path }: FileFact,
  { delimiter }: CsvFormat,
  header: boolean,
  whole: boolean,
): FileHead | undefined {
  const start = markBytes(bytes);
  const borders = recordBorders({ path, from: start, stride: 1, delimiter });
  const ends = borders.push(bytes.subarray(start));
  if (whole) {
    borders.end();
    ends.push(bytes.length);
  }
  let from = start;
  for (const to of ends) {
    if (bytes.subarray(from, to).includes(0)) throw notText(path);
    const [fields, ...more] = csvFields(decodeText(bytes.subarray(from, to), path, from), delimiter);
    if (fields !== undefined && (fields.length > 1 || fields[0] !== "")) {
      if (header && more.length > 0) throw loneReturns(path);
      return header
        ? { columns: checked(fields, path), first: to }
        : { columns: checked(numbered(fields.length), path), first: start };
    }
    from = to;
  }
  return undefined;
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `c${index + 1}`);

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
