import * as z from "zod";
import { defineCalculation } from "../engine/calculation/contract.ts";
import { black, encodePicture, gradientColors, gradientFirst, paletteNames } from "./mandelbrot/palettes.ts";
import {
  joinSpans,
  noTiles,
  oneTile,
  type Tile,
  type TileSpans,
  tileCount,
  tileOf,
  tileSpansCodec,
} from "./mandelbrot/tiles.ts";

/** With one byte for each pixel, the largest picture is a partial of 16.8 MB; the limit is 32 MB. */
const edgeMax = 4_096;
function edge(which: string) {
  const rule = `an image is 1 to ${edgeMax} pixels ${which}`;
  return z.coerce.number().int().min(1, rule).max(edgeMax, rule).describe(`pixels, 1 to ${edgeMax}`);
}
/** Below this, neighboring points of a large image would be too few units in the last place apart. */
const spanMin = 1e-10;

const params = z.strictObject({
  width: edge("wide").default(1_280),
  height: edge("high").default(800),
  centerX: z.coerce.number().min(-4).max(4).default(-0.7436437).describe("real part of the middle"),
  centerY: z.coerce.number().min(-4).max(4).default(0.1318261).describe("imaginary part of the middle"),
  span: z.coerce.number().min(spanMin).max(16).default(0.000016).describe("width of the view in the plane"),
  iterations: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(5_000)
    .describe("steps until a point counts as inside"),
  samples: z.coerce.number().int().min(1).max(4).default(2).describe("points in a pixel along each edge"),
  palette: z.enum(paletteNames).default("dusk").describe("colors"),
});
type Params = z.infer<typeof params>;

/** Draws a view of the Mandelbrot set. A partial is some of its tiles with a byte for each pixel. */
export const mandelbrot = defineCalculation<Params, undefined, TileSpans>({
  name: "mandelbrot",
  version: "1",
  summary: "Draws the Mandelbrot set tile by tile as one PNG file.",
  params,
  plan: tileCount,
  compute: ({ index, params }) => oneTile(index, renderTile(tileOf(index, params), params)),
  merge: joinSpans,
  zero: () => noTiles,
  codec: tileSpansCodec,
  finish(tiles, { params }) {
    const text = { Software: "Leasefold", Description: `Mandelbrot set ${JSON.stringify(params)}` };
    return { body: encodePicture(tiles, params, text), contentType: "image/png", extension: "png" };
  },
});

/**
 * Binary logarithm of `x` ≥ 1, too small by at most 2·10⁻⁵. It uses only + − × ÷, which IEEE 754 rounds in one way:
 * `Math.log2` may differ between engines, and a picture must not. It halves `x` to below 2 and sums the first four terms
 * of ln m = 2 artanh((m − 1) / (m + 1)).
 */
export function log2(x: number): number {
  let exponent = 0;
  let m = x;
  for (; m >= 65536; exponent += 16) m /= 65536;
  for (; m >= 2; exponent += 1) m /= 2;
  const a = (m - 1) / (m + 1);
  const square = a * a;
  return exponent + (2 / Math.LN2) * a * (1 + square * (1 / 3 + square * (1 / 5 + square / 7)));
}

/** The `escapeTime` of a point that has not escaped. */
export const inside = -1;

/** Squared distance at which a point has escaped: that far out, the picture's bands join smoothly. */
const farSquared = 65536;
const farBits = 16;
/** Steps between two checks of the distance; a check costs about as much as a step. */
const block = 8;

/**
 * The number of steps after which z ← z² + c, from z = 0, leaves the circle of radius 256, made smooth between whole
 * steps; `inside` if it has not left after `steps`. The answer is bit for bit that of the plain loop, which checks after
 * each step.
 *
 * Source of the smooth count: Linas Vepstas, "Renormalizing the Mandelbrot Escape" (linas.org/art-gallery/escape).
 */
export function escapeTime(cx: number, cy: number, steps: number): number {
  if (neverEscapes(cx, cy)) return inside;
  let x = 0;
  let y = 0;
  let step = 0;
  // An orbit that returns to exactly the same point never leaves. Brent's cycle detection keeps one earlier point and
  // renews it at each power of two.
  let keptX = 0;
  let keptY = 0;
  let keepAt = block;
  while (step + block <= steps) {
    const fromX = x;
    const fromY = y;
    for (let i = 0; i < block; i += 1) {
      const xx = x * x;
      const yy = y * y;
      y = 2 * x * y + cy;
      x = xx - yy + cx;
    }
    // The negation also catches NaN.
    if (!(x * x + y * y <= farSquared)) {
      x = fromX;
      y = fromY;
      break;
    }
    step += block;
    if (x === keptX && y === keptY) return inside;
    if (step === keepAt) {
      keptX = x;
      keptY = y;
      keepAt *= 2;
    }
  }
  while (step < steps) {
    const xx = x * x;
    const yy = y * y;
    y = 2 * x * y + cy;
    x = xx - yy + cx;
    step += 1;
    const squared = x * x + y * y;
    if (squared > farSquared) return step + 1 - log2(log2(squared) / farBits);
  }
  return inside;
}

/**
 * Whether the point lies in the main cardioid or in the disk to its left, where no orbit ever escapes. Points within a
 * millionth of the edge are left to the loop, because rounding errors could matter there.
 */
function neverEscapes(cx: number, cy: number): boolean {
  const yy = cy * cy;
  const fromCusp = cx - 0.25;
  const q = fromCusp * fromCusp + yy;
  if (q * (q + fromCusp) < 0.25 * yy - 1e-6) return true;
  return (cx + 1) * (cx + 1) + yy < 0.0625 - 1e-6;
}

/** Turns of the palette while the escape time doubles. */
const turnsPerDoubling = 0.5;

/**
 * One byte for each pixel, row by row: the index of its color in the palette. It follows the logarithm of the escape time,
 * so that colors change evenly from the wide bands outside to the narrow ones at the edge. The mean over the points of a
 * pixel that escape avoids flicker. A pixel is black if at least half of its points do not escape.
 */
function renderTile({ left, top, width, height }: Tile, view: Params): Uint8Array {
  const { samples, iterations } = view;
  const pixel = view.span / view.width;
  const points = samples * samples;
  const pixels = new Uint8Array(width * height);
  for (let at = 0; at < pixels.length; at += 1) {
    const column = left + (at % width);
    const row = top + Math.floor(at / width);
    let escaped = 0;
    let sum = 0;
    for (let point = 0; point < points; point += 1) {
      const x = column + ((point % samples) + 0.5) / samples;
      const y = row + (Math.floor(point / samples) + 0.5) / samples;
      const cx = view.centerX + (x - view.width / 2) * pixel;
      const cy = view.centerY - (y - view.height / 2) * pixel;
      const time = escapeTime(cx, cy, iterations);
      if (time === inside) continue;
      escaped += 1;
      sum += log2(time + 1);
    }
    pixels[at] = 2 * escaped > points ? colorIndex(sum / escaped) : black;
  }
  return pixels;
}

function colorIndex(doublings: number): number {
  const turns = doublings * turnsPerDoubling;
  return gradientFirst + Math.floor((turns - Math.floor(turns)) * gradientColors);
}
