import { billingClasses, type CallCounts } from "../../src/engine/model/calls.ts";
import type { BenchResult } from "./bench.ts";

/** Collects what the parts of a bench found. */
export interface Report {
  say(line: string): void;
  row(figure: string, found: string | number): void;
  figures(found: Readonly<Record<string, number>>): void;
  goal(goal: string, met: boolean): void;
  result(): BenchResult;
}

export function makeReport(say: (line: string) => void): Report {
  const rows: Record<string, string | number>[] = [];
  const figures: Record<string, number> = {};
  const goals: { goal: string; met: boolean }[] = [];
  return {
    say: (line) => say(`  ${line}`),
    row: (figure, found) => void rows.push({ figure, found }),
    figures: (found) => void Object.assign(figures, found),
    goal: (goal, met) => void goals.push({ goal, met }),
    result: () => ({ rows, figures, goals }),
  };
}

/** To three significant digits. */
export const round = (value: number): number => Number(value.toPrecision(3));

/** All but deletes of blobs, which are free. */
export const billedCalls = (calls: CallCounts): number =>
  billingClasses.reduce((sum, one) => sum + (one === "delete" ? 0 : calls[one]), 0);

/** `write 1.07 · queue 3.1`, for each of so many pieces of work. */
export const perPiece = (calls: CallCounts, pieces: number): string =>
  billingClasses
    .filter((one) => calls[one] > 0)
    .map((one) => `${one} ${round(calls[one] / pieces)}`)
    .join(" · ");
