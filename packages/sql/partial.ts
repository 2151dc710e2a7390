import { readFile, writeFile } from "node:fs/promises";
import * as z from "zod";
import type { Files } from "../../src/engine/calculation/files.ts";
import { CalculationError, CorruptDataError } from "../../src/engine/model/errors.ts";
import { type SavedFile, savedFileSchema } from "../../src/engine/model/fileList.ts";
import { calculationLimits } from "../../src/engine/model/limits.ts";
import { identifier, type Session, textLiteral } from "./duck/session.ts";
import { newPath } from "./sources/localFile.ts";
import { noRejects, type Rejects } from "./sources/rejects.ts";
import type { Column, Cut, Schema, SplitQuery } from "./split/splitSteps.ts";
import { writeRows } from "./writeRows.ts";

const { partialBytesMax } = calculationLimits;

/** A partial: for each cut of the query its rows, as Parquet files behind a header. */
export interface Partial {
  readonly rejects: Rejects;
  /** What the query may read: with it, merge and finish split the query as chunks did. */
  readonly schema: Schema;
  /** For each cut, Parquet files whose rows are in order. */
  readonly rows: readonly (readonly Uint8Array[])[];
  /** Files that have the rows instead. */
  readonly saved?: readonly SavedFile[] | undefined;
}

/** Files of rows that are kept as they are, before they are written as one. */
const filesMax = 16;

/** Types that Parquet changes or rounds, with what is quoted before them. */
const changed =
  /"(?:[^"]|"")*"(?= )|ENUM\((?:'(?:[^']|'')*'(?:, )?)*\)|"NULL"|\b(?:U?HUGEINT|BIGNUM|INTERVAL|BIT|TIMESTAMP_S|TIMESTAMP_MS|TIMESTAMP_NS|TIME WITH TIME ZONE|TIME_NS|JSON)\b/g;

/** The type as which Parquet keeps a value of a type exactly. */
function storedType(type: string): string {
  if (/\b(UNION|VARIANT)\b/.test(type)) return "VARCHAR";
  return type.replace(changed, (token) => {
    if (token === '"NULL"') return "INTEGER";
    return token.startsWith('"') ? token : "VARCHAR";
  });
}

const castList = (columns: readonly Column[], to: (type: string) => string): string =>
  columns
    .map(([name, type]) =>
      storedType(type) === type
        ? identifier(name)
        : `cast(${identifier(name)} as ${to(type)}) as ${identifier(name)}`,
    )
    .join(", ");

/** The rows of a statement with a cut's columns, in order. */
export async function storeRows(query: string, { columns }: Cut, session: Session): Promise<Uint8Array> {
  const path = newPath(session);
  const select = `select ${castList(columns, storedType)} from (${query})`;
  await session.run(`copy (${select}) to ${textLiteral(path)} (format parquet, compression zstd)`);
  return readFile(path);
}

/** Saves the rows of a query as a file, and keeps its name instead. */
export async function saveRows(query: string, files: Files, session: Session): Promise<SavedFile> {
  const { body, extension } = await writeRows(query, "parquet", session);
  return files.save(body, extension);
}

/** Makes the view `parts` of the rows of partials of a cut, in order. */
export async function loadParts(
  bodies: readonly Uint8Array[],
  { columns }: Cut,
  session: Session,
): Promise<void> {
  const paths: string[] = [];
  for (const body of bodies) {
    const path = newPath(session);
    await writeFile(path, body);
    paths.push(textLiteral(path));
  }
  const list = castList(columns, (type) => type);
  await session.run(
    `create or replace temp view parts as select ${list} from read_parquet([${paths.join(", ")}])`,
  );
}

/** The rows of two neighbors. */
export async function mergeRows(
  a: readonly Uint8Array[],
  b: readonly Uint8Array[],
  cut: Cut,
  session: Session,
): Promise<readonly Uint8Array[]> {
  if (cut.isTable) return a;
  const all = [...a, ...b];
  if (cut.merge === undefined && all.length <= filesMax) return all;
  await loadParts(all, cut, session);
  return [await storeRows(cut.merge ?? "from parts", cut, session)];
}

/** Throws `CalculationError` if the rows of a partial pass its limit, which says what of the query carries them. */
export function refuseLarge(rows: Partial["rows"], { cuts }: SplitQuery): void {
  const sizes = rows.map((bodies) => bodies.reduce((sum, { length }) => sum + length, 0));
  const bytes = sizes.reduce((a, b) => a + b, 0);
  if (bytes <= partialBytesMax) return;
  const largest = cuts[sizes.indexOf(Math.max(...sizes))];
  const what = largest?.carries ?? "the groups of the query";
  throw new CalculationError(
    "partial-too-large",
    `query: ${what} take ${bytes} bytes together; the limit is ${partialBytesMax} (partialBytesMax)`,
  );
}

/** The header is JSON; its length comes first, as four bytes, little-endian. Then come the rows, file after file. */
export function encodePartial({ rejects, schema, rows, saved }: Partial): Uint8Array {
  const sizes = rows.map((bodies) => bodies.map(({ length }) => length));
  const json = Buffer.from(JSON.stringify({ rejects, schema, sizes, saved }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json, ...rows.flat()]);
}

const columnsShape = z.array(z.tuple([z.string(), z.string()]));
const headerShape = z.object({
  rejects: z.object({
    count: z.int().min(0),
    first: z.array(z.object({ file: z.string(), byte: z.number(), why: z.string() })),
  }),
  schema: z.object({ columns: columnsShape, tables: z.record(z.string(), columnsShape) }),
  sizes: z.array(z.array(z.int().min(0))),
  saved: z.array(savedFileSchema).optional(),
});

/** Throws `CorruptDataError` for other bytes. */
export function decodePartial(bytes: Uint8Array): Partial {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  try {
    let at = 4 + all.readUInt32LE(0);
    const { sizes, ...header } = headerShape.parse(JSON.parse(all.toString("utf8", 4, at)));
    const rows = sizes.map((lengths) =>
      lengths.map((length) => {
        at += length;
        return all.subarray(at - length, at);
      }),
    );
    if (at !== all.length) throw new RangeError(`it has ${all.length} bytes, and its header says ${at}`);
    return { ...header, rows };
  } catch (cause) {
    throw new CorruptDataError("bad-partial", "the partial is none of sql", { cause });
  }
}

/** The partial of a run in which no chunk is folded: it has no rows and no columns. */
export const nothing: Partial = { rejects: noRejects, schema: { columns: [], tables: {} }, rows: [] };
