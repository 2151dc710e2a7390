import type { ComponentChildren, JSX } from "preact";
import { useContext, useMemo, useRef, useState } from "preact/hooks";
import type { PackMap } from "../../../../src/engine/client/inspection/packMap.ts";
import type { RunView } from "../../../../src/engine/client/runView.ts";
import { count } from "../../../../src/engine/model/figures.ts";
import { rangeText } from "../../../../src/engine/model/packs.ts";
import { Head, Scroll } from "../../parts/parts.tsx";
import { DrawnWidth, useWidth } from "../../parts/useWidth.ts";
import { Cells, Chosen } from "./cells.tsx";
import {
  type AtWork,
  atWorkText,
  type Cell,
  cellCount,
  cellOf,
  cellOfShard,
  cellText,
  gridOf,
  legendOf,
  movedBy,
  tablePage,
} from "./packMap.ts";

/** All packs in one picture, at most 2,000 cells; the arrow keys and the pointer read a cell, and a table has them all. */
export function PackMapView(of: {
  readonly map: PackMap;
  readonly view: Pick<RunView, "active" | "packs" | "paused">;
  readonly atWork: AtWork;
  readonly shard: number | undefined;
  readonly onShard: (shard: number | undefined) => void;
}): JSX.Element {
  const { map, atWork, shard } = of;
  const box = useRef<HTMLDivElement>(null);
  const [hovered, setHovered] = useState<number>();
  const [cursor, setCursor] = useState<number>();
  const width = useWidth(box);
  const cells = cellCount(map);
  const grid = gridOf(cells, Math.max(width, 100));
  const asked = shard === undefined ? undefined : cellOfShard(map, shard);
  const at = Math.min(hovered ?? cursor ?? asked ?? 0, cells - 1);
  const chosen = hovered ?? cursor ?? asked;
  // A pointer that moves over the map draws the frames anew, and not thousands of cells.
  const cellPaths = useMemo(() => <Cells map={map} grid={grid} />, [map, grid.size, grid.columns]);
  const reading = readingOf(cellOf(map, at), atWork, of.view.paused);
  const cellAt = (event: MouseEvent & { readonly currentTarget: Element }): number | undefined => {
    const frame = event.currentTarget.getBoundingClientRect();
    const column = Math.floor((event.clientX - frame.left) / grid.size);
    const index = Math.floor((event.clientY - frame.top) / grid.size) * grid.columns + column;
    return column >= 0 && column < grid.columns && index >= 0 && index < cells ? index : undefined;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter") of.onShard(cellOf(map, at).shards.from);
    if (event.key === "Escape") of.onShard(undefined);
    const to = movedBy(event.key, at, grid.columns, cells);
    if (to === undefined) return;
    event.preventDefault();
    setHovered(undefined);
    setCursor(to);
  };
  return (
    <div class="pack-map" ref={box}>
      <Legend map={map} view={of.view} />
      <div
        class="cells"
        tabIndex={0}
        role="slider"
        aria-label="Cell of the pack map"
        aria-valuemin={1}
        aria-valuemax={cells}
        aria-valuenow={at + 1}
        aria-valuetext={reading}
        onKeyDown={onKeyDown}
        onFocus={() => cursor === undefined && setCursor(asked ?? 0)}
        onBlur={() => setCursor(undefined)}
        onMouseMove={(event) => setHovered(cellAt(event))}
        onMouseLeave={() => setHovered(undefined)}
        onClick={(event) => {
          const index = cellAt(event);
          if (index !== undefined) of.onShard(cellOf(map, index).shards.from);
        }}
      >
        <Picture grid={grid}>
          {cellPaths}
          <Chosen map={map} grid={grid} at={chosen} shard={shard} />
        </Picture>
      </div>
      <p class="reading" aria-hidden="true">
        {chosen === undefined ? hintOf(map) : reading}
      </p>
      <MapTable map={map} atWork={atWork} paused={of.view.paused} />
    </div>
  );
}

const Legend = (of: {
  readonly map: PackMap;
  readonly view?: Pick<RunView, "active" | "packs" | "paused">;
}): JSX.Element => (
  <ul class="legend">
    {legendOf(of.map, of.view).map(({ name, text, packs }) => (
      <li key={name} class={packs === 0 ? "none" : ""}>
        <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" class={`cell ${name}`}>
          <rect x="1" y="1" width="10" height="10" />
          {name === "failed" ? <path d="m3.5 3.5 5 5m0-5-5 5" /> : null}
          {name === "givenUp" ? <path d="m3.5 8.5 5-5" /> : null}
          {name === "resent" ? <circle cx="6" cy="6" r="2" /> : null}
        </svg>
        {text} <b>{count(packs)}</b>
      </li>
    ))}
  </ul>
);

function Picture(of: {
  readonly grid: ReturnType<typeof gridOf>;
  readonly children: ComponentChildren;
}): JSX.Element {
  const [wide, high] = [of.grid.columns * of.grid.size, of.grid.rows * of.grid.size];
  return (
    <svg class="map" viewBox={`0 0 ${wide} ${high}`} width={wide} height={high} aria-hidden="true">
      {of.children}
    </svg>
  );
}

/** The same map where nothing can be pointed at, as in a report. */
export function StillMap({ map }: { readonly map: PackMap }): JSX.Element {
  const grid = gridOf(cellCount(map), useContext(DrawnWidth));
  return (
    <div class="pack-map">
      <Legend map={map} />
      <Picture grid={grid}>
        <Cells map={map} grid={grid} />
      </Picture>
      <p class="reading">{hintOf(map)}</p>
    </div>
  );
}

function readingOf(cell: Cell, atWork: AtWork, paused: boolean): string {
  const by = atWorkText(cell, atWork, performance.now());
  const text = cellText(cell, paused);
  return by === "" ? text : `${text}, computed by ${by}`;
}

const hintOf = ({ packsPerCell, packs }: PackMap): string =>
  packsPerCell === 1
    ? `a cell is a pack; ${count(packs)} in all`
    : `a cell is ${count(packsPerCell)} packs, filled as far as they are done`;

const rowsShown = 50;
const countedOf = (paused: boolean): readonly string[] => [
  ...["Packs", "Shard", "Done", "Failed", "Given up"],
  ...[paused ? "Sent" : "In flight", "Resent", "Not sent"],
];

const countsOf = ({ done, failed, givenUp, inFlight, resent, notSent }: Cell): readonly number[] => [
  done,
  failed,
  givenUp,
  inFlight,
  resent,
  notSent,
];

function MapTable(of: {
  readonly map: PackMap;
  readonly atWork: AtWork;
  readonly paused: boolean;
}): JSX.Element {
  const { map, atWork } = of;
  const counted = countedOf(of.paused);
  const [open, setOpen] = useState(false);
  const [openOnly, setOpenOnly] = useState(false);
  const [page, setPage] = useState(0);
  const shown = open ? tablePage(map, { page, openOnly, size: rowsShown }) : undefined;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Cells as a table</summary>
      {shown === undefined ? null : (
        <>
          <div class="row">
            <label class="check">
              <input
                type="checkbox"
                checked={openOnly}
                onChange={(event) => setOpenOnly(event.currentTarget.checked)}
              />
              <span>Only cells with failed packs or packs {of.paused ? "without an end" : "in flight"}</span>
            </label>
            <span class="grow" />
            <button
              type="button"
              aria-disabled={shown.page === 0}
              onClick={() => setPage(Math.max(0, shown.page - 1))}
            >
              Earlier
            </button>
            <span>
              {shown.page + 1} of {shown.pages}
            </span>
            <button
              type="button"
              aria-disabled={shown.page === shown.pages - 1}
              onClick={() => setPage(Math.min(shown.pages - 1, shown.page + 1))}
            >
              Later
            </button>
          </div>
          <Scroll label="Cells of the pack map">
            <table class="list">
              <Head columns={[...counted, "Computed by"]} isNumber={(at) => at < counted.length} />
              <tbody>
                {shown.cells.map((cell) => (
                  <tr key={cell.index}>
                    <td class="number">{rangeText(cell.packs)}</td>
                    <td class="number">{rangeText(cell.shards)}</td>
                    {countsOf(cell).map((packs, index) => (
                      <td key={index} class="number">
                        {count(packs)}
                      </td>
                    ))}
                    <td>{atWorkText(cell, atWork, performance.now())}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </>
      )}
    </details>
  );
}
