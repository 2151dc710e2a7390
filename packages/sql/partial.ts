import { readFile, writeFile } from "node:fs/promises";
import * as z from "zod";
import type { Files } from "../../src/engine/calculation/files.ts";
import { CorruptDataError } from "../../src/engine/model/errors.ts";
import { type SavedFile, savedFileSchema } from "../../src/engine/model/fileList.ts";
import { type Session, textLiteral } from "./duck/session.ts";
import { newPath } from "./sources/localFile.ts";
import { noRejects, type Rejects } from "./sources/rejects.ts";
import { castColumns, starOf, writeRows } from "./writeRows.ts";

/**
 * A partial: the rows that `map` or `reduce` gave, as Parquet behind a header. Parquet keeps most of DuckDB's types; a
 * column of any other is text in it, which the header says.
 */
export interface Partial {
  readonly rejects: Rejects;
  /** The columns of data that the query names. */
  readonly named: readonly string[];
  /** Columns that are kept as text, and their types. */
  readonly texts: readonly (readonly [name: string, type: string])[];
  readonly rows: Uint8Array;
  /** Files that have the rows instead. */
  readonly saved?: readonly SavedFile[] | undefined;
}

/** The rows of a partial, without what its header says of the query. */
export type Rows = Omit<Partial, "named">;

/** Types that Parquet changes or rounds. One within a list or struct counts as well. */
const changed =
  /\b(U?HUGEINT|BIGNUM|VARINT|INTERVAL|BIT|TIMESTAMP_S|TIMESTAMP_MS|TIMESTAMP_NS|TIME WITH TIME ZONE|TIME_NS|ENUM|UNION|JSON|VARIANT|NULL)\b/;

/** Stores the rows of a query. Their order is kept. */
export async function storeRows(query: string, rejects: Rejects, session: Session): Promise<Rows> {
  const path = newPath(session);
  const { select, cast: texts } = await castColumns(
    query,
    (type) => changed.test(type) && "varchar",
    session,
  );
  await session.run(`copy (${select}) to ${textLiteral(path)} (format parquet, compression zstd)`);
  return { rejects, texts, rows: await readFile(path) };
}

/** Saves the rows of a query as a file, and keeps its name instead. */
export async function saveRows(
  query: string,
  rejects: Rejects,
  { files, session }: { readonly files: Files; readonly session: Session },
): Promise<Rows> {
  const { body, extension } = await writeRows(query, "parquet", session);
  return { ...nothing, rejects, saved: [await files.save(body, extension)] };
}

/** Makes the view `parts` of the rows of partials, in order, in which an aggregate does not read UNION ALL. */
export async function loadParts(partials: readonly Partial[], session: Session): Promise<void> {
  const loaded: { readonly paths: string[]; readonly star: string }[] = [];
  for (const { texts, rows } of partials) {
    const path = newPath(session);
    await writeFile(path, rows);
    const star = starOf(texts);
    const last = loaded.at(-1);
    if (last?.star === star) last.paths.push(path);
    else loaded.push({ paths: [path], star });
  }
  const [first, ...more] = loaded.map(
    ({ paths, star }) => `select ${star} from read_parquet([${paths.map(textLiteral).join(", ")}])`,
  );
  if (more.length === 0) return session.run(`create temp view parts as ${first}`);
  await session.run(`create temp table "all of parts" as ${first}`);
  for (const select of more) await session.run(`insert into "all of parts" ${select}`);
  await session.run('create temp view parts as from "all of parts"');
}

/** The header is JSON; its length comes first, as four bytes, little-endian. */
export function encodePartial({ rejects, named, texts, saved, rows }: Partial): Uint8Array {
  const json = Buffer.from(JSON.stringify({ rejects, named, texts, saved }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json, rows]);
}

const headerShape = z.object({
  rejects: z.object({
    count: z.int().min(0),
    first: z.array(z.object({ file: z.string(), byte: z.number(), why: z.string() })),
  }),
  named: z.array(z.string()),
  texts: z.array(z.tuple([z.string(), z.string()])),
  saved: z.array(savedFileSchema).optional(),
});

/** Throws `CorruptDataError` for other bytes. */
export function decodePartial(bytes: Uint8Array): Partial {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  try {
    const end = 4 + all.readUInt32LE(0);
    return { ...headerShape.parse(JSON.parse(all.toString("utf8", 4, end))), rows: all.subarray(end) };
  } catch (cause) {
    throw new CorruptDataError("bad-partial", "the partial is none of sql", { cause });
  }
}

/** The partial of a run in which no chunk is folded: it has no rows and no columns. */
export const nothing: Partial = { rejects: noRejects, named: [], texts: [], rows: new Uint8Array() };
