import { countOf, timeText } from "./figures.ts";

/** What waits, for people. */

/** `3 packs wait, the first until 2026-11-22 02:31:05 UTC, to be tried again: no file yet`. */
export function waitsText(
  waits: Readonly<Record<"work" | "until" | "message", string> & { works: number }>,
): string {
  const [, pack] = /^\d+\/(\d+)$/.exec(waits.work) ?? [];
  const one = `${pack === undefined ? waits.work : `pack ${Number(pack)}`} waits until ${timeText(waits.until)}`;
  const all = `${countOf(waits.works, pack === undefined ? "task" : "pack")} wait, the first until`;
  const who = waits.works === 1 ? one : `${all} ${timeText(waits.until)},`;
  return `${who} to be tried again: ${waits.message}`;
}
