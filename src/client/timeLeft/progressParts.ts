import type { ProgressMark } from "../../model/state.ts";

/** What happened between two neighbouring marks of a run's progress. */
export interface ProgressPart {
  /** Packs from its middle to the last mark, below 0. */
  readonly place: number;
  readonly packs: number;
  /** Compute time of one pack on average. */
  readonly value: number;
  readonly workMs: number;
  readonly spanMs: number;
}

/** Durations are whole ms; one of 0 took less than half of one. */
export const leastMs = 0.5;

export function progressParts(marks: readonly ProgressMark[]): ProgressPart[] {
  const end = marks.at(-1)?.ended ?? 0;
  return marks.slice(1).flatMap((to, index) => {
    const from = marks[index];
    if (from === undefined || to.ended <= from.ended) return [];
    const packs = to.ended - from.ended;
    const workMs = Math.max(to.computeMs - from.computeMs, packs * leastMs);
    const place = (from.ended + to.ended) / 2 - end;
    return [{ place, packs, value: workMs / packs, workMs, spanMs: to.atMs - from.atMs }];
  });
}
