import { crc32, deflateSync } from "node:zlib";
import { defineCalculation, portableMath, z } from "leasefold";

/** Rows of one chunk. */
const bandRows = 16;
const edge = z.coerce.number().int().min(1).max(4_096);

/** A view of the Mandelbrot set as a PNG picture. A partial is a list of bands of rows, with a byte for each pixel. */
// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCalculation({
  name: "mandelbrot",
  summary: "draws the Mandelbrot set as one PNG file",
  params: z.strictObject({
    width: edge.default(1_280).describe("pixels"),
    height: edge.default(800).describe("pixels"),
    centerX: z.coerce.number().min(-4).max(4).default(-0.7436437).describe("real part of the middle"),
    centerY: z.coerce.number().min(-4).max(4).default(0.1318261).describe("imaginary part of the middle"),
    span: z.coerce.number().min(1e-10).max(16).default(0.000016).describe("width of the view in the plane"),
    iterations: z.coerce.number().int().min(1).max(100_000).default(5_000),
  }),
  plan: ({ height }) => Math.ceil(height / bandRows),
  compute({ index, params: { width, height, centerX, centerY, span, iterations } }): Band[] {
    const [first, last] = [index * bandRows, Math.min((index + 1) * bandRows, height)];
    const pixels = new Uint8Array((last - first) * width);
    const pixel = span / width;
    for (let at = 0; at < pixels.length; at += 1) {
      const x = centerX + ((at % width) + 0.5 - width / 2) * pixel;
      const y = centerY - (first + Math.floor(at / width) + 0.5 - height / 2) * pixel;
      pixels[at] = colorOf(x, y, iterations);
    }
    return [[first, Buffer.from(pixels).toString("base64")]];
  },
  merge: (a, b) => [...a, ...b],
  zero: (): Band[] => [],
  finish(bands, { params: { width, height } }) {
    // Rows of a PNG begin with a filter: 0 is none. Bands that are missing keep color 0, which is transparent.
    const rows = Buffer.alloc(height * (width + 1));
    for (const [first, text] of bands) {
      const pixels = Buffer.from(text, "base64");
      for (let row = 0; row * width < pixels.length; row += 1)
        pixels.copy(rows, (first + row) * (width + 1) + 1, row * width, (row + 1) * width);
    }
    return { body: png(width, height, rows), contentType: "image/png", extension: "png" };
  },
});

/** The first row and, as Base64, the index of each pixel's color in the palette. */
type Band = [number, string];

const [gradientFirst, gradientColors, black] = [1, 254, 255];

/** The color of a point: black if it does not escape, else by the logarithm of a smooth number of steps. */
function colorOf(cx: number, cy: number, iterations: number): number {
  let [x, y] = [0, 0];
  for (let step = 1; step <= iterations; step += 1) {
    [x, y] = [x * x - y * y + cx, 2 * x * y + cy];
    const squared = x * x + y * y;
    if (squared <= 65_536) continue;
    // JavaScript leaves the last bit of its own logarithm to the engine, and a picture must not depend on that.
    const time = step + 1 - portableMath.log2(portableMath.log2(squared) / 16);
    const turns = portableMath.log2(time + 1) / 2;
    return gradientFirst + Math.floor((turns - Math.floor(turns)) * gradientColors);
  }
  return black;
}

/** Red, green and blue at even distances around a circle of colors. */
const circle = ["060a30", "124294", "52a8de", "f0f8fa", "ffce60", "d65c28", "58163e"].map((color) => [
  ...Buffer.from(color, "hex"),
]);

function gradient(index: number): number[] {
  const at = (index / gradientColors) * circle.length;
  const [from = [], to = []] = [circle[Math.floor(at)], circle[(Math.floor(at) + 1) % circle.length]];
  return from.map((value, channel) => Math.round(value + ((to[channel] ?? 0) - value) * (at % 1)));
}

/** PNG with a palette (w3.org/TR/png). Stored, not compressed: how well zlib compresses depends on its version. */
function png(width: number, height: number, rows: Uint8Array): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits a pixel, of a palette.
  header.set([8, 3], 8);
  const colors = Array.from({ length: gradientColors }, (_, index) => gradient(index));
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    section("IHDR", header),
    section("PLTE", Buffer.from([[0, 0, 0], ...colors, [0, 0, 0]].flat())),
    section("tRNS", Buffer.from([0])),
    section("IDAT", deflateSync(rows, { level: 0 })),
    section("IEND", Buffer.alloc(0)),
  ]);
}

function section(name: string, data: Uint8Array): Uint8Array {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
