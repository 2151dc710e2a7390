import type { LeaderView } from "../../client/leader.ts";
import { duration } from "../../model/figures.ts";

export type KnownTerm = Exclude<LeaderView, { readonly kind: "never" | "unreadable" }>["terms"][number];

/** A term of the table, newest first: how long it led, and how long nobody had led before it. */
export interface TermRow extends KnownTerm {
  readonly led: string;
  readonly open: boolean;
  readonly gap?: string;
}

/** Storage tells the times of beats in whole seconds; a shorter gap is a hand-over. */
const gapSMin = 1;

export function termRows(terms: readonly KnownTerm[], leading: boolean, nowMs: number): readonly TermRow[] {
  return terms
    .map((one, index): TermRow => {
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

export interface KnownInstance {
  readonly name: string;
  readonly terms: number;
  readonly last: string;
}

/** The instances that led one of these terms; an instance that never led is not known from them. */
export function instancesOf(terms: readonly KnownTerm[]): readonly KnownInstance[] {
  const known = new Map<string, KnownInstance>();
  for (const { holder, since } of terms) {
    const terms = (known.get(holder)?.terms ?? 0) + 1;
    known.set(holder, { name: holder, terms, last: since });
  }
  return [...known.values()].sort((a, b) => b.last.localeCompare(a.last));
}
