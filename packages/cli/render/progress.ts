import type { RunView } from "../../../src/engine/client/runView.ts";
import type { Clock } from "../../../src/engine/storage/ports.ts";
import { visible } from "./terminal.ts";
import {
  behindText,
  clip,
  count,
  duration,
  lostOf,
  lostWord,
  ofAllText,
  percent,
  perSecond,
  progressToStop,
  type Screen,
  stateText,
} from "./text.ts";

/** `████████░░░░░░░░` for a share of 0 to 1. */
export function bar(share: number, width: number): string {
  const full = Math.floor(Math.min(Math.max(share, 0), 1) * width);
  return "█".repeat(full) + "░".repeat(width - full);
}

export function shareOf(
  view: Pick<RunView, "active" | "keep" | "phase" | "packs" | "chunks" | "stop">,
): number {
  const told = progressToStop(view);
  if (told === undefined) return Number(view.phase === "complete");
  return told.total === 0 ? 1 : told.ended / told.total;
}

const gap = "  ";
const barWidth = 20;
const barWidthMin = 5;

/** State of a run on one line: `computing  ████░░░░  42 %  84/200 packs  12.3/s  9 s left`. The bar shrinks first. */
export function progressLine(view: RunView, columns: number): string {
  const told = progressToStop(view);
  if (told === undefined)
    return clip([stateText(view), duration(view.elapsedS), ...termOf(view)].join(gap), columns);
  const facts = [
    percent(told.ended, told.total),
    `${count(told.done)}/${count(told.total)}${ofAllText(view)} ${told.unit}s`,
    ...(lostOf(told) > 0 ? [`${count(lostOf(told))} ${lostWord(view)}`] : []),
    ...(view.rate === undefined ? [] : [perSecond(view.rate.packsPerS)]),
    ...(view.timeLeft === undefined ? [] : [`${duration(view.timeLeft.expectedS)} left`]),
    ...(view.behind === undefined ? [] : [behindText(view.behind)]),
    ...termOf(view),
  ].join(gap);
  const room = columns - stateText(view).length - facts.length - 2 * gap.length;
  const drawn = room < barWidthMin ? [] : [bar(shareOf(view), Math.min(room, barWidth))];
  return clip([stateText(view), ...drawn, facts].join(gap), columns);
}

function termOf({ active, terms }: RunView): readonly string[] {
  const last = terms.at(-1);
  return active && last !== undefined ? [`term ${last.term}`] : [];
}

/** Without a terminal, the minimum time between lines with the same key. */
const quietMs = 5_000;

/** Lines that are rewritten in place on a terminal, as many as it shows; elsewhere new ones for each change. */
export function liveLine(screen: Screen, clock: Clock) {
  let shown: { readonly key: string; readonly text: string; readonly atMs: number } | undefined;
  let above = 0;
  return {
    /** Without a terminal, lines with the same `key` are repeated only now and then. */
    show: async (text: string, key: string): Promise<void> => {
      if (text === shown?.text) return;
      const nowMs = clock.monotonicMs();
      const due = shown === undefined || key !== shown.key || nowMs - shown.atMs >= quietMs;
      if (!screen.isTty && !due) return;
      if (screen.isTty) {
        const lines = text.split("\n").slice(0, screen.rows - 1);
        const back = above === 0 ? "\r" : `\u001b[${above}F\u001b[J`;
        screen.draw(back + lines.map((line) => `\u001b[2K${visible(line)}`).join("\n"));
        above = lines.length - 1;
      } else await screen.write(`${text}\n`);
      shown = { key, text, atMs: nowMs };
    },
    /** Takes the lines away, for others to stand there. */
    clear: (): void => {
      if (screen.isTty && shown !== undefined)
        screen.draw(above === 0 ? "\r\u001b[2K" : `\u001b[${above}F\u001b[J`);
      shown = undefined;
      above = 0;
    },
    end: async (): Promise<void> => {
      if (screen.isTty && shown !== undefined) await screen.write("\n");
      shown = undefined;
      above = 0;
    },
  };
}
