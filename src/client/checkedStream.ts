import { createHash } from "node:crypto";
import { CorruptDataError } from "../model/errors.ts";
import type { Manifest } from "../model/run.ts";

/**
 * Passes the bytes on and compares them with the manifest; throws `CorruptDataError` after the last one where
 * they differ. Whoever reads must keep what it got apart until the stream has ended well.
 */
export async function* checkedStream(
  body: AsyncIterable<Uint8Array>,
  manifest: Pick<Manifest, "run" | "bytes" | "sha256">,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const piece of body) {
    hash.update(piece);
    bytes += piece.byteLength;
    yield piece;
  }
  const sha256 = hash.digest("hex");
  if (sha256 === manifest.sha256 && bytes === manifest.bytes) return;
  throw new CorruptDataError(
    "result-hash",
    `the result of ${manifest.run} is not what its manifest says: ${bytes} bytes with SHA-256 ${sha256}, ` +
      `expected ${manifest.bytes} with ${manifest.sha256}`,
  );
}
