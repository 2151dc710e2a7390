import type { Codec } from "../contract.ts";

/** Chunks `[from, to)`. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * The tiles there are. Spans ascend, and no two of them touch, so tiles computed together or apart are
 * written in the same bytes.
 */
export interface TileSpans {
  readonly spans: readonly Span[];
  /** One byte for each pixel, tile after tile in the order of their chunks; cut into pieces anywhere. */
  readonly pieces: readonly Uint8Array[];
}

export const noTiles: TileSpans = { spans: [], pieces: [] };

export const oneTile = (chunk: number, pixels: Uint8Array): TileSpans => ({
  spans: [{ from: chunk, to: chunk + 1 }],
  pieces: [pixels],
});

/** All tiles of `a`, then those of `b`. No pixel is copied. */
export function joinSpans(a: TileSpans, b: TileSpans): TileSpans {
  const pieces = a.pieces.concat(b.pieces);
  const last = a.spans.at(-1);
  const [first, ...rest] = b.spans;
  if (last === undefined || first === undefined || last.to !== first.from)
    return { spans: a.spans.concat(b.spans), pieces };
  return { spans: [...a.spans.slice(0, -1), { from: last.from, to: first.to }, ...rest], pieces };
}

/** The number of spans, `from` and `to` of each, all as 32 bits little-endian, then the pixels. */
export const tileSpansCodec: Codec<TileSpans> = {
  contentType: "application/octet-stream",
  encode({ spans, pieces }) {
    const head = Buffer.alloc(4 + 8 * spans.length);
    head.writeUInt32LE(spans.length);
    for (const [place, { from, to }] of spans.entries()) {
      head.writeUInt32LE(from, 4 + 8 * place);
      head.writeUInt32LE(to, 8 + 8 * place);
    }
    return Buffer.concat([head, ...pieces]);
  },
  decode(bytes) {
    const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const spans = Array.from({ length: head.readUInt32LE() }, (_, place) => ({
      from: head.readUInt32LE(4 + 8 * place),
      to: head.readUInt32LE(8 + 8 * place),
    }));
    return { spans, pieces: [bytes.subarray(4 + 8 * spans.length)] };
  },
};
