import type { Series } from "../../../src/engine/client/overview.ts";
import { dollars, duration } from "../../../src/engine/model/figures.ts";
import { stateOf } from "../parts/runState.ts";

type Ended = Series["runs"][number];

/** Bars of one figure of the last runs: those of runs without a whole result apart, and the newest in full color. */
export interface Bars {
  readonly value: string;
  /** The middle of the runs before that were complete. */
  readonly usual?: string;
  /** The newest is more than twice that. */
  readonly far: boolean;
  readonly earlier: string;
  readonly bad: string;
  readonly newest: string;
}

/** Of a bar with the space behind it. As many as the app gives have room. */
const slotWidth = 8;
const barWidth = 6;
export const chart = { width: 14 * slotWidth, height: 24 };

const isBad = ({ word }: Ended): boolean => word !== "complete";

/** One line of the table of calculations. A newer version may have other words for states. */
export function seriesRow({ name, runs }: Series) {
  const last = runs.at(-1);
  if (last === undefined) return undefined;
  return {
    name,
    last,
    state: stateOf(last),
    time: barsOf(runs, ({ elapsedS }) => elapsedS, duration),
    cost: barsOf(runs, (run) => run.dollars, dollars),
    // Of a calculation whose results are the same each night.
    breaks: last.same === false && runs.at(-2)?.same === true,
    marks: runs.map(markOf).join(""),
    result: resultText(last),
  };
}

function barsOf(
  runs: readonly Ended[],
  figure: (run: Ended) => number,
  text: (value: number) => string,
): Bars {
  const most = Math.max(...runs.map(figure), Number.MIN_VALUE);
  const pathOf = (wanted: (run: Ended, index: number) => boolean): string =>
    runs
      .map((run, index) => {
        if (!wanted(run, index)) return "";
        const height = Math.max(1, Math.round((chart.height * figure(run)) / most));
        return `M${index * slotWidth} ${chart.height}v${-height}h${barWidth}v${height}z`;
      })
      .join("");
  const last = runs.length - 1;
  const newest = figure(runs[last] as Ended);
  const before = runs
    .slice(0, -1)
    .filter((run) => !isBad(run))
    .map(figure)
    .sort((a, b) => a - b);
  const usual = before[before.length >> 1];
  return {
    value: text(newest),
    ...(usual === undefined ? {} : { usual: text(usual) }),
    far: usual !== undefined && newest > 2 * usual,
    earlier: pathOf((run, index) => !isBad(run) && index < last),
    bad: pathOf(isBad),
    newest: pathOf((run, index) => !isBad(run) && index === last),
  };
}

/** Whether a result has the hash of the one before, as a sign. */
const markOf = ({ word, same }: Ended): string =>
  word === "failed" || word === "cancelled" ? "×" : same === undefined ? "·" : same ? "=" : "≠";

function resultText({ word, same }: Ended): string {
  if (word === "failed" || word === "cancelled") return "no result";
  if (same === undefined) return "nothing to compare";
  return same ? "same" : "differs";
}
