import type { ZodType } from "zod";
import * as z from "zod";
import { CorruptDataError, NewerVersionError } from "./errors.ts";
import { runIdPattern } from "./names.ts";

/**
 * A run's id, its uid, or the tag of an attempt or answer, as documents, markers and messages carry them. Each becomes
 * a segment of blob names, so none may hold a slash or a dot: whoever forges one stays within the run's own folder.
 */
export const idSchema = z
  .string()
  .regex(runIdPattern, 'use 1 to 63 letters, digits, "-" or "_", beginning with a letter or digit');

/** The wire version this code writes and reads. Stored documents carry it as `v`. */
export const wireVersion = 1;

/**
 * Decodes stored or received bytes at the door. A higher `v` is a newer version, never corruption; whatever else
 * does not fit the schema is corrupt. `what` names the thing in the message, such as a blob's name.
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

/** The same for a value that was parsed already. */
export function decodeValue<T>(schema: ZodType<T>, value: unknown, what: string): T {
  const version = (value as { v?: unknown } | null)?.v;
  if (typeof version === "number" && version > wireVersion) {
    throw new NewerVersionError(
      "newer-version",
      `${what} was written by a newer version (wire version ${version})`,
    );
  }
  const decoded = schema.safeParse(value);
  if (decoded.success) return decoded.data;
  const issue = decoded.error.issues[0];
  const where = issue?.path.join(".") || "it";
  throw new CorruptDataError(
    "bad-shape",
    `${what} does not decode: ${where}: ${issue?.message ?? "unknown"}`,
  );
}

/** JSON with sorted keys: equal values give equal bytes. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner,
  );
}
