import type { FailureView } from "../../../client/failures.ts";
import { count } from "../../../model/figures.ts";
import { type Range, rangeText } from "../../../model/packs.ts";
import type { FailureGroup } from "../../data/answers.ts";

/** What `GET runs/{id}/failures` answers, as far as the page reads it. */
export interface FailureAnswer {
  readonly failures: readonly FailureView[];
  readonly trying: readonly FailureView[];
  readonly more: boolean;
  readonly groups?: readonly FailureGroup[];
}

const rangesShown = 6;

/** `0–99, 200–222, and 3 more`. */
export function rangesText(ranges: readonly Range[]): string {
  const more = ranges.length - rangesShown;
  const shown = ranges.slice(0, rangesShown).map(rangeText);
  return [...shown, ...(more > 0 ? [`and ${count(more)} more`] : [])].join(", ");
}

/** `12 packs (chunks 0–99, …), 36 attempts`. */
export function groupText({ packs, chunks, attempts }: FailureGroup): string {
  const packsText =
    packs.length === 0 ? "no pack" : `${count(packs.length)} ${packs.length === 1 ? "pack" : "packs"}`;
  const chunksText = chunks.length === 0 ? "" : ` (chunks ${rangesText(chunks)})`;
  return `${packsText}${chunksText}, ${count(attempts)} ${attempts === 1 ? "attempt" : "attempts"}`;
}

/** Failed attempts at work that is still tried: nothing has failed for good. */
export const tryingText = ({ work, pack, attempts, attemptsMax, message }: Tried): string =>
  `${pack === undefined ? work : `pack ${pack}`}: attempt ${attempts}${attemptsMax === undefined ? "" : ` of ${attemptsMax}`}: ${message}`;

type Tried = Pick<FailureView, "work" | "attempts" | "message"> &
  Partial<Pick<FailureView, "pack" | "attemptsMax">>;
