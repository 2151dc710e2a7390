import { crc32, inflateSync } from "node:zlib";

/** A second, plain way to the same picture: no code of the calculation, no tiles, no short cuts. */

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly centerX: number;
  readonly centerY: number;
  readonly span: number;
  readonly iterations: number;
  readonly samples: number;
}

/** Places in the palette, row by row. */
export function serialRender(picture: Picture): Uint8Array {
  const { width, height, samples, span } = picture;
  const bytes: number[] = [];
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const logs: number[] = [];
      for (let down = 0; down < samples; down += 1) {
        for (let right = 0; right < samples; right += 1) {
          const x = picture.centerX + (column + (right + 0.5) / samples - width / 2) * (span / width);
          const y = picture.centerY - (row + (down + 0.5) / samples - height / 2) * (span / width);
          const time = plainEscapeTime(x, y, picture.iterations);
          if (time !== undefined) logs.push(seriesLog2(time + 1));
        }
      }
      if (logs.length <= (samples * samples) / 2) {
        bytes.push(255);
      } else {
        const halfTurns = logs.reduce((a, b) => a + b) / logs.length / 2;
        bytes.push(1 + Math.floor((halfTurns % 1) * 254));
      }
    }
  }
  return Uint8Array.from(bytes);
}

/**
 * The steps to beyond 256, counted one by one, less the share of the last that was not needed; undefined
 * inside.
 */
export function plainEscapeTime(
  cx: number,
  cy: number,
  steps: number,
  log2: (x: number) => number = seriesLog2,
): number | undefined {
  let [x, y] = [0, 0];
  for (let step = 1; step <= steps; step += 1) {
    [x, y] = [x * x - y * y + cx, 2 * x * y + cy];
    const squared = x * x + y * y;
    if (squared > 256 ** 2) return step + 1 - log2(log2(squared) / 16);
  }
  return undefined;
}

/** Four terms of the series, from the bits of the number instead of halving it. */
function seriesLog2(x: number): number {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, x);
  const exponent = ((bits.getUint16(0) >> 4) & 0x7ff) - 1023;
  bits.setUint16(0, (bits.getUint16(0) & 0xf) | (1023 << 4));
  const m = bits.getFloat64(0);
  const a = (m - 1) / (m + 1);
  const b = a * a;
  return exponent + 2.8853900817779268 * a * (1 + b * (1 / 3 + b * (1 / 5 + b / 7)));
}

/** What is in a PNG file with a palette, by the letters of its specification (w3.org/TR/png-3). */
export function readPng(file: Uint8Array) {
  const png = Buffer.from(file);
  if (png.toString("latin1", 0, 8) !== "\x89PNG\r\n\x1a\n") throw new Error("this is no PNG file");
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const named = png.subarray(at + 4, at + 8 + length);
    if (crc32(named) !== png.readUInt32BE(at + 8 + length)) throw new Error(`the checksum at ${at} is wrong`);
    const name = named.toString("latin1", 0, 4);
    if (chunks.has(name) && name !== "tEXt") throw new Error(`two chunks ${name}`);
    chunks.set(name, named.subarray(4));
    at += 12 + length;
  }
  const head = chunks.get("IHDR") as Buffer;
  const width = head.readUInt32BE(0);
  const height = head.readUInt32BE(4);
  const rows = inflateSync(chunks.get("IDAT") as Buffer);
  const pixels = Buffer.alloc(width * height);
  for (let row = 0; row < height; row += 1) {
    if (rows[row * (width + 1)] !== 0) throw new Error("a row is filtered");
    rows.copy(pixels, row * width, row * (width + 1) + 1, (row + 1) * (width + 1));
  }
  const colours = chunks.get("PLTE") as Buffer;
  return {
    width,
    height,
    /** Bits for each pixel, colour type, compression, filter, interlace. */
    format: [...head.subarray(8)],
    pixels,
    palette: Array.from({ length: colours.length / 3 }, (_, at) => [...colours.subarray(3 * at, 3 * at + 3)]),
    /** Of the first places; the others are opaque. */
    opacity: [...(chunks.get("tRNS") ?? [])],
    text: chunks.get("tEXt")?.toString("latin1"),
  };
}
