import * as z from "zod";
import { CalculationError } from "../../../model/errors.ts";

const kib = 1024;
const mib = 1024 * kib;
const gib = 1024 * mib;

/** Sizes in bytes while records are read; all that is held at once follows from them. */
export const readLimits = {
  /** One record: far above what files hold, and small enough to be held whole, as text, with room to spare. */
  recordBytesMax: 16 * mib,
  /** Records parsed at once: their text, rows and fields stay within the young generation and the caches. */
  batchBytes: 64 * kib,
  /** First look for the end of a record beyond a border, and for a header; doubled until it is found. */
  lookBytes: 64 * kib,
  /** Column names as JSON: they go with every chunk's input, of which `inputBytesMax` is the limit. */
  columnsBytesMax: 48 * kib,
  /** Decompressed bytes handed over at once. */
  gunzipBytes: 256 * kib,
  /**
   * Times that a gzip file may grow. Deflate cannot do better than 1,032; tables of numbers and logs shrink to a fifth or
   * a fiftieth, and what shrinks to less than this is made to keep a worker busy.
   */
  gunzipRatioMax: 200,
  /** A small file may grow by any ratio up to here: it takes a moment. */
  gunzipAlwaysBytes: 32 * mib,
  /** What a gzip file may hold: it is one chunk, and more cannot be parsed within the time limit of one. */
  gunzipBytesMax: 16 * gib,
  /** Levels of a nested NDJSON value that is asked for; JSON.stringify overflows a stack of 1 MB at some 7,000. */
  nestingMax: 500,
  /** Files whose headers are read at once while planning: a wait for each would add up under a long prefix. */
  headsAtOnce: 8,
  /** Skipped records that a report shows. */
  offendersMax: 5,
} as const;

/** How the bytes of a file are read. */
export type FileFormat =
  | { readonly kind: "csv"; readonly gzip: boolean; readonly delimiter: string }
  | { readonly kind: "ndjson"; readonly gzip: boolean };

const kinds: Readonly<Record<string, "csv" | "ndjson">> = {
  csv: "csv",
  tsv: "csv",
  txt: "csv",
  ndjson: "ndjson",
  jsonl: "ndjson",
};

/** By the parameters, and where they leave it open by the extension. Throws `CalculationError` naming the file. */
export function fileFormat(path: string, params: ReadParams): FileFormat {
  const gzip = /\.gz$/i.test(path);
  const extension = /\.([^./]*?)(\.gz)?$/i.exec(path)?.[1]?.toLowerCase() ?? "";
  const kind = params.format === "auto" ? kinds[extension] : params.format;
  if (kind === undefined) {
    const known = Object.keys(kinds).map((one) => `.${one}`);
    throw new CalculationError(
      "unknown-format",
      `${path}: its name does not tell its format (${known.join(" ")}, each also with .gz); say csv or ndjson with format, or narrow source`,
    );
  }
  if (kind === "ndjson") return { kind, gzip };
  return { kind, gzip, delimiter: delimiterOf(params.delimiter, extension) };
}

function delimiterOf(named: string, extension: string): string {
  if (named === "auto") return extension === "tsv" ? "\t" : ",";
  return named === "tab" ? "\t" : named;
}

/** What reading needs to know, as a shape for the schema of a calculation that reads records. */
export const readShape = {
  source: z
    .string()
    .regex(/^[a-z0-9$][a-z0-9-]{0,62}(\/.*)?$/, "must be container/prefix")
    .describe("files to read: container/prefix"),
  format: z
    .enum(["auto", "csv", "ndjson"])
    .default("auto")
    .describe("auto goes by the file's name: .csv .tsv .txt .ndjson .jsonl, each also with .gz"),
  delimiter: z
    .string()
    .regex(
      /^(auto|tab|[\t !#-,./:-@[-`{-~])$/,
      "must be auto, tab, or one ASCII character that is no letter, digit, quote or dash",
    )
    .default("auto")
    .describe("between fields of CSV: one character, or tab; auto is tab for .tsv, else a comma"),
  header: z
    .boolean()
    .default(true)
    .describe("the first record of a CSV file names its columns; without one they are c1, c2, …"),
  chunkBytes: z.coerce
    .number()
    .int()
    .min(64 * kib)
    .max(1024 * mib)
    .default(32 * mib)
    .describe("bytes of one chunk, about"),
  quotedNewlines: z
    .boolean()
    .default(true)
    .describe(
      "fields of CSV may hold line breaks; false promises that none does and saves a pass over the files",
    ),
  ragged: z
    .enum(["fail", "skip"])
    .default("fail")
    .describe(
      "a CSV record with more or fewer fields than the header, an NDJSON line that is no object: fail, or skip and count it",
    ),
};
export type ReadParams = z.infer<z.ZodObject<typeof readShape>>;
