import type { RunView } from "../../client/runView.ts";
import type { Clock } from "../../storage/ports.ts";
import type { Screen } from "../cli.ts";
import { count, duration, percent, perSecond } from "./amounts.ts";
import { clip } from "./text.ts";

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

/** A line that is rewritten in place on a terminal; elsewhere a new line when it matters. */
export interface LiveLine {
  /** `key` tells whether something happened; a line with the same key is only repeated now and then. */
  show(line: string, key: string): Promise<void>;
  /** Ends the live line, so that what follows begins on a line of its own. */
  end(): Promise<void>;
}

/** Where lines cannot be rewritten, one with nothing new in it is printed no more often than this. */
const quietMs = 5_000;

export function liveLine(screen: Screen, clock: Clock): LiveLine {
  let shown: { readonly key: string; readonly line: string; readonly atMs: number } | undefined;
  return {
    show: async (line, key) => {
      if (line === shown?.line) return;
      const nowMs = clock.monotonicMs();
      const due = shown === undefined || key !== shown.key || nowMs - shown.atMs >= quietMs;
      if (!screen.isTty && !due) return;
      await screen.write(screen.isTty ? `\r\u001b[2K${line}` : `${line}\n`);
      shown = { key, line, atMs: nowMs };
    },
    end: async () => {
      if (screen.isTty && shown !== undefined) await screen.write("\n");
      shown = undefined;
    },
  };
}
