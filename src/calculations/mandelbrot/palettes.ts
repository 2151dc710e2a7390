import { encode } from "fast-png";
import { type ImageSize, type TileSpans, tileOf } from "./tiles.ts";

/** Red, green, blue, each 0 to 255. */
type Colour = readonly [number, number, number];

/** Places in every palette: 0 is what has not been computed, then come 254 of the gradient and the set itself. */
export const gradientFirst = 1;
export const gradientColours = 254;
export const black = 255;

/** Colours of each palette at even distances around a circle, so that the last goes over into the first. */
const circles = {
  dusk: [
    [6, 10, 48],
    [18, 66, 148],
    [82, 168, 222],
    [240, 248, 250],
    [255, 206, 96],
    [214, 92, 40],
    [88, 22, 62],
  ],
  ember: [
    [12, 4, 10],
    [96, 12, 20],
    [208, 62, 14],
    [255, 178, 40],
    [255, 246, 206],
    [170, 92, 60],
  ],
  glacier: [
    [4, 18, 30],
    [10, 78, 102],
    [60, 168, 176],
    [196, 238, 232],
    [255, 255, 255],
    [122, 150, 196],
    [36, 52, 108],
  ],
  slate: [
    [16, 18, 22],
    [92, 98, 108],
    [240, 240, 236],
    [128, 132, 140],
  ],
} as const satisfies Readonly<Record<string, readonly Colour[]>>;

export type PaletteName = keyof typeof circles;
export const paletteNames = Object.keys(circles) as [PaletteName, ...PaletteName[]];

/** 256 colours as red, green, blue, opacity. What is missing is transparent. */
export function paletteOf(name: PaletteName): number[][] {
  const gradient = Array.from({ length: gradientColours }, (_, place) => [
    ...colourAt(circles[name], place / gradientColours),
    255,
  ]);
  return [[0, 0, 0, 0], ...gradient, [0, 0, 0, 255]];
}

/**
 * `at` in [0, 1) around the circle. Between two colours it leaves and arrives level, so that no ring shows
 * where they are.
 */
function colourAt(circle: readonly Colour[], at: number): number[] {
  const place = at * circle.length;
  const from = circle[Math.floor(place)] as Colour;
  const to = circle[(Math.floor(place) + 1) % circle.length] as Colour;
  const t = place - Math.floor(place);
  const share = t * t * (3 - 2 * t);
  return from.map((value, channel) => Math.round(value + ((to[channel] as number) - value) * share));
}

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
