import type { PackMap } from "../../../client/inspection/packMap.ts";
import { type Cell, cellCount, cellOf, type gridOf } from "./packMap.ts";

/** The inks of the map: the custom properties `--map-…` of the style sheet. */
const inkNames = ["done", "failed", "givenUp", "inFlight", "resent", "notSent", "cut", "cursor"] as const;
type Inks = Readonly<Record<(typeof inkNames)[number], string>>;

// Registered as colors, so that the canvas reads resolved ones and not the text of light-dark().
for (const name of inkNames)
  CSS.registerProperty({ name: `--map-${name}`, syntax: "<color>", inherits: true, initialValue: "gray" });

/** Those of the theme in force. */
function inksOf(element: Element): Inks {
  const style = getComputedStyle(element);
  const inks = inkNames.map((name) => [name, style.getPropertyValue(`--map-${name}`).trim()]);
  return Object.fromEntries(inks) as Inks;
}

type Context = CanvasRenderingContext2D;

/**
 * Draws each cell as a column that fills from below with what is done, so that a cell of many packs shows its share. A
 * failure has a cross, a resend a dot, work in flight an outline, what was given up a stroke: shapes, not only colors.
 */
export function drawMap(
  canvas: HTMLCanvasElement,
  map: PackMap,
  grid: ReturnType<typeof gridOf>,
  chosen: { readonly at: number | undefined; readonly shard: number | undefined },
): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [grid.columns * grid.size, grid.rows * grid.size];
  if (canvas.width !== width * scale || canvas.height !== height * scale) {
    canvas.width = width * scale;
    canvas.height = height * scale;
  }
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const inks = inksOf(canvas);
  for (let index = 0; index < cellCount(map); index += 1) {
    const cell = cellOf(map, index);
    const x = (index % grid.columns) * grid.size;
    const y = Math.floor(index / grid.columns) * grid.size;
    drawCell(context, cell, { x: x + 1, y: y + 1, size: grid.size - 2 }, inks);
    const inShard =
      chosen.shard !== undefined && chosen.shard >= cell.shards.from && chosen.shard < cell.shards.to;
    if (inShard || index === chosen.at) {
      context.strokeStyle = inks.cursor;
      context.lineWidth = index === chosen.at ? 2 : 1;
      context.strokeRect(x + 0.5, y + 0.5, grid.size - 1, grid.size - 1);
    }
  }
}

interface Square {
  readonly x: number;
  readonly y: number;
  readonly size: number;
}

function drawCell(context: Context, cell: Cell, { x, y, size }: Square, inks: Inks): void {
  const packs = cell.packs.to - cell.packs.from;
  context.fillStyle = inks.notSent;
  context.fillRect(x, y, size, size);
  let filled = 0;
  for (const name of ["done", "failed", "givenUp"] as const) {
    if (cell[name] === 0) continue;
    // What exists is never too small to be seen.
    const height = Math.max((size * cell[name]) / packs, name === "failed" ? Math.min(3, size) : 1);
    context.fillStyle = inks[name];
    context.fillRect(x, Math.max(y, y + size - filled - height), size, height);
    filled += height;
  }
  if (cell.inFlight + cell.resent > 0) {
    context.strokeStyle = cell.resent > 0 ? inks.resent : inks.inFlight;
    context.lineWidth = 1.5;
    context.strokeRect(x + 0.75, y + 0.75, size - 1.5, size - 1.5);
  }
  if (cell.resent > 0) {
    context.fillStyle = inks.resent;
    context.beginPath();
    context.arc(x + size / 2, y + size / 2, Math.max(1, size / 5), 0, 2 * Math.PI);
    context.fill();
  }
  if (cell.failed + cell.givenUp > 0 && size >= 6) {
    context.strokeStyle = inks.cut;
    context.lineWidth = Math.max(1, size / 8);
    const inset = size * 0.28;
    context.beginPath();
    if (cell.failed > 0) {
      context.moveTo(x + inset, y + inset);
      context.lineTo(x + size - inset, y + size - inset);
    }
    context.moveTo(x + size - inset, y + inset);
    context.lineTo(x + inset, y + size - inset);
    context.stroke();
  }
}
