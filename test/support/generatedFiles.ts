import type { Files } from "../../src/calculations/files.ts";

/**
 * One file of any size that is never held: `bytesAt` writes its bytes from an offset on into a piece. `given` counts the
 * bytes handed out.
 */
export function generatedFiles(
  path: string,
  bytes: number,
  bytesAt: (from: number, piece: Uint8Array) => void,
  pieceBytes: number,
): { files: Files; given: () => number } {
  let given = 0;
  const files: Files = {
    async *list() {
      yield { path, bytes, etag: "generated" };
    },
    async *read(_file, { from = 0, to = bytes } = {}) {
      for (let at = from; at < Math.min(to, bytes); at += pieceBytes) {
        const piece = new Uint8Array(Math.min(pieceBytes, Math.min(to, bytes) - at));
        bytesAt(at, piece);
        given += piece.length;
        yield piece;
      }
    },
  };
  return { files, given: () => given };
}

/** The bytes of `head` followed by `line` over and over. */
export function repeated(head: string, line: string): (from: number, piece: Uint8Array) => void {
  const first = Buffer.from(head);
  const many = Buffer.from(line.repeat(Math.ceil(65_536 / line.length)));
  return (from, piece) => {
    let at = 0;
    while (at < piece.length) {
      const place = from + at;
      const source =
        place < first.length ? first.subarray(place) : many.subarray((place - first.length) % many.length);
      const count = Math.min(source.length, piece.length - at);
      piece.set(source.subarray(0, count), at);
      at += count;
    }
  };
}
