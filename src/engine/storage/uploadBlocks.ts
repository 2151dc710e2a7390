/**
 * Bytes of one block of an upload, and blocks in flight at once. A blob has at most 50,000 blocks
 * (learn.microsoft.com/rest/api/storageservices/put-block), so a body may have at most 209 GB.
 */
export const uploadBlockBytes = 4 * 1024 * 1024;
export const uploadBlocksAtOnce = 3;
export const uploadBytesMax = 50_000 * uploadBlockBytes;

/** The body in blocks of exactly this size, the last one shorter; an empty body has none. */
export async function* blocksOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    let rest = piece;
    while (size + rest.length >= uploadBlockBytes) {
      const head = rest.subarray(0, uploadBlockBytes - size);
      yield joined([...parts, head]);
      parts = [];
      size = 0;
      rest = rest.subarray(head.length);
    }
    if (rest.length > 0) parts.push(rest);
    size += rest.length;
  }
  if (size > 0) yield joined(parts);
}

/** A piece that is already a block is not copied. */
const joined = (parts: readonly Uint8Array[]): Uint8Array =>
  parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
