import type { Files } from "../../src/engine/calculation/files.ts";
import { calculationLimits } from "../../src/engine/model/limits.ts";
import { withSession } from "./duck/session.ts";
import { mapChunk } from "./mapChunk.ts";
import { type SqlParams, typesOf } from "./params.ts";
import { type SqlInput, schemaOf } from "./sources/loadChunk.ts";
import { findTables } from "./sources/loadTables.ts";
import { type OpenSource, openSource, planChunks } from "./sources/planSource.ts";
import type { SplitQuery } from "./split/splitSteps.ts";
import { statementsOf } from "./statements.ts";

/** Finds the columns of a source, splits the query and cuts the files. Throws `InputError` and `CalculationError`. */
export async function planQuery(given: SqlParams, files: Files, onPart?: (bytes: number) => void) {
  const { chunkBytes, query } = given;
  const { source, tables } = await withSession(async (session) => ({
    source: await openSource({ ...given, types: typesOf(given.types) }, files, session),
    tables: await findTables(given.table, files, session),
  }));
  const common = { ...source, tables, hasNames: /\bfilename\b/i.test(query) };
  const split = await statementsOf(given)(schemaOf(common));
  const asked = { chunkBytes, split, tables, hasNames: common.hasNames, onPart };
  // A session is one task's at a time, and who reads a plan may wait between two inputs.
  const chunks = await withSession((session) => Array.fromAsync(planChunks(source, asked, files, session)));
  return { source, split, chunks };
}

/** How a query would be computed. */
export interface ExplainedQuery {
  readonly way: SplitQuery["way"];
  /** Why rows are carried to the finish, if they are. */
  readonly why: string;
  /** Bytes that chunks carry to the finish together, estimated from the first rows; and the most that they may. */
  readonly carriedBytes: number;
  readonly carriedBytesMax: number;
  /** Each over `data` of a chunk, over `parts` of partials, and what makes the table `name` that the finish reads of the last. */
  readonly steps: readonly {
    readonly chunk: string;
    readonly merge?: string;
    readonly answer: string;
    readonly name: string;
  }[];
  readonly finish: string;
  /** The columns of data that are read, of all. */
  readonly columns: readonly string[];
  readonly columnsThere: number;
  readonly chunks: number;
  /** Files of the source, and their bytes. */
  readonly files: number;
  readonly fileBytes: number;
  /** Files with rows that the query may need, and the bytes that are read of them. */
  readonly filesRead: number;
  readonly bytesRead: number;
}

/** Explains a query over a source; it reads what planning reads, and one part of the rows. Throws `InputError` and `CalculationError`. */
export async function explainQuery(given: SqlParams, files: Files): Promise<ExplainedQuery> {
  let bytesRead = 0;
  const { source, split, chunks } = await planQuery(given, files, (bytes) => {
    bytesRead += bytes;
  });
  const { way, why, cuts, finish, reads } = split;
  return {
    way,
    why,
    carriedBytes: way === "aggregate" ? 0 : await estimated(chunks, source, split, bytesRead, files),
    carriedBytesMax: calculationLimits.partialBytesMax,
    steps: cuts.map(({ chunk, merge, answer, name }) => ({
      ...{ chunk, answer, name },
      ...(merge === undefined ? {} : { merge }),
    })),
    finish,
    columns: reads,
    columnsThere: source.reader.columns.length,
    chunks: chunks.length,
    files: source.files.length,
    fileBytes: source.files.reduce((sum, { file }) => sum + file.bytes, 0),
    filesRead: new Set(chunks.flatMap((chunk) => chunk.files.map(({ file }) => file.path))).size,
    bytesRead,
  };
}

/** Text that is read for an estimate; of Parquet it is one row group. */
const probeBytes = 1024 ** 2;

/** What the first rows carry, as often as all rows are more than they. */
async function estimated(
  chunks: readonly SqlInput[],
  { reader }: OpenSource,
  split: SplitQuery,
  bytesRead: number,
  files: Files,
): Promise<number> {
  const [first] = chunks;
  const part = first?.files[0];
  if (first === undefined || part === undefined) return 0;
  const { from = 0, to = reader.kind === "parquet" ? 1 : part.file.bytes } = part;
  const isCut = reader.kind === "ndjson" || reader.kind === "parquet";
  const end = reader.kind === "parquet" ? from + 1 : Math.min(to, from + probeBytes);
  const probe = { ...first, files: [isCut ? { ...part, from, to: end } : part] };
  const { rows } = await withSession((session) =>
    mapChunk({ input: probe, split, files, rejectsMax: Number.MAX_SAFE_INTEGER, isLimited: false }, session),
  );
  const carried = rows.flat().reduce((sum, { length }) => sum + length, 0);
  const whole = chunks.length === 1 && first.files.length === 1 && !isCut ? 1 : 0;
  const bytes = isCut && reader.kind === "ndjson" ? end - from : part.file.bytes;
  return whole === 1 ? carried : Math.round((carried * bytesRead) / Math.max(1, Math.min(bytes, bytesRead)));
}
