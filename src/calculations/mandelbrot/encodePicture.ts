import { encode } from "fast-png";
import { type PaletteName, paletteOf } from "./palettes.ts";
import type { TileSpans } from "./tileSpans.ts";
import { type ImageSize, tileOf } from "./tiles.ts";

/** A PNG file with one byte for each pixel and a palette; what no tile covers is transparent. */
export function encodePicture(
  { spans, pieces }: TileSpans,
  image: ImageSize & { readonly palette: PaletteName },
  text: Readonly<Record<string, string>>,
): Uint8Array {
  const { width, height } = image;
  // Zero is the place of what has not been computed.
  const data = new Uint8Array(width * height);
  const pixels = pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
  let at = 0;
  for (const { from, to } of spans) {
    for (let chunk = from; chunk < to; chunk += 1) {
      const tile = tileOf(chunk, image);
      for (let row = tile.top; row < tile.top + tile.height; row += 1) {
        data.set(pixels.subarray(at, at + tile.width), row * width + tile.left);
        at += tile.width;
      }
    }
  }
  return encode({ width, height, data, depth: 8, channels: 1, palette: paletteOf(image.palette), text });
}
