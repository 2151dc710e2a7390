import type { FailureGroup } from "../../../client/failureGroups.ts";
import type { FailureView } from "../../../client/failures.ts";
import { count, countOf } from "../../../model/figures.ts";
import { type Range, rangeText } from "../../../model/packs.ts";

const rangesShown = 6;

/** `0–99, 200–222, and 3 more`. */
export function rangesText(ranges: readonly Range[]): string {
  const more = ranges.length - rangesShown;
  const shown = ranges.slice(0, rangesShown).map(rangeText);
  return [...shown, ...(more > 0 ? [`and ${count(more)} more`] : [])].join(", ");
}

/** `12 packs (chunks 0–99, …), plan, 36 attempts`. */
export function groupText({ packs, chunks, tasks, attempts }: FailureGroup): string {
  const shown = [
    packs.length === 0 ? "" : `${countOf(packs.length, "pack")} (chunks ${rangesText(chunks)})`,
    ...tasks.slice(0, rangesShown),
    countOf(attempts, "attempt"),
  ];
  return shown.filter((text) => text !== "").join(", ");
}

/** Failed attempts at work that is still tried: nothing has failed for good. */
export const tryingText = ({ work, pack, attempts, attemptsMax, message }: Tried): string =>
  `${pack === undefined ? work : `pack ${pack}`}: attempt ${attempts}${attemptsMax === undefined ? "" : ` of ${attemptsMax}`}: ${message}`;

type Tried = Pick<FailureView, "work" | "attempts" | "message"> &
  Partial<Pick<FailureView, "pack" | "attemptsMax">>;
