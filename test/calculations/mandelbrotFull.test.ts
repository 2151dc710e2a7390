import { describe, expect, test } from "vitest";
import { runSerially } from "../../src/calculations/leasefold.ts";
import { mandelbrot } from "../../src/calculations/mandelbrot.ts";
import { readPng, serialRender } from "./mandelbrotReference.ts";

const picture = async (raw: object) => {
  const params = mandelbrot.params.parse(raw);
  return { params, ...readPng((await runSerially(mandelbrot, params)).body) };
};

/** The same truths as in `mandelbrot.test.ts` at full size: about a minute of one core. */
describe.skipIf(process.env["LEASEFOLD_FULL"] !== "1")("at full size", { timeout: 600_000 }, () => {
  test("the default picture has the bytes of a plain loop", async () => {
    const { params, pixels } = await picture({});
    expect(Buffer.compare(pixels, serialRender(params))).toBe(0);
  });

  test("the largest picture shows a set of the measured area", async () => {
    // 1.5065918849 ± 2.8·10⁻⁹ by counting points: Th. Förstemann (2012), on
    // mrob.com/pub/muency/pixelcounting.html.
    const [edge, span] = [4_096, 2.6];
    const view = { centerX: -0.75, centerY: 0, span, samples: 1, iterations: 10_000 };
    const { pixels } = await picture({ ...view, width: edge, height: edge });
    let inside = 0;
    for (const one of pixels) if (one === 255) inside += 1;
    expect(Math.abs((inside * span * span) / edge ** 2 - 1.5065918849)).toBeLessThan(0.0005);
  });
});
