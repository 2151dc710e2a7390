import { encode } from "fast-png";
import { portableMath } from "../exact/portableMath.ts";
import { type ImageSize, type TileSpans, tileOf } from "./tiles.ts";

/** Indexes in every palette: 0 is a pixel that was not computed, then come 254 colors of the gradient and the set. */
export const gradientFirst = 1;
export const gradientColors = 254;
export const black = 255;

/** Colors of each palette as hex, at even distances around a circle, so that the last turns into the first. */
const circles = {
  dusk: "060a30 124294 52a8de f0f8fa ffce60 d65c28 58163e",
  ember: "0c040a 600c14 d03e0e ffb228 fff6ce aa5c3c",
  glacier: "04121e 0a4e66 3ca8b0 c4eee8 ffffff 7a96c4 24346c",
  slate: "101216 5c626c f0f0ec 80848c",
} as const;

export type PaletteName = keyof typeof circles;
export const paletteNames = Object.keys(circles) as [PaletteName, ...PaletteName[]];

/** 256 colors as red, green, blue, opacity. Missing pixels are transparent. */
export function paletteOf(name: PaletteName): number[][] {
  const circle = circles[name].split(" ").map((color) => [...Buffer.from(color, "hex")]);
  const gradient = Array.from({ length: gradientColors }, (_, index) => [
    ...colorAt(circle, (index / gradientColors) * circle.length),
    255,
  ]);
  return [[0, 0, 0, 0], ...gradient, [0, 0, 0, 255]];
}

/** The color at `at` in [0, length) of the circle. It changes smoothly at the given colors, so that no ring shows. */
function colorAt(circle: readonly number[][], at: number): number[] {
  const index = Math.floor(at);
  const from = circle[index] as number[];
  const to = circle[(index + 1) % circle.length] as number[];
  const t = at - index;
  const share = t * t * (3 - 2 * t);
  return from.map((value, channel) => Math.round(value + ((to[channel] as number) - value) * share));
}

/** A PNG file with one byte for each pixel and a palette; pixels that no tile covers are transparent. */
export function encodePicture(
  { spans, pieces }: TileSpans,
  image: ImageSize & { readonly palette: PaletteName },
  text: Readonly<Record<string, string>>,
): Uint8Array {
  const { width, height } = image;
  // Zero is the index of pixels that were not computed.
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
  const palette = paletteOf(image.palette);
  return encode(
    { width, height, data, depth: 8, channels: 1, palette, text },
    { zlib: { mem: memoryFor(image) } },
  );
}

type Memory = NonNullable<NonNullable<NonNullable<Parameters<typeof encode>[1]>["zlib"]>["mem"]>;

/**
 * What fflate would choose by itself for that many bytes, but by a logarithm that no engine rounds in its own way: the choice
 * is part of the picture's bytes.
 */
export function memoryFor({ width, height }: ImageSize): Memory {
  const size = Math.max(8, Math.min(13, portableMath.log((width + 1) * height)));
  return (Math.ceil(size * 1.5) - 12) as Memory;
}
