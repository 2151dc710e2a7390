import type { RunView } from "../../client/runView.ts";
import { count, duration, percent, perSecond } from "./amounts.ts";
import { clip } from "./plainText.ts";

/** `████████░░░░░░░░` for a share of 0 to 1. */
export function bar(share: number, width: number): string {
  const full = Math.floor(Math.min(Math.max(share, 0), 1) * width);
  return "█".repeat(full) + "░".repeat(width - full);
}

/** Packs that have an outcome, out of all. */
export const shareOf = (view: RunView): number =>
  view.packs === undefined || view.packs.total === 0
    ? Number(!view.active)
    : (view.packs.done + view.packs.failed) / view.packs.total;

export const stateOf = (view: RunView): string =>
  [
    view.word.replaceAll("-", " "),
    ...(view.paused ? ["paused"] : []),
    ...(view.keep ? ["ending early"] : []),
  ].join(", ");

const gap = "  ";
const barWidth = 20;
const barWidthMin = 5;

/**
 * How a run stands, on one line that fits: `computing  ████░░░░  42 %  84/200 packs  12.3/s  9 s left`. The bar
 * gives way first.
 */
export function progressLine(view: RunView, columns: number): string {
  const { packs } = view;
  if (packs === undefined)
    return clip([stateOf(view), duration(view.elapsedS), ...termOf(view)].join(gap), columns);
  const facts = [
    percent(packs.done + packs.failed, packs.total),
    `${count(packs.done)}/${count(packs.total)} packs`,
    ...(packs.failed > 0 ? [`${count(packs.failed)} failed`] : []),
    ...(view.rate === undefined ? [] : [perSecond(view.rate.packsPerS)]),
    ...(view.timeLeft === undefined ? [] : [`${duration(view.timeLeft.expectedS)} left`]),
    ...termOf(view),
  ].join(gap);
  const room = columns - stateOf(view).length - facts.length - 2 * gap.length;
  const drawn = room < barWidthMin ? [] : [bar(shareOf(view), Math.min(room, barWidth))];
  return clip([stateOf(view), ...drawn, facts].join(gap), columns);
}

function termOf({ active, terms }: RunView): readonly string[] {
  const last = terms.at(-1);
  return active && last !== undefined ? [`term ${last.term}`] : [];
}
