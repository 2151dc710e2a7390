import * as z from "zod";
import { decodeValue } from "./decode.ts";

/**
 * What computing a pack again gave: the SHA-256 of its partial and the time it took, or why there is none. It
 * rides in the metadata of `answers/{tag}/{pack}`, so that one list brings the answers of many packs.
 */
export type Verified =
  | { readonly sha256: string; readonly ms: number }
  | { readonly error: { readonly code: string; readonly message: string } };

/** Metadata holds 8 KB, and what user code throws may be long. */
const messageCharactersMax = 500;

export function encodeVerified(verified: Verified): Record<string, string> {
  if ("sha256" in verified) return { sha256: verified.sha256, ms: String(Math.round(verified.ms)) };
  const { code, message } = verified.error;
  if (message === "") return { error: code };
  // Metadata are headers, which carry no line breaks and only ASCII.
  return { error: code, message: Buffer.from(message.slice(0, messageCharactersMax)).toString("base64url") };
}

const schema = z.union([
  z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/), ms: z.coerce.number().nonnegative() }),
  z.object({ error: z.string(), message: z.string().default("") }).transform(({ error, message }) => ({
    error: { code: error, message: Buffer.from(message, "base64url").toString("utf8") },
  })),
]);

/** Throws `CorruptDataError` for metadata that tells neither. */
export const decodeVerified = (metadata: Readonly<Record<string, string>>, what: string): Verified =>
  decodeValue(schema, metadata, `the metadata of ${what}`);
