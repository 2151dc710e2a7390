/** Pixels of one edge: a tile takes some milliseconds, and the largest image has 4,096 of them. */
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
 * The tile that a chunk computes. Neighbouring chunks are far apart in the image, so that a picture so far
 * shows something of all of it, and that packs cost about the same though the black parts take longest.
 */
export function tileOf(chunk: number, image: ImageSize): Tile {
  const tiles = tileCount(image);
  const place = (chunk * scatter(tiles)) % tiles;
  const columns = Math.ceil(image.width / tileEdge);
  const left = (place % columns) * tileEdge;
  const top = Math.floor(place / columns) * tileEdge;
  return {
    left,
    top,
    width: Math.min(tileEdge, image.width - left),
    height: Math.min(tileEdge, image.height - top),
  };
}

/**
 * The number nearest to the golden section of `tiles`, from below, that shares no factor with it: each tile
 * has its turn.
 */
function scatter(tiles: number): number {
  let stride = Math.max(1, Math.floor((tiles * 618) / 1000));
  while (commonDivisor(stride, tiles) > 1) stride -= 1;
  return stride;
}

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));
