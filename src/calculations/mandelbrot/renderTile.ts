import { black, gradientColours, gradientFirst } from "./palettes.ts";
import type { ImageSize, Tile } from "./tiles.ts";

/**
 * Binary logarithm of `x` ≥ 1, too small by at most 2·10⁻⁵. Made of + − × ÷ alone, which IEEE 754 rounds in
 * one way only: `Math.log2` may differ between engines, and a picture must not. It halves `x` to below 2 and
 * sums the first four terms of ln m = 2 artanh((m − 1) / (m + 1)).
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

/** What `escapeTime` says of a point that has not escaped. */
export const inside = -1;

/** Squared distance at which a point has escaped: far out the picture's bands join without a kink. */
const farSquared = 65536;
const farBits = 16;
/** Steps without a look at the distance; one look costs about as much as a step. */
const block = 8;

/**
 * How soon z ← z² + c, from z = 0, leaves the circle of radius 256, as a number that grows smoothly from one
 * step to the next; `inside` where it has not left after so many `steps`. The answer has the bits of the
 * plain loop, which looks after each step: all that is saved here is time.
 *
 * Source of the smooth count: Linas Vepstas, "Renormalizing the Mandelbrot Escape"
 * (linas.org/art-gallery/escape).
 */
export function escapeTime(cx: number, cy: number, steps: number): number {
  if (neverEscapes(cx, cy)) return inside;
  let x = 0;
  let y = 0;
  let step = 0;
  // An orbit that comes back to the very bits it had stays for ever, so one earlier point is kept, and
  // renewed at each power of two: Brent's way to find a cycle.
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
    // Out there is NaN as well.
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
 * Whether the point lies in the main cardioid or in the disk to its left, where no orbit ever escapes. Points
 * within a millionth of their edge are left to the loop: nearer than rounding errors could reach, nothing is
 * presumed.
 */
function neverEscapes(cx: number, cy: number): boolean {
  const yy = cy * cy;
  const fromCusp = cx - 0.25;
  const q = fromCusp * fromCusp + yy;
  if (q * (q + fromCusp) < 0.25 * yy - 1e-6) return true;
  return (cx + 1) * (cx + 1) + yy < 0.0625 - 1e-6;
}

/** What part of the plane an image shows, and how finely it looks. */
export interface View extends ImageSize {
  readonly centerX: number;
  readonly centerY: number;
  /** Width of the view; pixels are square. */
  readonly span: number;
  readonly iterations: number;
  /** Points looked at in each pixel, along each edge. */
  readonly samples: number;
}

/** Turns of the palette while the escape time doubles. */
const turnsPerDoubling = 0.5;

/**
 * One byte for each pixel, row by row: the place of its colour in the palette. That place is the mean, over
 * the points of the pixel that escape, of the logarithm of the escape time: so colours change evenly from the
 * wide bands outside to the crowded ones at the edge, where their mean keeps single points from flickering. A
 * pixel is black where half of its points or more do not escape.
 */
export function renderTile({ left, top, width, height }: Tile, view: View): Uint8Array {
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
    pixels[at] = 2 * escaped > points ? colourOf(sum / escaped) : black;
  }
  return pixels;
}

function colourOf(doublings: number): number {
  const turns = doublings * turnsPerDoubling;
  return gradientFirst + Math.floor((turns - Math.floor(turns)) * gradientColours);
}
