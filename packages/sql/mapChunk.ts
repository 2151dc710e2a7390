import type { Files } from "../../src/engine/calculation/files.ts";
import { CalculationError, messageOf } from "../../src/engine/model/errors.ts";
import type { SavedFile } from "../../src/engine/model/fileList.ts";
import type { Session } from "./duck/session.ts";
import { type Partial, refuseLarge, saveRows, storeRows } from "./partial.ts";
import {
  dataColumns,
  fetchChunk,
  type LoadedPart,
  loadData,
  type Misfits,
  perhapsNoText,
  type SqlInput,
  schemaOf,
} from "./sources/loadChunk.ts";
import { loadTables } from "./sources/loadTables.ts";
import {
  findMisfits,
  refuseManyRejects,
  refuseOtherStructure,
  refuseOtherThanTexts,
} from "./sources/misfits.ts";
import {
  joinRejects,
  noRejects,
  type Rejects,
  refuseOtherEncoding,
  refuseRejects,
  takeBadLines,
  takeRejects,
} from "./sources/rejects.ts";
import { refuseUnknownKeys } from "./sources/unknownKeys.ts";
import type { SplitQuery } from "./split/splitSteps.ts";

export interface ChunkToMap {
  readonly input: SqlInput;
  readonly split: SplitQuery;
  readonly files: Files;
  readonly rejectsMax: number;
  /** Rows are saved as a file. */
  readonly isSaved?: boolean;
  /** The limit of a partial holds. */
  readonly isLimited?: boolean;
}

/** What a chunk gives, before its rejects are known. */
interface Mapped {
  readonly rows: Partial["rows"];
  readonly saved?: readonly SavedFile[];
}

/** The partial of a chunk. Throws `CalculationError` that names the file at fault. */
export async function mapChunk(given: ChunkToMap, session: Session): Promise<Partial> {
  const { split, files, rejectsMax, isLimited = true } = given;
  const reader = { ...given.input.reader, fields: split.fields };
  const input = { ...given.input, reader };
  const chunk = { ...given, input };
  await loadTables(input.tables, files, session);
  let parts = await fetchChunk(input, split, files, session);
  if (split.namesAll || split.fields === undefined)
    await refuseUnknownKeys(parts, reader, session, split.namesAll ? undefined : new Set(split.reads));
  const local = parts.map((part) => part.local);
  let rejects = noRejects;
  let mapped: Mapped;
  try {
    mapped = await computed(chunk, parts, "fail", session).catch(async (error: unknown) => {
      if (!isOfRows(error) || !messageOf(error.cause).includes(perhapsNoText)) throw error;
      parts = await refuseOtherThanTexts(parts, reader, session);
      return computed(chunk, parts, "fail", session);
    });
  } catch (error) {
    if (!isOfRows(error)) throw error;
    await refuseOtherEncoding(local, reader);
    if (reader.kind === "csv")
      await refuseManyRejects(parts, reader, session).catch((other: unknown) => {
        if (!isOfRows(other)) throw other;
        return refetched(parts, chunk, error, session);
      });
    rejects = await rejectsOf(parts, chunk, session);
    refuseRejects(rejects, rejectsMax);
    // The first error may have come before the one at a text in doubt.
    parts = await refuseOtherThanTexts(parts, reader, session);
    const isOfRecord = /^Invalid Input Error: CSV Error on Line: \d/.test(messageOf(error.cause));
    const again = rejects.count > 0 || isOfRecord ? parts : await refetched(parts, chunk, error, session);
    mapped = await computed(chunk, again, "leave out", session).catch((other: unknown) => {
      throw isOfRows(other) && !isOfRecord ? error : other;
    });
  }
  if (reader.kind === "csv")
    rejects = joinRejects(rejects, await takeRejects(local, reader.comment, session));
  rejects = inOrder(rejects, parts);
  refuseRejects(rejects, rejectsMax);
  if (isLimited) refuseLarge(mapped.rows, split);
  return { ...mapped, rejects, schema: schemaOf(input) };
}

/** Rejects in the order of the files and their bytes. */
function inOrder({ count, first }: Rejects, parts: readonly LoadedPart[]): Rejects {
  const paths = parts.map(({ local }) => local.file.path);
  const order = (a: string, b: string): number => paths.indexOf(a) - paths.indexOf(b);
  return { count, first: first.toSorted((a, b) => order(a.file, b.file) || a.byte - b.byte) };
}

const isOfRows = (error: unknown): error is CalculationError =>
  error instanceof CalculationError && error.code === "query-failed";

async function computed(
  { input, split, files, isSaved = false }: ChunkToMap,
  parts: readonly LoadedPart[],
  misfits: Misfits,
  session: Session,
): Promise<Mapped> {
  const columns = dataColumns(input);
  const times = split.cuts.filter(({ isTable }) => !isTable).length;
  await loadData(parts, { columns, needed: new Set(split.reads), misfits, times }, session);
  if (isSaved && split.rows !== undefined)
    return { rows: [], saved: [await saveRows(split.rows, files, session)] };
  const rows: Uint8Array[][] = [];
  for (const cut of split.cuts) rows.push([await storeRows(cut.chunk, cut, session)]);
  return { rows };
}

/** The records at which a statement has failed. Throws `CalculationError` that names the file if it was not for a record. */
async function rejectsOf(
  parts: readonly LoadedPart[],
  { input: { reader } }: ChunkToMap,
  session: Session,
): Promise<Rejects> {
  const lines = reader.kind === "ndjson" ? await takeBadLines(parts.map((part) => part.local)) : noRejects;
  const misfits = await findMisfits(parts, reader, session).catch(async (other: unknown) => {
    if (!isOfRows(other)) throw other;
    await refuseOtherStructure(parts, reader, session);
    return noRejects;
  });
  return joinRejects(lines, misfits);
}

/** Parts of Parquet files, as whole files; for others the error, which names the file and the columns. */
async function refetched(
  parts: readonly LoadedPart[],
  chunk: ChunkToMap,
  error: CalculationError,
  session: Session,
): Promise<LoadedPart[]> {
  const { input, split, files } = chunk;
  if (input.reader.kind === "parquet" && /Invalid|IO Error|TProtocol/.test(error.message))
    return fetchChunk(input, split, files, session, "whole");
  throw new CalculationError(error.code, `${await fileAtFault(parts, chunk, session)}: ${error.message}`, {
    cause: error,
  });
}

/** The file over whose rows alone a statement fails as well. */
async function fileAtFault(
  parts: readonly LoadedPart[],
  chunk: ChunkToMap,
  session: Session,
): Promise<string> {
  for (const part of parts) {
    const isBad = await computed(chunk, [part], "fail", session).then(
      () => false,
      () => true,
    );
    const { file, groups } = part.local;
    const where = groups === undefined ? "" : `, row groups ${groups.from} to ${groups.to - 1}`;
    if (isBad) return `${file.path}${where}`;
  }
  return parts.map((part) => part.local.file.path).join(", ");
}
