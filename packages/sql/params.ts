import * as z from "zod";
import { fileKinds } from "./sources/fileFormat.ts";
import { splitList } from "./sources/fitting.ts";
import { resultFormats } from "./writeRows.ts";

const tablePattern = /^[A-Za-z_][A-Za-z0-9_]{0,62}=[a-z0-9$][a-z0-9-]{0,62}\/.+$/;

const typePattern = /^("(?:[^"]|"")+"|[^=",]+)=\s*[A-Za-z][\w ]*(\([\w, ]*\))?(\[\])*$/;

/** The types of columns that a parameter says. */
export const typesOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    splitList(text).map((one) => {
      const [, name = "", type = ""] = /^(.*?)=([^=]*)$/s.exec(one) ?? [];
      return [
        name
          .trim()
          .replace(/^"(.*)"$/s, "$1")
          .replaceAll('""', '"'),
        type.trim().toUpperCase(),
      ];
    }),
  );

/** What a run of `sql` is asked. */
export const sqlParams = z.strictObject({
  source: z
    .string()
    .max(1_100)
    .regex(/^[a-z0-9$][a-z0-9-]{0,62}(\/.*)?$/, "must be container/prefix")
    .describe(
      "files to read as the table data: container/prefix, or with wildcards: inputs/trips/2024-*.parquet",
    ),
  query: z
    .string()
    .max(20_000)
    .describe("a SELECT from data, such as: select zone, count(*) from data group by zone"),
  table: z
    .union([z.string(), z.array(z.string())])
    .default([])
    .transform((given) => (typeof given === "string" ? given.split(",").map((one) => one.trim()) : given))
    .pipe(z.array(z.string().regex(tablePattern, "must be name=container/file")).max(16))
    .describe("small files that the query joins with, as name=container/file, separated by commas"),
  format: z
    .enum(["auto", ...fileKinds])
    .default("auto")
    .describe("what the files hold; auto uses the extension: .csv .tsv .txt .ndjson .jsonl .json .parquet"),
  read: z
    .string()
    .max(4_000)
    .default("")
    .describe("options of DuckDB's reader: dateformat='%b %d %Y', thousands=',', types={'zip': 'varchar'}"),
  types: z
    .string()
    .max(4_000)
    .default("")
    .refine(
      (text) => splitList(text).every((one) => typePattern.test(one)),
      "must be column=TYPE, column=TYPE",
    )
    .describe("types of columns, as kwh=DOUBLE, zip=VARCHAR; the others are found in the first files"),
  chunkBytes: z.coerce
    .number()
    .int()
    .min(64 * 1024)
    .max(1024 ** 3)
    .default(64 * 1024 ** 2)
    .describe("approximate bytes of one chunk; of Parquet those of the needed columns"),
  rejectsMax: z.coerce
    .number()
    .int()
    .min(0)
    .max(1e9)
    .default(0)
    .describe("records that may be left out because they do not fit the columns; more fail the run"),
  resultFormat: z
    .enum(resultFormats)
    .default("json")
    .describe("of the answer; files: a Parquet file for each chunk, for rows without end"),
});

export type SqlParams = z.infer<typeof sqlParams>;
