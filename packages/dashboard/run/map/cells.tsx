import type { JSX } from "preact";
import type { PackMap } from "../../../../src/engine/client/inspection/packMap.ts";
import { type Cell, cellCount, cellOf, type gridOf } from "./packMap.ts";

type Grid = ReturnType<typeof gridOf>;

const inks = ["notSent", "done", "failed", "givenUp", "inFlight", "resent", "cut"] as const;
type Paths = Record<(typeof inks)[number] | "dot", string>;

/** Cells that share paths: those of a block in which nothing has changed are the same texts, and are not drawn again. */
const blockCells = 256;

/**
 * The cells of a map, as one path for each state in a block, so that thousands of cells are few elements. A cell fills from
 * below with what is done, so one of many packs shows its share. A failure has a cross, a resend a dot, work in flight an
 * outline, what was given up a stroke: shapes, not only colors.
 */
export function Cells({ map, grid }: { readonly map: PackMap; readonly grid: Grid }): JSX.Element {
  const blocks = Array.from({ length: Math.ceil(cellCount(map) / blockCells) }, (_, block) =>
    pathsOf(map, grid, block * blockCells),
  );
  return (
    <>
      {blocks.map((paths, block) => (
        <g key={block}>
          {inks.map((ink) => (
            <path key={ink} class={`cell-${ink}`} d={paths[ink]} />
          ))}
          <path class="cell-dot" d={paths.dot} />
        </g>
      ))}
    </>
  );
}

function pathsOf(map: PackMap, grid: Grid, from: number): Paths {
  const paths: Paths = {
    notSent: "",
    done: "",
    failed: "",
    givenUp: "",
    inFlight: "",
    resent: "",
    dot: "",
    cut: "",
  };
  const to = Math.min(from + blockCells, cellCount(map));
  for (let index = from; index < to; index += 1) addCell(paths, cellOf(map, index), grid);
  return paths;
}

/** Where a cell stands; a pixel around it is free. */
const cornerOf = (index: number, { columns, size }: Grid) => ({
  x: (index % columns) * size,
  y: Math.floor(index / columns) * size,
});

const fixed = (value: number): number => Math.round(value * 10) / 10;

function addCell(paths: Paths, cell: Cell, grid: Grid): void {
  const corner = cornerOf(cell.index, grid);
  const [x, y, size] = [corner.x + 1, corner.y + 1, grid.size - 2];
  const packs = cell.packs.to - cell.packs.from;
  // Below all others, and the same with each poll.
  paths.notSent += `M${x} ${y}h${size}v${size}h${-size}z`;
  let filled = 0;
  for (const name of ["done", "failed", "givenUp"] as const) {
    if (cell[name] === 0) continue;
    // What exists is never too small to be seen.
    const least = name === "failed" ? Math.min(3, size) : 1;
    const high = fixed(Math.min(Math.max((size * cell[name]) / packs, least), size - filled));
    paths[name] += `M${x} ${fixed(y + size - filled - high)}h${size}v${high}h${-size}z`;
    filled += high;
  }
  const outline = `M${x + 0.75} ${y + 0.75}h${size - 1.5}v${size - 1.5}h${1.5 - size}z`;
  if (cell.resent > 0) {
    const [radius, middle] = [fixed(Math.max(1, size / 5)), fixed(y + size / 2)];
    paths.resent += outline;
    paths.dot += `M${fixed(x + size / 2 - radius)} ${middle}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`;
  } else if (cell.inFlight > 0) paths.inFlight += outline;
  if (cell.failed + cell.givenUp === 0 || size < 6) return;
  const [near, far] = [fixed(size * 0.28), fixed(size * 0.72)];
  if (cell.failed > 0) paths.cut += `M${x + near} ${y + near}L${x + far} ${y + far}`;
  paths.cut += `M${x + far} ${y + near}L${x + near} ${y + far}`;
}

/** Frames the cells of a shard, and the one that is read. */
export function Chosen(of: {
  readonly map: PackMap;
  readonly grid: Grid;
  readonly at: number | undefined;
  readonly shard: number | undefined;
}): JSX.Element {
  const { map, grid, at, shard } = of;
  const frames: JSX.Element[] = [];
  const frame = (index: number, width: number): void => {
    const { x, y } = cornerOf(index, grid);
    const side = grid.size - 1;
    frames.push(
      <rect
        key={`${index} ${width}`}
        x={x + 0.5}
        y={y + 0.5}
        width={side}
        height={side}
        stroke-width={width}
      />,
    );
  };
  const [from, to] = shard === undefined ? [0, 0] : [shard * map.shardSize, (shard + 1) * map.shardSize];
  const last = Math.min(Math.ceil(to / map.packsPerCell), cellCount(map));
  for (let index = Math.floor(from / map.packsPerCell); index < last; index += 1) frame(index, 1);
  if (at !== undefined) frame(at, 2);
  return <g class="cell-chosen">{frames}</g>;
}
