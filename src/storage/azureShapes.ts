import { dateMsOf } from "./azureCalls.ts";
import type { BlobProperties, Replaced } from "./ports.ts";

/** How the SDKs' answers and ours differ: ETags with and without quotes, keys in any case, fields that may lack. */

/** Answers carry ETags in quotes, lists without, and a client may have kept either. */
export const unquoted = (etag: string | undefined): string => (etag ?? "").replace(/^(W\/)?"|"$/g, "");

export const ifMatchOf = (etag: string): { readonly ifMatch: string } => ({ ifMatch: `"${unquoted(etag)}"` });

export const noneMatch = { ifNoneMatch: "*" } as const;

/** Both codes mean that the blob is there; which one comes differs with the kind of account. */
export const createOutcomes = {
  BlobAlreadyExists: { kind: "existed" },
  ConditionNotMet: { kind: "existed" },
} as const;

export const metadataOf = (metadata: Readonly<Record<string, string>> | undefined): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata ?? {}).map(([key, value]) => [key.toLowerCase(), value]));

export const byteLengthOf = (body: Uint8Array | string): number =>
  typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;

interface AnsweredProperties {
  readonly etag?: string | undefined;
  readonly lastModified?: Date | undefined;
  readonly contentType?: string | undefined;
  /** Of a range, MD5 of the range. */
  readonly contentMD5?: Uint8Array | undefined;
  readonly blobContentMD5?: Uint8Array | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

export function propertiesOf(answer: AnsweredProperties, bytes: number): BlobProperties {
  const md5 = answer.blobContentMD5 ?? answer.contentMD5;
  return {
    etag: unquoted(answer.etag),
    lastModifiedMs: answer.lastModified?.getTime() ?? 0,
    bytes,
    contentType: answer.contentType ?? "application/octet-stream",
    ...(md5 === undefined ? {} : { md5: Buffer.from(md5).toString("base64") }),
    metadata: metadataOf(answer.metadata),
  };
}

export const replacedBy = (answer: { readonly etag?: string; readonly date?: Date }): Replaced => ({
  kind: "replaced",
  etag: unquoted(answer.etag),
  dateMs: dateMsOf(answer),
});
