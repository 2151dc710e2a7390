import type { Codec } from "../../engine/calculation/contract.ts";
import type { Range } from "../../engine/model/packs.ts";

/** Pixels of one edge: a tile takes some milliseconds, and the largest image has 4,096 tiles. */
const tileEdge = 64;

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Pixels `[left, left + width)` × `[top, top + height)` of the image, counted from its upper left corner. */
export interface Tile extends ImageSize {
  readonly left: number;
  readonly top: number;
}

export const tileCount = ({ width, height }: ImageSize): number =>
  Math.ceil(width / tileEdge) * Math.ceil(height / tileEdge);

/**
 * The tile that a chunk computes. Neighboring chunks are far apart in the image, so that an unfinished picture shows
 * something everywhere and packs cost about the same, although black parts take longest.
 */
export function tileOf(chunk: number, image: ImageSize): Tile {
  const tiles = tileCount(image);
  const index = (chunk * scatter(tiles)) % tiles;
  const columns = Math.ceil(image.width / tileEdge);
  const left = (index % columns) * tileEdge;
  const top = Math.floor(index / columns) * tileEdge;
  return {
    left,
    top,
    width: Math.min(tileEdge, image.width - left),
    height: Math.min(tileEdge, image.height - top),
  };
}

/** The largest number up to the golden section of `tiles` that shares no factor with it, so that each tile has a chunk. */
function scatter(tiles: number): number {
  let stride = Math.max(1, Math.floor((tiles * 618) / 1000));
  while (commonDivisor(stride, tiles) > 1) stride -= 1;
  return stride;
}

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));

/** Computed tiles, by their chunks. Spans ascend and never touch, so tiles computed together or apart are written as the same bytes. */
export interface TileSpans {
  readonly spans: readonly Range[];
  /** One byte for each pixel, tile after tile in the order of their chunks, in pieces of any size. */
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
    for (const [index, { from, to }] of spans.entries()) {
      head.writeUInt32LE(from, 4 + 8 * index);
      head.writeUInt32LE(to, 8 + 8 * index);
    }
    return Buffer.concat([head, ...pieces]);
  },
  decode(bytes) {
    const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const spans = Array.from({ length: head.readUInt32LE() }, (_, index) => ({
      from: head.readUInt32LE(4 + 8 * index),
      to: head.readUInt32LE(8 + 8 * index),
    }));
    return { spans, pieces: [bytes.subarray(4 + 8 * spans.length)] };
  },
};
