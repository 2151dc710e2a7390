import type { FailureGroup } from "../../../../src/engine/client/failureGroups.ts";
import type { FailureView } from "../../../../src/engine/client/failures.ts";
import { countOf } from "../../../../src/engine/model/figures.ts";
import { rangesText } from "../../../../src/engine/model/packs.ts";

/** Ranges, and failed tasks, that are listed. */
export const rangesShown = 6;

/** `12 packs (chunks 0–99, …), plan, 36 attempts`. */
export function groupText({ packs, chunks, tasks, attempts }: FailureGroup): string {
  const shown = [
    packs.length === 0 ? "" : `${countOf(packs.length, "pack")} (chunks ${rangesText(chunks, rangesShown)})`,
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
