import { CalculationError } from "../../../src/engine/model/errors.ts";

/** What a file holds, and how it is compressed. Parquet is compressed within. */
export interface FileFormat {
  readonly kind: FileKind;
  readonly compression: "none" | "gzip" | "zstd";
}

export const fileKinds = ["csv", "ndjson", "json", "parquet"] as const;
export type FileKind = (typeof fileKinds)[number];

const kindOf: Readonly<Record<string, FileKind>> = {
  csv: "csv",
  tsv: "csv",
  txt: "csv",
  ndjson: "ndjson",
  jsonl: "ndjson",
  json: "json",
  parquet: "parquet",
};

/** The format that is asked for, or else that of the extension. Throws `CalculationError` naming the file. */
export function fileFormat(path: string, asked: FileKind | "auto"): FileFormat {
  const [, named, packed = ""] = /(?:\.([^./]*?))?(?:\.(gz|zst))?$/i.exec(path.replace(/^.*\//, "")) ?? [];
  const extension = named ?? "";
  const kind = asked === "auto" ? kindOf[extension.toLowerCase()] : asked;
  if (kind === undefined) {
    const known = Object.keys(kindOf).map((one) => `.${one}`);
    const message =
      `${path}: its extension is none of ${known.join(" ")}, text also with .gz or .zst; ` +
      `give --format ${fileKinds.join(", ")}, or narrow --source`;
    throw new CalculationError("unknown-format", message);
  }
  const compression = { gz: "gzip", zst: "zstd" } as const;
  return { kind, compression: compression[packed.toLowerCase() as "gz" | "zst"] ?? "none" };
}
