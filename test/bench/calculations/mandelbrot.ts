import { escapeTime, inside, mandelbrot } from "../../../src/calculations/mandelbrot.ts";
import type { CalculationBench } from "./measure.ts";
import { serialRun } from "./serialRun.ts";

/** The default picture, and the loop in its middle alone. */
export const mandelbrotBench: CalculationBench = {
  name: "mandelbrot",
  unit: "pixels of the default view",
  async measure({ quick }) {
    const [width, height] = quick ? [320, 200] : [1_280, 800];
    const { seconds, result } = await serialRun(mandelbrot, { width, height });
    const perS = (width * height) / seconds;
    return { perS, seconds, bytes: result.body.length, stepsPerS: stepsPerSecond(quick ? 100 : 300) };
  },
  whole: (quick) => ({ params: quick ? { width: 320, height: 200 } : { width: 3_840, height: 2_160 } }),
};

/** Steps of z ← z² + c in a second, on a grid of points in a spiral, nearly all of which escape after some thousand. */
function stepsPerSecond(edge: number): number {
  let steps = 0;
  const apart = 1e-8 / edge;
  const startedMs = performance.now();
  for (let row = 0; row < edge; row += 1) {
    for (let column = 0; column < edge; column += 1) {
      const time = escapeTime(
        -0.74364388703 + (column - edge / 2) * apart,
        0.13182590421 + (row - edge / 2) * apart,
        50_000,
      );
      // How many steps a point took that does not escape is not told.
      if (time !== inside) steps += Math.floor(time);
    }
  }
  return (steps * 1000) / (performance.now() - startedMs);
}
