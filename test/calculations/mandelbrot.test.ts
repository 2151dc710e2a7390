import { describe, expect, test } from "vitest";
import { runSerially } from "../../src/calculations/leasefold.ts";
import { memoryFor } from "../../src/calculations/mandelbrot/palettes.ts";
import { mandelbrot } from "../../src/calculations/mandelbrot.ts";
import type { CoveringPart } from "../../src/engine/calculation/foldParts.ts";
import { parseParams } from "../../src/engine/calculation/params.ts";
import { runFinish } from "../../src/engine/calculation/runJob.ts";
import { computePart, foldPart } from "../support/coveringParts.ts";
import { readPng, serialRender } from "./mandelbrotReference.ts";

const paramsOf = (raw: object) => mandelbrot.params.parse(raw);
const picture = async (raw: object) => readPng((await runSerially(mandelbrot, paramsOf(raw))).body);
const whole = { centerX: -0.75, centerY: 0, span: 3.5, iterations: 300 };
const seahorses = { centerX: -0.7453, centerY: 0.1127, span: 0.0065, iterations: 700 };

describe("the picture", () => {
  test.each([
    ["all of the set", { ...whole, width: 150, height: 100, samples: 1 }],
    ["the default view", { width: 67, height: 40, iterations: 3_000 }],
    ["spirals, nine points a pixel", { ...seahorses, width: 65, height: 66, samples: 3 }],
    ["a place without the set", { centerX: 3, span: 1, width: 64, height: 3 }],
    ["nothing but the set", { centerX: -0.1, centerY: 0, span: 0.1, width: 5, height: 64 }],
    ["a pixel", { ...whole, width: 1, height: 1 }],
    ["few steps", { ...whole, iterations: 3, width: 90, height: 60 }],
    ["points as near as they may be", { span: 1e-10, width: 70, height: 20, samples: 1, iterations: 2_000 }],
  ])("of %s has the bytes of a plain loop", async (_what, raw) => {
    const params = paramsOf(raw);
    const { width, height, pixels } = await picture(raw);
    expect([width, height]).toEqual([params.width, params.height]);
    expect(Buffer.compare(pixels, serialRender(params))).toBe(0);
  });

  test("the picture shows a set of the known area", async () => {
    // 1.5065918849 ± 2.8·10⁻⁹ by counting points: Th. Förstemann (2012), on
    // mrob.com/pub/muency/pixelcounting.html.
    const [edge, span] = [600, 2.6];
    const raw = {
      width: edge,
      height: edge,
      centerX: -0.75,
      centerY: 0,
      span,
      samples: 1,
      iterations: 1_500,
    };
    const { pixels } = await picture(raw);
    const area = (pixels.filter((one) => one === 255).length * span * span) / edge ** 2;
    expect(Math.abs(area - 1.5065918849)).toBeLessThan(0.004);
  });

  test("the picture has one byte per pixel, a palette, and its parameters as text", async () => {
    const { format, palette, opacity, text } = await picture({
      ...whole,
      width: 9,
      height: 7,
      palette: "ember",
    });
    expect(format).toEqual([8, 3, 0, 0, 0]);
    expect(palette).toHaveLength(256);
    expect(palette.at(-1)).toEqual([0, 0, 0]);
    expect(opacity).toEqual([0]);
    expect(text).toContain('"palette":"ember"');
  });

  test("the memory for packing a picture is what the PNG library chooses by itself", () => {
    for (let height = 1; height <= 4_096; height += 1) {
      const bytes = 101 * height;
      // The formula of fflate, which adds 12.
      const own = Math.ceil(Math.max(8, Math.min(13, Math.log(bytes))) * 1.5) - 12;
      expect(memoryFor({ width: 100, height })).toBe(own);
    }
  });

  test("the picture is saved as a PNG file", async () => {
    const { contentType, extension } = await runSerially(mandelbrot, paramsOf({ width: 1, height: 1 }));
    expect({ contentType, extension }).toEqual({ contentType: "image/png", extension: "png" });
  });
});

describe("packs", () => {
  const params = paramsOf({ ...seahorses, width: 300, height: 200, samples: 1 });
  const count = 20;
  const job = { params, count };
  const pack = (from: number, to: number) => computePart(mandelbrot, { ...job, from, to });

  test.each([1, 2, 3, 4, 5, 6])(
    "cut anywhere and folded in any tree give the same bytes, seed %i",
    async (seed) => {
      const random = randomOf(seed);
      const serial = await runSerially(mandelbrot, params);
      expect(serial.chunks).toBe(count);
      let parts: CoveringPart[] = [];
      for (let from = 0; from < count; ) {
        const to = Math.min(count, from + 1 + Math.floor(random() * 6));
        parts.push(await pack(from, to));
        from = to;
      }
      while (parts.length > 3) {
        const from = Math.floor(random() * parts.length);
        const folded = await foldPart(mandelbrot, params, parts.slice(from, from + 3) as [CoveringPart]);
        parts = [...parts.slice(0, from), folded, ...parts.slice(from + 3)];
      }
      const { body } = await runFinish(mandelbrot, { params, parts, folded: count, count });
      expect(Buffer.compare(body, serial.body)).toBe(0);
    },
  );

  test("tiles of missing packs are transparent and the others unchanged", async () => {
    const parts = [await pack(2, 5), await pack(9, 10), await pack(15, 20)] as const;
    const finish = (of: CoveringPart[]) => runFinish(mandelbrot, { params, parts: of, folded: 9, count });
    const { pixels } = readPng((await finish([...parts])).body);
    const full = serialRender(params);
    const there = pixels.filter((one) => one !== 0).length;
    // Eight tiles of 64 × 64 at least, and some of them lie at the edges.
    expect(there).toBeGreaterThan(9 * 64 * 8);
    expect(there).toBeLessThan(full.length / 2);
    expect(pixels.every((one, at) => one === 0 || one === full[at])).toBe(true);
    const apart = await foldPart(mandelbrot, params, [parts[0], parts[1]]);
    const [some, all] = [await finish([apart, parts[2]]), await finish([...parts])];
    expect(Buffer.compare(some.body, all.body)).toBe(0);
  });

  test("a picture without packs is transparent", async () => {
    const { body } = await runFinish(mandelbrot, { params, parts: [], folded: 0, count });
    expect(readPng(body).pixels.every((one) => one === 0)).toBe(true);
  });
});

describe("parameters", () => {
  test.each([
    [{ width: 0, height: 5 }, "width: an image is 1 to 4096 pixels wide"],
    [{ height: 4_097 }, "height: an image is 1 to 4096 pixels high"],
    [{ width: 1.5 }, "width: must be a whole number"],
    [{ span: 0 }, /^span: .*1e-10/],
    [{ iterations: 0 }, /^iterations: /],
    [{ samples: 5 }, /^samples: /],
    [{ centerX: "left" }, /^centerX: /],
    [{ palette: "pink" }, /^palette: must be one of dusk, /],
  ])("%j are refused", (raw, message) => {
    expect(() => parseParams(mandelbrot, raw)).toThrow(message);
  });

  test("the largest image has 4,096 chunks", () => {
    expect(mandelbrot.plan(paramsOf({ width: 4_096, height: 4_096 }), {} as never)).toBe(4_096);
  });
});

/** Lehmer's generator with the multiplier of Park and Miller: [0, 1). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
