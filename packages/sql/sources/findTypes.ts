import { dsvFormat } from "d3-dsv";
import type { FileFact, Files } from "../../../src/engine/calculation/files.ts";
import { CalculationError, messageOf } from "../../../src/engine/model/errors.ts";
import { type Session, textLiteral } from "../duck/session.ts";
import { type FileKind, fileFormat } from "./fileFormat.ts";
import { endingOf, fetchFile, fetchSample, newPath } from "./localFile.ts";
import { fetchFooter } from "./parquetFile.ts";
import type { ReadOptions } from "./readOptions.ts";
import { refuseOtherEncoding, takeBadLines } from "./rejects.ts";
import { sourceLimits } from "./sourceLimits.ts";

const { recordBytesMax, samplesMax } = sourceLimits;

export type Column = readonly [name: string, type: string];

/**
 * How every file of a source is read. It is found once, while planning, and is part of each chunk's input: types that each
 * chunk found on its own would differ.
 */
export interface Reader {
  readonly kind: FileKind;
  readonly columns: readonly Column[];
  readonly options: ReadOptions;
  /** The header of the first CSV file: each text, and the column that DuckDB makes of it. */
  readonly header?: readonly (readonly [text: string, column: string])[];
}

/** Finds dialect and types from the first megabyte of some of the files. Throws `CalculationError`. */
export async function findReader(
  listed: readonly FileFact[],
  { kind, given, files, session }: { kind: FileKind; given: ReadOptions; files: Files; session: Session },
): Promise<Reader> {
  const step = Math.max(1, Math.ceil(listed.length / samplesMax));
  const chosen = listed.filter((_, index) => index % step === 0);
  const paths: string[] = [];
  for (const file of chosen) {
    const format = fileFormat(file.path, kind);
    if (kind === "parquet") {
      paths.push(newPath(session));
      await fetchFooter(file, paths.at(-1) ?? "", files);
      continue;
    }
    const isWhole = kind === "json" || /utf-?16/i.test(given["encoding"] ?? "");
    const path = newPath(session, isWhole ? endingOf(format.compression) : "");
    await (isWhole ? fetchFile(file, path, files) : fetchSample(file, format, path, files));
    if (kind === "ndjson") await takeBadLines([{ path, file, from: 0 }]);
    paths.push(path);
  }
  try {
    if (kind === "csv") return await findCsv(paths, given, session);
    if (kind === "parquet") {
      const call = `read_parquet([${paths.map(textLiteral).join(", ")}], union_by_name=true)`;
      return { kind, columns: await described(call, session), options: given };
    }
    return { kind, ...(await findJson(paths, kind, given, session)) };
  } catch (error) {
    const local = paths.map((path, index) => ({ path, file: chosen[index] as FileFact }));
    await refuseOtherEncoding(local, { kind, options: given });
    throw new CalculationError(
      "bad-file",
      `${chosen[0]?.path}: its columns are not found: ${messageOf(error)}`,
    );
  }
}

/** Types and dialect are those of the records that fit: the others are rejects, and each chunk counts its own. */
const detecting = "sample_size=-1, ignore_errors=true";

async function findCsv(paths: readonly string[], given: ReadOptions, session: Session): Promise<Reader> {
  const asked = Object.entries(given).map(([name, value]) => `, ${name}=${value}`);
  const [first = ""] = paths;
  const own = asked.filter((one) => !/^, (union_by_name|null_padding)=/.test(one)).join("");
  const [found = {}] = await session.rows(`from sniff_csv(${textLiteral(first)}, ${detecting}${own})`);
  const text = (name: string): string => {
    const value = String(found[name] ?? "");
    return value === "(empty)" ? "" : value;
  };
  const [delimiter, quote] = [text("Delimiter"), text("Quote") || '"'];
  const dialect: Record<string, string> = {
    delim: textLiteral(delimiter),
    quote: textLiteral(quote),
    escape: textLiteral(text("Escape") || quote),
    skip: String(found["SkipRows"] ?? 0),
    header: String(found["HasHeader"]),
  };
  for (const [option, name] of [
    ["comment", "Comment"],
    ["dateformat", "DateFormat"],
    ["timestampformat", "TimestampFormat"],
  ] as const)
    if (text(name) !== "") dialect[option] = textLiteral(text(name));
  const options = { ...dialect, ...given };
  const list = `[${paths.map(textLiteral).join(", ")}]`;
  const all = Object.entries({ ...options, union_by_name: "true" }).map(
    ([name, value]) => `, ${name}=${value}`,
  );
  const columns = await described(`read_csv(${list}, ${detecting}${all.join("")})`, session);
  const texts = options["header"] === "true" ? await headerOf(first, options, session) : undefined;
  const names = found["Columns"] as readonly { readonly name: string }[];
  const header =
    texts?.length === names.length
      ? texts.map((one, index) => [one, names[index]?.name ?? one] as const)
      : undefined;
  return { kind: "csv", columns, options, ...(header === undefined ? {} : { header }) };
}

async function findJson(
  paths: readonly string[],
  kind: "ndjson" | "json",
  given: ReadOptions,
  session: Session,
) {
  const { types, columns: fixed, ...options } = given;
  const list = `[${paths.map(textLiteral).join(", ")}]`;
  const more = Object.entries(options).map(([name, value]) => `, ${name}=${value}`);
  const format = kind === "json" ? "auto" : "newline_delimited";
  const call = `read_json(${list}, format='${format}', union_by_name=true, sample_size=-1${more.join("")}`;
  const found = await described(`${call}${fixed === undefined ? "" : `, columns=${fixed}`})`, session);
  const own = types === undefined ? [] : await described(`read_json(${list}, columns=${types})`, session);
  const typed = new Map([...found, ...own]);
  return { columns: [...typed], options };
}

async function described(call: string, session: Session): Promise<Column[]> {
  const rows = await session.rows(`describe select * from ${call}`);
  return rows.map((row) => [String(row["column_name"]), String(row["column_type"])]);
}

/** The fields in the header of a local CSV file. */
export async function headerOf(
  path: string,
  { delim, skip, encoding }: ReadOptions,
  session: Session,
): Promise<string[]> {
  // By itself DuckDB reads 32 MB for one line.
  const bytes = `max_line_size=${recordBytesMax}, buffer_size=${2 * recordBytesMax}`;
  const more = `skip=${skip ?? 0}${encoding === undefined ? "" : `, encoding=${encoding}`}, ${bytes}`;
  const line = `columns={'line': 'VARCHAR'}, delim=chr(1), quote='', escape='', header=false, ${more}`;
  const [row] = await session.rows(`from read_csv(${textLiteral(path)}, auto_detect=false, ${line}) limit 1`);
  const separator = delim?.slice(1, -1) || ",";
  return dsvFormat(separator).parseRows(String(row?.["line"] ?? ""))[0] ?? [];
}
