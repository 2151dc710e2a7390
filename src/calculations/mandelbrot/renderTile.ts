import { escapeTime, inside } from "./escapeTime.ts";
import { log2 } from "./log2.ts";
import { black, gradientColours, gradientFirst } from "./palettes.ts";
import type { ImageSize, Tile } from "./tiles.ts";

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
