import type { FileFact, Files } from "../../../src/engine/calculation/files.ts";
import { identifier, type Session, textLiteral } from "../duck/session.ts";
import { fileFormat } from "./fileFormat.ts";
import { endingOf, fetchFile, newPath } from "./localFile.ts";

const readers = { csv: "read_csv", ndjson: "read_json", json: "read_json", parquet: "read_parquet" } as const;

/** Makes a table of each file, with DuckDB's own reading of it: each thread reads the same bytes. */
export async function loadTables(
  tables: Readonly<Record<string, FileFact>>,
  files: Files,
  session: Session,
): Promise<void> {
  for (const [name, file] of Object.entries(tables)) {
    const { kind, compression } = fileFormat(file.path, "auto");
    const path = newPath(session, endingOf(compression));
    await fetchFile(file, path, files);
    const read = `${readers[kind]}(${textLiteral(path)})`;
    await session.run(`create or replace temp table ${identifier(name)} as from ${read}`);
  }
}
