import { type Range, rangeText } from "../../model/packs.ts";
import { count } from "./amounts.ts";

/** More ranges than these are counted and not shown. */
const rangesShown = 8;

/** `0–99, 200–222, 300`, with the last of each range in it; of many the first few: `…, and 42 more`. */
export function rangesText(ranges: readonly Range[]): string {
  const shown = ranges.slice(0, rangesShown).map(rangeText);
  const more = ranges.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${count(more)} more`] : [])].join(", ");
}

/** `123 of 1,000 chunks (12.3 %)`; rounded down, so that 100 % means all of it. */
export function chunkShare(part: number, whole: number): string {
  const percent = whole === 0 ? 100 : Math.floor((1_000 * part) / whole) / 10;
  return `${count(part)} of ${count(whole)} chunks (${percent} %)`;
}
