import type { ZodType } from "zod";
import * as z from "zod";
import { CorruptDataError, isUnreadable } from "./errors.ts";
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

const kinds = new WeakMap<ZodType, Versioned>();

/** Makes a schema that of a document with a version of its own: what is decoded by it comes in the form that it knows. */
export const versioned = (kind: Versioned, schema: ZodType): void => void kinds.set(schema, kind);

/**
 * Decodes stored or received bytes. Throws `OtherVersionError` for a version that this release does not read, and
 * `CorruptDataError` for anything else that does not fit the schema. `what` names the document in messages.
 */
export function decodeJson<T>(schema: ZodType<T>, body: Uint8Array | string, what: string): T {
  const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CorruptDataError("not-json", `${what} is not JSON`, { cause });
  }
  return decodeValue(schema, value, what);
}

/** Decodes a value that was parsed already, or metadata, whose `v` is text, like `decodeJson`. */
export function decodeValue<T>(schema: ZodType<T>, value: unknown, what: string): T {
  const kind = kinds.get(schema);
  if (kind !== undefined) checkVersion(kind, value, what);
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
