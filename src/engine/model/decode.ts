import type { ZodType } from "zod";
import * as z from "zod";
import { CorruptDataError, NewerVersionError } from "./errors.ts";
import { runIdPattern } from "./names.ts";

/**
 * A run's id, its uid, or the tag of an attempt or answer. Each becomes a segment of blob names, so it cannot hold a slash
 * or a dot: a forged one stays within the run's folder.
 */
export const idSchema = z
  .string()
  .regex(runIdPattern, 'use 1 to 63 letters, digits, "-" or "_", beginning with a letter or digit');

/** SHA-256 in hex. */
export const sha256Pattern = /^[0-9a-f]{64}$/;

/**
 * The wire version that this code writes and reads. Stored documents carry it as `v`; a schema whose documents are ahead
 * says so in its meta data.
 */
export const wireVersion = 1;

/**
 * Decodes stored or received bytes. A higher `v` is a newer version; anything else that does not fit the schema is
 * corrupt. `what` names the document in messages.
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

/** Decodes a value that was parsed already, like `decodeJson`. */
export function decodeValue<T>(schema: ZodType<T>, value: unknown, what: string): T {
  const version = (value as { v?: unknown } | null)?.v;
  const known = schema.meta()?.["wireVersion"] ?? wireVersion;
  if (typeof version === "number" && version > Number(known)) {
    const message = `${what} was written by a newer version (wire version ${version})`;
    throw new NewerVersionError("newer-version", message);
  }
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
  unless(read, CorruptDataError);

/** The same, also where a newer version wrote them. */
export const unlessUnreadable = <T>(read: () => T | Promise<T>): Promise<T | undefined> =>
  unless(read, CorruptDataError, NewerVersionError);

async function unless<T>(
  read: () => T | Promise<T>,
  ...kinds: readonly (typeof CorruptDataError | typeof NewerVersionError)[]
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (kinds.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
}
