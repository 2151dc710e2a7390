import * as z from "zod";
import { InputError, StorageError } from "../model/errors.ts";
import { type Client, iso } from "./client.ts";
import { findResult, resultFileName, resultGone } from "./result.ts";

/** Long enough to begin a download, which then lasts as long as it has to: storage judges the begin of each request. */
const linkMs = 15 * 60_000;

export const resultLinkSchema = z
  .object({
    url: z
      .url()
      .describe(
        "Reads the result, and nothing else, without a key; https only. It is a secret until it expires.",
      ),
    expires: z.iso.datetime(),
    etag: z.string().describe("Send it as `If-Match`, so that all ranges are of one result."),
    sha256: z.string().describe("Of the whole result, in hex."),
    bytes: z.int(),
  })
  .meta({ id: "ResultLink" });

export type ResultLink = z.infer<typeof resultLinkSchema>;

/**
 * A link from which a result is read without a key, signed by storage for the identity that asks. Throws as `findResult`, and
 * `InputError` with `no-links` where storage is reached by a key, or `link-denied` where the identity may not sign.
 */
export async function resultLink(
  client: Client,
  id: string,
  options: { readonly generation?: number | undefined } = {},
): Promise<ResultLink> {
  const { blobs, linkTo } = client.storage;
  if (linkTo === undefined)
    throw new InputError(
      "conflict",
      "no-links",
      "links are signed for an identity of Entra ID, and this storage is reached by a key",
    );
  const { manifest } = await findResult(client, id, options);
  const { blob, bytes, sha256 } = manifest;
  const found = await blobs.head(client.names.results, blob);
  if (found.kind === "missing") throw resultGone(manifest, found.kind);
  const untilMs = found.dateMs + linkMs;
  const asked = { nowMs: found.dateMs, untilMs, fileName: resultFileName(manifest) };
  const url = await linkTo(client.names.results, blob, asked).catch((error: unknown) => {
    if (!(error instanceof StorageError) || error.kind !== "denied") throw error;
    throw new InputError(
      "conflict",
      "link-denied",
      'storage signs no link for this identity: it needs the role "Storage Blob Delegator" on the account ' +
        "(resultLinks of infra/main.bicep)",
    );
  });
  return { url, expires: iso(untilMs), etag: `"${found.properties.etag}"`, sha256, bytes };
}
