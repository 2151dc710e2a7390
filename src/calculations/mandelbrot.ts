import * as z from "zod";
import { defineCalculation } from "./contract.ts";
import { encodePicture, paletteNames } from "./mandelbrot/palettes.ts";
import { renderTile } from "./mandelbrot/renderTile.ts";
import {
  joinSpans,
  noTiles,
  oneTile,
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
