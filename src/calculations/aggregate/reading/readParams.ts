import * as z from "zod";
import { CalculationError } from "../../../model/errors.ts";
import { parseTexts } from "../language/aggregates.ts";

/** How the bytes of a file are read. */
export type FileFormat =
  | {
      readonly kind: "csv";
      readonly gzip: boolean;
      readonly delimiter: string;
      /** Texts of fields that count as empty. */
      readonly nulls: readonly string[];
    }
  | { readonly kind: "ndjson"; readonly gzip: boolean };

export type CsvFormat = Extract<FileFormat, { kind: "csv" }>;

const kinds: Readonly<Record<string, "csv" | "ndjson">> = {
  csv: "csv",
  tsv: "csv",
  txt: "csv",
  ndjson: "ndjson",
  jsonl: "ndjson",
};

/** The format that the parameters name, or else that of the extension. Throws `CalculationError` naming the file. */
export function fileFormat(path: string, params: ReadParams): FileFormat {
  const gzip = /\.gz$/i.test(path);
  const extension = /\.([^./]*?)(\.gz)?$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  const kind = params.format === "auto" ? kinds[extension] : params.format;
  if (kind === undefined) {
    const known = Object.keys(kinds).map((one) => `.${one}`);
    const message =
      `${path}: its extension is none of ${known.join(" ")}, each also with .gz; ` +
      "give --format csv or --format ndjson, or narrow --source";
    throw new CalculationError("unknown-format", message);
  }
  if (kind === "ndjson") return { kind, gzip };
  const delimiter = params.delimiter === "auto" ? (extension === "tsv" ? "tab" : ",") : params.delimiter;
  const nulls = parseTexts(params.nulls ?? "");
  return { kind, gzip, delimiter: delimiter === "tab" ? "\t" : delimiter, nulls };
}

/** The option that saves looking for quoted line breaks, as a user gives it. */
export const withoutNewlines = "--quoted-newlines false";

/** The parameters of reading, as a part of a calculation's schema. */
export const readShape = {
  source: z
    .string()
    .regex(/^[a-z0-9$][a-z0-9-]{0,62}(\/.*)?$/, "must be container/prefix")
    .describe("files to read: container/prefix"),
  format: z
    .enum(["auto", "csv", "ndjson"])
    .default("auto")
    .describe("auto uses the file's extension: .csv .tsv .txt .ndjson .jsonl, each also with .gz"),
  delimiter: z
    .string()
    .regex(
      /^(auto|tab|[\t !#-,./:-@[-`{-~])$/,
      "must be auto, tab, or one ASCII character that is not a letter, digit, quote or dash",
    )
    .default("auto")
    .describe("separates the fields of CSV: one character, or tab; auto is tab for .tsv, else a comma"),
  header: z
    .boolean()
    .default(true)
    .describe("the first record of a CSV file names its columns; false names them c1, c2, …"),
  chunkBytes: z.coerce
    .number()
    .int()
    .min(64 * 1024)
    .max(1024 ** 3)
    .default(32 * 1024 ** 2)
    .describe("approximate bytes of one chunk"),
  quotedNewlines: z
    .boolean()
    .default(true)
    .describe(
      "fields of CSV may hold line breaks; false promises that none does and saves reads while planning",
    ),
  ragged: z
    .enum(["fail", "skip"])
    .default("fail")
    .describe(
      "a CSV record with more or fewer fields than the header, an NDJSON line that is not an object: fail, or skip and count it",
    ),
};
/** Runs submitted before there were `nulls` lack them. */
export type ReadParams = z.infer<z.ZodObject<typeof readShape>> & { readonly nulls?: string };
