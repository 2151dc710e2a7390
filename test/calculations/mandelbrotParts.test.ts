import { describe, expect, test } from "vitest";
import { paletteNames, paletteOf } from "../../src/calculations/mandelbrot/palettes.ts";
import {
  joinSpans,
  noTiles,
  oneTile,
  type TileSpans,
  tileCount,
  tileOf,
  tileSpansCodec,
} from "../../src/calculations/mandelbrot/tiles.ts";
import { escapeTime, inside, log2 } from "../../src/calculations/mandelbrot.ts";
import { calculationLimits } from "../../src/engine/model/limits.ts";
import { plainEscapeTime } from "./mandelbrotReference.ts";

test("log2 is within 2·10⁻⁵ of the platform and exact for powers of two", () => {
  const short: number[] = [];
  for (let x = 1; x < 1e12; x *= 1.0007) short.push(Math.log2(x) - log2(x));
  expect(Math.min(...short)).toBeGreaterThan(-1e-12);
  expect(Math.max(...short)).toBeLessThan(2e-5);
  expect([1, 2, 65_536, 2 ** 33].map(log2)).toEqual([0, 1, 16, 33]);
});

describe("the escape time", () => {
  const same = (x: number, y: number, steps: number) =>
    expect(escapeTime(x, y, steps), `${x} ${y}`).toBe(plainEscapeTime(x, y, steps) ?? inside);

  test("escapeTime has the bits of the plain loop around the edges of the cardioid and the disk", () => {
    for (const off of [-1e-3, -1e-5, -1e-7, -1e-12, 0, 1e-12, 1e-7, 1e-5, 1e-3]) {
      for (let angle = 0.05; angle < 6.3; angle += 0.19) {
        // The cardioid is μ/2 − μ²/4 over the unit circle, the disk −1 + μ/4.
        const [re, im] = [(1 + off) * Math.cos(angle), (1 + off) * Math.sin(angle)];
        same(re / 2 - (re * re - im * im) / 4, im / 2 - (re * im) / 2, 1_501);
        same(-1 + re / 4, im / 4, 1_501);
      }
    }
  });

  test("escapeTime has the bits of the plain loop in the middle of cycles and for any number of steps", () => {
    // Centres of the components of period 3, 3 and 4, a point of period 5, and others that never settle.
    const points = [
      [-0.122561, 0.744862],
      [-1.754878, 0],
      [-1.3107, 0],
      [-0.50434, 0.562766],
      [-2, 0],
      [0, 1],
    ];
    for (const [x = 0, y = 0] of points) for (const steps of [1, 7, 8, 9, 500, 20_000]) same(x, y, steps);
    for (let steps = 0; steps < 40; steps += 1) same(0.3, 0.52, steps);
    for (const far of [1, 255, 256, 257, 40_000]) same(far, -far, 3);
  });

  test("escapeTime grows smoothly between two counts", () => {
    let before = escapeTime(0.6, 0.35, 100);
    for (let x = 0.6; x < 2; x += 0.001) {
      const time = escapeTime(x, 0.35, 100);
      expect(Math.abs(time - (plainEscapeTime(x, 0.35, 100, Math.log2) as number))).toBeLessThan(1e-4);
      expect(Math.abs(time - before)).toBeLessThan(0.05);
      before = time;
    }
  });
});

test.each([
  [1, 1],
  [64, 64],
  [65, 1],
  [1, 4_096],
  [1_280, 800],
  [700, 333],
])("the tiles of %i × %i pixels cover each of them once", (width, height) => {
  const seen = new Uint8Array(width * height);
  for (let chunk = 0; chunk < tileCount({ width, height }); chunk += 1) {
    const tile = tileOf(chunk, { width, height });
    for (let row = tile.top; row < tile.top + tile.height; row += 1) {
      for (let column = tile.left; column < tile.left + tile.width; column += 1) {
        seen[row * width + column] = (seen[row * width + column] as number) + 1;
      }
    }
  }
  expect(seen.every((times) => times === 1)).toBe(true);
});

test("the first tenth of the tiles covers each quarter of the image", () => {
  const image = { width: 1_280, height: 800 };
  const quarters = new Set<string>();
  for (let chunk = 0; chunk < tileCount(image) / 10; chunk += 1) {
    const { left, top } = tileOf(chunk, image);
    quarters.add(`${left < 640} ${top < 400}`);
  }
  expect(quarters.size).toBe(4);
});

describe("partials", () => {
  const bytesOf = (part: TileSpans) => Buffer.from(tileSpansCodec.encode(part)).toString("hex");
  const tile = (chunk: number) => oneTile(chunk, Uint8Array.of(chunk, chunk + 100));

  test("partials join associatively in their bytes, and an empty one is neutral", () => {
    const some = [
      noTiles,
      tile(1),
      tile(2),
      joinSpans(tile(3), tile(5)),
      tile(6),
      joinSpans(tile(7), tile(8)),
    ];
    for (const [at, a] of some.entries()) {
      expect(bytesOf(joinSpans(a, noTiles))).toBe(bytesOf(a));
      expect(bytesOf(joinSpans(noTiles, a))).toBe(bytesOf(a));
      for (const [between, b] of some.slice(at + 1).entries()) {
        for (const c of some.slice(at + 2 + between)) {
          expect(bytesOf(joinSpans(joinSpans(a, b), c))).toBe(bytesOf(joinSpans(a, joinSpans(b, c))));
        }
      }
    }
    expect(some.reduce(joinSpans).spans).toEqual([
      { from: 1, to: 4 },
      { from: 5, to: 9 },
    ]);
  });

  test("partials survive their codec at any offset in a buffer", () => {
    const part = joinSpans(joinSpans(tile(0), tile(1)), tile(9));
    const bytes = tileSpansCodec.encode(part);
    const shifted = Buffer.concat([Buffer.of(7), bytes]).subarray(1);
    expect(bytesOf(tileSpansCodec.decode(shifted))).toBe(bytesOf(part));
    expect(bytesOf(tileSpansCodec.decode(tileSpansCodec.encode(noTiles)))).toBe(bytesOf(noTiles));
    expect(() => tileSpansCodec.decode(bytes.subarray(0, 9))).toThrow(RangeError);
  });

  test("partials of the largest image stay below the limit, even with a gap after each tile", () => {
    const pixels = new Uint8Array(64 * 64);
    let all = noTiles;
    for (let chunk = 0; chunk < 4_096; chunk += 1) all = joinSpans(all, oneTile(2 * chunk, pixels));
    expect(all.spans).toHaveLength(4_096);
    expect(tileSpansCodec.encode(all).length).toBeLessThan(calculationLimits.partialBytesMax / 1.9);
  });
});

test.each(paletteNames)("neighboring colors of %s differ little, all around the circle", (name) => {
  const palette = paletteOf(name);
  expect(palette).toHaveLength(256);
  const gradient = palette.slice(1, 255);
  for (const [place, colour] of gradient.entries()) {
    const next = gradient[(place + 1) % gradient.length] as number[];
    const steps = colour.map((value, channel) => Math.abs(value - (next[channel] as number)));
    expect(Math.max(...steps)).toBeLessThanOrEqual(9);
    expect(colour.every((value) => Number.isInteger(value) && value >= 0 && value <= 255)).toBe(true);
  }
});
