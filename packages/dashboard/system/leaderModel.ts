import type { LeaderView } from "../../../src/engine/client/leader.ts";
import { duration } from "../../../src/engine/model/figures.ts";

export type KnownTerm = Exclude<LeaderView, { readonly kind: "never" | "unreadable" }>["terms"][number];

/** Storage tells the times of heartbeats in whole seconds; a shorter gap is a hand-over. */
const gapSMin = 1;

/** The terms as rows of a table, newest first: how long each led, and how long nobody had led before it. */
export function termRows(terms: readonly KnownTerm[], leading: boolean, nowMs: number) {
  return terms
    .map((one, index) => {
      const next = terms[index + 1];
      const before = terms[index - 1];
      const open = next === undefined && leading;
      const sinceMs = Date.parse(one.since);
      const untilMs = open ? nowMs : Date.parse(one.until ?? next?.since ?? one.since);
      const gapS = before?.until === undefined ? 0 : (sinceMs - Date.parse(before.until)) / 1_000;
      const known = open || one.until !== undefined || next !== undefined;
      return {
        ...one,
        open,
        led: known
          ? `${!open && one.until === undefined ? "≤ " : ""}${duration(Math.max(0, untilMs - sinceMs) / 1_000)}`
          : "–",
        ...(gapS >= gapSMin ? { gap: duration(gapS) } : {}),
      };
    })
    .reverse();
}
