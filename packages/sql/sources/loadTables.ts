import type { FileFact, Files } from "../../../src/engine/calculation/files.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import { identifier, type Session, textLiteral } from "../duck/session.ts";
import type { Column } from "../split/splitSteps.ts";
import { fileFormat } from "./fileFormat.ts";
import { refuseDeep } from "./jsonLevels.ts";
import { endingOf, fetchFile, newPath } from "./localFile.ts";
import { sourceLimits } from "./sourceLimits.ts";

const { tableBytesMax } = sourceLimits;

/** A small file as a table that every chunk has. */
interface TableFile {
  readonly file: FileFact;
  readonly columns: readonly Column[];
}
export type TableFiles = Readonly<Record<string, TableFile>>;

/** Names of tables that the statements of a query have. */
const taken = /^(data|parts|answer\d+|cte_t\d+|t\d+)$/i;

/** Types are those of all rows. */
const readers = {
  csv: ["read_csv", ", sample_size=-1"],
  ndjson: ["read_json", ", sample_size=-1"],
  json: ["read_json", ", sample_size=-1"],
  parquet: ["read_parquet", ""],
} as const;

/** The files of the tables: `rates=inputs/rates.csv`. Throws `CalculationError`. */
export async function findTables(
  given: readonly string[],
  files: Files,
  session: Session,
): Promise<TableFiles> {
  const tables: Record<string, TableFile> = {};
  for (const one of given) {
    const [, name = "", path = ""] = /^([^=]+)=(.+)$/.exec(one) ?? [];
    if (taken.test(name))
      throw new CalculationError(
        "bad-query",
        `table ${name}: the steps of a query use this name; give it another`,
      );
    const [file] = await Array.fromAsync(files.list(path));
    if (file?.path !== path)
      throw new CalculationError("file-missing", `table ${name}: there is no file ${path}`);
    if (file.bytes > tableBytesMax)
      throw new CalculationError(
        "file-too-large",
        `table ${name}: ${path} has ${file.bytes} bytes; the limit is ${tableBytesMax} (tableBytesMax)`,
      );
    tables[name] = { file, columns: await session.columns(`from ${await fetchTable(file, files, session)}`) };
  }
  return tables;
}

/** Makes a table of each file. */
export async function loadTables(tables: TableFiles, files: Files, session: Session): Promise<void> {
  for (const [name, { file }] of Object.entries(tables)) {
    const read = await fetchTable(file, files, session);
    await session.run(`create or replace temp table ${identifier(name)} as from ${read}`);
  }
}

async function fetchTable(file: FileFact, files: Files, session: Session): Promise<string> {
  const { kind, compression } = fileFormat(file.path, "auto");
  const path = newPath(session, endingOf(compression));
  await fetchFile(file, path, files);
  await refuseDeep({ path, file }, kind);
  const [reader, more] = readers[kind];
  return `${reader}(${textLiteral(path)}${more})`;
}
