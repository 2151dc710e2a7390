import * as z from "zod";

const kib = 1024;
const mib = 1024 * kib;

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
