import { CalculationError } from "../../../model/errors.ts";
import type { ReadParams } from "./readParams.ts";

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
