import { open } from "node:fs/promises";
import { identifier, type Session, textLiteral } from "../duck/session.ts";
import type { Column } from "../split/splitSteps.ts";
import { hasRenamed, refuseTwins } from "./names.ts";
import type { ReadOptions } from "./readOptions.ts";
import { sourceLimits } from "./sourceLimits.ts";

/** How a CSV file begins, by DuckDB's sniffer: lines to skip, a header or none, and the names of its columns. */
export interface CsvHead {
  readonly skip: number;
  readonly header: boolean;
  readonly names: readonly string[];
  /** The bytes up to the end of the header in Latin-1: a file that begins with the same has the same head. */
  readonly text?: string | undefined;
}

export interface Sniffed {
  readonly head: CsvHead;
  readonly columns: readonly Column[];
  /** Options that hold for every file. */
  readonly dialect: ReadOptions;
  /** The character with which lines begin that may be comments or rows. */
  readonly comment?: string | undefined;
}

/** Longer ones are sniffed in each file. */
const headBytesMax = 16 * 1024;

/**
 * Sniffs a local file whose first record is there. Rows that do not fit are left out only if it is not understood with
 * them. Throws `CalculationError` with DuckDB's words.
 */
export async function sniffCsv(
  path: string,
  given: ReadOptions,
  session: Session,
  asked = "sample_size=-1",
): Promise<Sniffed> {
  const options = Object.entries(given)
    .filter(([name]) => name !== "union_by_name" && name !== "columns")
    .map(([name, value]) => `, ${name}=${value}`)
    .join("");
  const call = `from sniff_csv(${textLiteral(path)}, ${asked}, max_line_size=${sourceLimits.csvBufferBytes}${options}`;
  const found = await sniffed(call, session);
  const text = (name: string): string => {
    const value = String(found[name] ?? "");
    return value === "(empty)" ? "" : value;
  };
  const quote = text("Quote") || '"';
  const comment = given["comment"] === undefined && text("Comment") !== "" ? text("Comment") : undefined;
  const lines = await firstLines(path, text("NewLineDelimiter") === "\\r" ? "\r" : "\n");
  // A character that was only detected skips lines above the header, and none below: these may be rows.
  const above = comment === undefined ? 0 : lines.findIndex((line) => !line.startsWith(comment));
  const skip = Number(found["SkipRows"] ?? 0) + Math.max(0, above);
  const header = found["HasHeader"] === true;
  const seen = seenIn(found);
  const told = [...(given["columns"] ?? "").matchAll(/'((?:[^']|'')*)': '((?:[^']|'')*)'/g)];
  const columns =
    told.length > 0
      ? await typesOf(
          told.map(([, name = "", type = ""]) => [name.replaceAll("''", "'"), type]),
          session,
        )
      : seen.map(({ name, type }): Column => [name, type]);
  const dialect: Record<string, string> = {
    delim: textLiteral(text("Delimiter")),
    quote: textLiteral(quote),
    escape: textLiteral(text("Escape") || quote),
    ...(comment === undefined ? {} : { comment: "''" }),
    // DuckDB finds out by itself where lines end, from the first bytes.
    ...(text("DateFormat") === "" ? {} : { dateformat: textLiteral(text("DateFormat")) }),
    ...(text("TimestampFormat") === "" ? {} : { timestampformat: textLiteral(text("TimestampFormat")) }),
  };
  const head = { skip, header, names: columns.map(([name]) => name) };
  const own = lines.slice(0, skip + 1).join("");
  const isWhole = header && lines.length > skip + 1 && own.length <= headBytesMax && !own.includes(quote);
  if (header) await refuseRenamed(path, head, { ...dialect, ...given }, session);
  return { head: { ...head, text: isWhole ? own : undefined }, columns, dialect, comment };
}

type Row = Readonly<Record<string, unknown>>;
const seenIn = (row: Row): readonly { readonly name: string; readonly type: string }[] =>
  row["Columns"] as ReturnType<typeof seenIn>;

/** With rows that do not fit, a table may look like lines of text: then it is what the other rows say. */
async function sniffed(call: string, session: Session): Promise<Row> {
  const strict = await session.rows(`${call})`).catch(() => []);
  const [first] = strict;
  if (first !== undefined && seenIn(first).length > 1) return first;
  const [other] = await session.rows(`${call}, ignore_errors=true)`).catch((error: unknown) => {
    if (first === undefined) throw error;
    return [];
  });
  if (first === undefined) return other ?? {};
  return other !== undefined && seenIn(other).length > 1 ? other : first;
}

/** Columns with their types as DuckDB writes them: INT is INTEGER. Throws `CalculationError` for what is no type. */
export function typesOf(columns: readonly Column[], session: Session): Promise<Column[]> {
  const casts = columns.map(([name, type]) => `cast(null as ${type}) as ${identifier(name)}`);
  return casts.length === 0 ? Promise.resolve([]) : session.columns(`select ${casts.join(", ")}`);
}

/** The head of a local file: one that is known, if the file begins with the same bytes. */
export async function headOf(
  path: string,
  { heads, options }: { readonly heads: readonly CsvHead[]; readonly options: ReadOptions },
  session: Session,
): Promise<CsvHead> {
  const longest = Math.max(0, ...heads.map(({ text }) => text?.length ?? 0));
  const start = longest === 0 ? "" : await firstBytes(path, longest);
  const known = heads.find(({ text }) => text !== undefined && start.startsWith(text));
  if (known !== undefined) return known;
  const { comment: _, ...given } = options;
  return (await sniffCsv(path, options["comment"] === "''" ? given : options, session, "sample_size=20480"))
    .head;
}

/** How the lines of a local file end, as DuckDB's `new_line` has it. */
export type LineEnd = "\\r\\n" | "\\n" | "\\r";

/**
 * How the first record of a local file ends, which begins where the file does. DuckDB itself takes a line break within quotes
 * for such an end, if it comes first.
 */
export async function lineEndOf(path: string, quote: string): Promise<LineEnd | undefined> {
  if (/\.(gz|zst)$/.test(path)) return undefined;
  const [start = "", ...more] = (await firstBytes(path, 4 * headBytesMax)).split(quote);
  if (quote === "" || more.length === 0) return undefined;
  // Every second piece is within quotes.
  const plain = [start, ...more.filter((_, at) => at % 2 === 1)].join(" ");
  const end = /\r\n|\n|\r/.exec(plain)?.[0];
  return end === undefined ? undefined : end === "\n" ? "\\n" : end === "\r" ? "\\r" : "\\r\\n";
}

/** The first lines of a file, with their ends. */
async function firstLines(path: string, end: string): Promise<string[]> {
  const text = await firstBytes(path, 4 * headBytesMax);
  return text.split(end).map((line) => `${line}${end}`);
}

export async function firstBytes(path: string, bytes: number): Promise<string> {
  const local = await open(path);
  try {
    const length = Math.min(bytes, (await local.stat()).size);
    const { buffer, bytesRead } = await local.read(Buffer.alloc(length), 0, length, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await local.close();
  }
}

/** Names that are the same but for their case are one name to DuckDB, which renames the second. */
async function refuseRenamed(
  path: string,
  { skip, names }: CsvHead,
  options: ReadOptions,
  session: Session,
): Promise<void> {
  if (!hasRenamed(names) || options["names"] !== undefined) return;
  const all = names.map((_, index) => `'c${index}': 'VARCHAR'`).join(", ");
  const more = Object.entries(options)
    .filter(([name]) => /^(delim|quote|escape|encoding)$/.test(name))
    .map(([name, value]) => `, ${name}=${value}`);
  const read = `read_csv(${textLiteral(path)}, auto_detect=false, header=false, skip=${skip}, columns={${all}}${more.join("")}, strict_mode=false, ignore_errors=true)`;
  const [row = {}] = await session.rows(`from ${read} limit 1`);
  refuseTwins(new Set(Object.values(row).map((value) => String(value ?? "").trim())));
}
