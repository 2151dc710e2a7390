import { log2 } from "./log2.ts";

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
