import type { PackMap } from "../../../../src/engine/client/inspection/packMap.ts";
import type { RunView } from "../../../../src/engine/client/runView.ts";
import { count, duration } from "../../../../src/engine/model/figures.ts";
import { rangeText } from "../../../../src/engine/model/packs.ts";

/** What each cell of the pack map stands for. */
export type Cell = ReturnType<typeof cellOf>;

export const cellCount = (map: PackMap): number => Math.ceil(map.packs / map.packsPerCell);

export function cellOf(map: PackMap, index: number) {
  const from = index * map.packsPerCell;
  const to = Math.min(from + map.packsPerCell, map.packs);
  const of = (name: keyof PackMap["cells"]): number => map.cells[name][index] ?? 0;
  const [done, failed] = [of("done"), of("failed")];
  const [givenUp, inFlight, resent] = [of("givenUp"), of("inFlight"), of("resent")];
  return {
    /** Given up: the run ended early without them. Resent, while in flight: lost work. */
    index,
    packs: { from, to },
    done,
    failed,
    givenUp,
    resent,
    /** Without those resent. */
    inFlight: Math.max(0, inFlight - resent),
    shards: { from: Math.floor(from / map.shardSize), to: Math.floor((to - 1) / map.shardSize) + 1 },
    notSent: Math.max(0, to - from - done - failed - givenUp - inFlight),
  };
}

/** The first cell of a shard, if the run has it. */
export function cellOfShard(map: PackMap, shard: number): number | undefined {
  const pack = shard * map.shardSize;
  return pack < map.packs ? Math.floor(pack / map.packsPerCell) : undefined;
}

/** While a run is paused, nobody finds out which of the packs that were sent are lost. */
const partsOf = (paused: boolean) =>
  [
    ["done", "done"],
    ["failed", "failed"],
    ["givenUp", "given up"],
    ["inFlight", paused ? "sent" : "in flight"],
    ["resent", paused ? "resent" : "resent, in flight"],
    ["notSent", "not sent"],
  ] as const;

/** Who computes which packs of a run now, and since when by this page's clock. */
export type AtWork = readonly {
  readonly pack: number;
  readonly instance: string;
  readonly sinceMs: number;
}[];

const namesMax = 3;

/** `node-1 for 12 s`, in a cell of several packs `17: node-1 for 12 s, 19: node-2 for 3 s`; empty where nobody is known. */
export function atWorkText({ packs }: Cell, atWork: AtWork, nowMs: number): string {
  const here = atWork.filter(({ pack }) => pack >= packs.from && pack < packs.to);
  const texts = here.slice(0, namesMax).map(({ pack, instance, sinceMs }) => {
    const who = `${instance} for ${duration(Math.round((nowMs - sinceMs) / 1_000))}`;
    return packs.to - packs.from === 1 ? who : `${pack}: ${who}`;
  });
  const more = here.length - texts.length;
  return [...texts, ...(more > 0 ? [`and ${count(more)} more`] : [])].join(", ");
}

/** `pack 17: done`, or `packs 500–999: 480 done, 20 in flight`, and the shard. */
export function cellText(cell: Cell, paused = false): string {
  const { packs, shards } = cell;
  const shard = `shard${shards.to - shards.from > 1 ? "s" : ""} ${rangeText(shards)}`;
  const some = partsOf(paused).filter(([name]) => cell[name] > 0);
  if (packs.to - packs.from === 1) return `pack ${packs.from}: ${some[0]?.[1] ?? "not sent"} (${shard})`;
  return `packs ${rangeText(packs)}: ${some.map(([name, text]) => `${count(cell[name])} ${text}`).join(", ")} (${shard})`;
}

/**
 * The counts of the whole map, in the order of the legend. Beside a view they are those of the view, which is read more often:
 * a page must not count one thing twice and differently.
 */
export function legendOf(map: PackMap, view?: Pick<RunView, "active" | "packs" | "paused">) {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  const { cells } = map;
  const drawn = {
    done: sum(cells.done),
    failed: sum(cells.failed),
    givenUp: sum(cells.givenUp),
  };
  const { done, failed, givenUp = 0 } = view?.packs ?? drawn;
  // What was given up in flight only the map tells.
  const flying =
    view?.packs !== undefined && view.active && givenUp === 0
      ? Math.max(0, view.packs.sent - done - failed)
      : sum(cells.inFlight);
  const resent = Math.min(sum(cells.resent), flying);
  const counts = {
    done,
    failed,
    givenUp,
    inFlight: flying - resent,
    resent,
    notSent: Math.max(0, map.packs - done - failed - givenUp - flying),
  };
  // Few runs end early.
  return partsOf(view?.paused === true)
    .map(([name, text]) => ({ name, text, packs: counts[name] }))
    .filter(({ name, packs }) => name !== "givenUp" || packs > 0);
}

/** How many cells of which size stand in a row: as large as the height allows, so that few packs are no tiny dots. */
export function gridOf(cells: number, width: number) {
  const sizes = [18, 16, 14, 12, 10, 9, 8, 7, 6];
  const rowsOf = (size: number) => Math.ceil(cells / Math.max(1, Math.floor(width / size)));
  const size = sizes.find((one) => rowsOf(one) * one <= heightMax) ?? 6;
  const columns = Math.max(1, Math.floor(width / size));
  return { size, columns, rows: Math.max(1, Math.ceil(cells / columns)) };
}

const heightMax = 220;

/** The cell that a key moves to; undefined for a key that moves nowhere. */
export function movedBy(key: string, at: number, columns: number, cells: number): number | undefined {
  const moves: Readonly<Record<string, number>> = {
    ArrowRight: at + 1,
    ArrowLeft: at - 1,
    ArrowDown: at + columns,
    ArrowUp: at - columns,
    PageDown: at + 10 * columns,
    PageUp: at - 10 * columns,
    Home: 0,
    End: cells - 1,
  };
  const to = moves[key];
  return to === undefined ? undefined : Math.min(Math.max(to, 0), cells - 1);
}

/** Cells of a page of the table; only those that are not simply done, if asked. */
export function tablePage(
  map: PackMap,
  options: { readonly page: number; readonly openOnly: boolean; readonly size: number },
) {
  const all = Array.from({ length: cellCount(map) }, (_, index) => index);
  const wanted = options.openOnly ? all.filter((index) => isOpen(map, index)) : all;
  const pages = Math.max(1, Math.ceil(wanted.length / options.size));
  const page = Math.min(options.page, pages - 1);
  const shown = wanted.slice(page * options.size, (page + 1) * options.size);
  return { cells: shown.map((index) => cellOf(map, index)), pages, page };
}

function isOpen(map: PackMap, index: number): boolean {
  const { failed, inFlight } = cellOf(map, index);
  return failed > 0 || inFlight > 0 || (map.cells.resent[index] ?? 0) > 0;
}
