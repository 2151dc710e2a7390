import type { ZodType } from "zod";
import * as z from "zod";
import { CorruptDataError, isUnreadable } from "./errors.ts";
import { limits } from "./limits.ts";
import { runIdPattern } from "./names.ts";
import { checkVersion, type Versioned } from "./versions.ts";

/**
 * A run's id, its uid, or the tag of an attempt or answer. Each becomes a segment of blob names, so it cannot hold a slash
 * or a dot: a forged one stays within the run's folder.
 */
export const idSchema = z
  .string()
  .regex(runIdPattern, 'use 1 to 63 letters, digits, "-" or "_", beginning with a letter or digit');

/** SHA-256 in hex. */
export const sha256Pattern = /^[0-9a-f]{64}$/;

interface Kind {
  readonly kind: Versioned;
  readonly bytesMax: number;
}
const kinds = new Map<ZodType, Kind>();

/** Makes a schema that of a document with a version of its own: what is decoded by it comes in the form that it knows. */
export const versioned = (
  kind: Versioned,
  schema: ZodType,
  bytesMax: number = limits.documentBytesMax,
): void => void kinds.set(schema, { kind, bytesMax });

/** Every schema of a document with a version of its own. */
export const versionedSchemas = (): readonly (readonly [ZodType, Kind])[] => [...kinds];

/** The last moment that has a year of four digits. */
export const latestMs = Date.UTC(10_000, 0) - 1;

/**
 * Numbers of stored documents, also as the text that metadata have: a time, a duration or a number of things. Any of them may
 * become a date, or a term of a sum that does; one that is no date would end more than its document.
 */
export const ms = z.number().nonnegative().max(latestMs);
export const count = z.int().nonnegative().max(latestMs);
export const positive = z.int().positive().max(latestMs);
export const numberText = z.coerce.number().nonnegative().max(latestMs);
/** US dollars, of a document and of metadata. */
export const dollarsMax = 1_000_000;
export const dollarAmount = z.number().positive().max(dollarsMax);
export const dollarText = z.coerce.number().positive().max(dollarsMax);
export const countText = z.coerce.number().int().nonnegative().max(latestMs);
export const positiveText = z.coerce.number().int().positive().max(latestMs);

/** The one place where stored or received bytes become values. Throws `CorruptDataError`; `what` names the document in messages. */
export function parseJson(
  body: Uint8Array | string,
  what: string,
  bytesMax: number = limits.documentBytesMax,
): unknown {
  const { documentLevelsMax } = limits;
  checkBytes(body.length, what, bytesMax);
  const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CorruptDataError("not-json", `${what} is not JSON`, { cause });
  }
  if (isDeeper(value, documentLevelsMax))
    throw new CorruptDataError(
      "too-deep",
      `${what} is nested deeper than ${documentLevelsMax} levels (documentLevelsMax)`,
    );
  return value;
}

/** Throws `CorruptDataError` for more bytes than these, before they are read where that can be. */
export function checkBytes(bytes: number, what: string, bytesMax: number = limits.documentBytesMax): void {
  if (bytes > bytesMax)
    throw new CorruptDataError("too-large", `${what} has ${bytes} bytes; at most ${bytesMax} are read`);
}

/** Whether lists and objects are nested in more levels than these. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Array.isArray(value) ? value : Object.values(value))
    if (typeof inner === "object" && inner !== null && isDeeper(inner, levels - 1)) return true;
  return false;
}

/**
 * Decodes stored or received bytes. Throws `OtherVersionError` for a version that this release does not read, and
 * `CorruptDataError` for anything else that does not fit the schema. `what` names the document in messages.
 */
export const decodeJson = <T>(schema: ZodType<T>, body: Uint8Array | string, what: string): T =>
  decodeValue(schema, parseJson(body, what, kinds.get(schema)?.bytesMax), what);

/** Decodes a value that was parsed already, or metadata, whose `v` is text, like `decodeJson`. */
export function decodeValue<T>(schema: ZodType<T>, value: unknown, what: string): T {
  const kind = kinds.get(schema);
  if (kind !== undefined) checkVersion(kind.kind, value, what);
  const decoded = schema.safeParse(value);
  if (decoded.success) return decoded.data;
  const issue = decoded.error.issues[0];
  const rule = `${issue?.path.join(".") || "it"}: ${issue?.message ?? "unknown"}`;
  throw new CorruptDataError("bad-shape", `${what} does not decode: ${rule}`);
}

/** JSON with sorted keys: equal values give equal bytes. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner,
  );
}

/** What a read gives, or undefined where its bytes do not decode. */
export const unlessCorrupt = <T>(read: () => T | Promise<T>): Promise<T | undefined> =>
  unless(read, (error) => error instanceof CorruptDataError);

/** The same, also where they are of a version that this release does not read. */
export const unlessUnreadable = <T>(read: () => T | Promise<T>): Promise<T | undefined> =>
  unless(read, isUnreadable);

async function unless<T>(
  read: () => T | Promise<T>,
  expected: (error: unknown) => boolean,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (expected(error)) return undefined;
    throw error;
  }
}
