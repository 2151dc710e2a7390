import type { ListedRun, RunsPage } from "../../../src/engine/client/runs.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import {
  count,
  dollars,
  duration,
  lostOf,
  lostWord,
  ofAllText,
  percent,
  perSecond,
  progressToStop,
  tagsText,
} from "../../../src/engine/model/figures.ts";
import { isRecord, valueText } from "../../../src/engine/model/json.ts";
import { stateOf } from "../parts/runState.ts";

type Told =
  | "calculation"
  | "params"
  | "rate"
  | "timeLeft"
  | "submittedAt"
  | "elapsedS"
  | "error"
  | "dollars"
  | "tags"
  | "chunks";

/** One line of the list, in words and figures; absent where it says nothing. */
export type RunRow = ReturnType<typeof rowOf>;

export function rowOf(run: ListedRun, nowMs: number) {
  // An ended run is told by a summary, and an unreadable one by its error alone.
  const view: Partial<Pick<RunView, Told>> = run;
  const { rate, timeLeft, submittedAt, elapsedS, error } = view;
  const told = progressToStop(run);
  const { total = 0, done = 0, ended = 0 } = told ?? {};
  const age = submittedAt === undefined ? undefined : Math.max(0, (nowMs - Date.parse(submittedAt)) / 1_000);
  return {
    id: run.run,
    state: stateOf(run),
    // A run of no chunks has done all of them.
    done: total === 0 ? Number(told !== undefined || run.word === "complete") : done / total,
    failed: total === 0 ? 0 : (ended - done) / total,
    stopped: run.word === "failed" || run.word === "cancelled",
    calculation: view.calculation && [view.calculation, paramsText(view.params)].join(" ").trim(),
    progress: told && percent(ended, total),
    packs: told && doneText(told, lostWord(run), ofAllText(run)),
    rate: rate && perSecond(rate.packsPerS),
    remaining: timeLeft && duration(timeLeft.expectedS),
    cost: view.dollars === undefined ? undefined : dollars(view.dollars),
    age: age === undefined ? undefined : agoText(age),
    took: run.active || elapsedS === undefined ? undefined : duration(elapsedS),
    tags: view.tags && tagsText(view.tags),
    error: error?.message,
  };
}

/** `to=1000000 from=0`; empty for a run whose list leaves its parameters out. */
const paramsText = (params: unknown): string =>
  Object.entries(isRecord(params) ? params : {})
    .map(([name, value]) => `${name}=${valueText(value)}`)
    .join(" ");

function doneText(told: NonNullable<ReturnType<typeof progressToStop>>, word: string, of: string): string {
  const lost = lostOf(told);
  const unit = told.unit === "chunk" ? " chunks" : "";
  return `${count(told.done)} / ${count(told.total)}${of}${unit}${lost > 0 ? `, ${count(lost)} ${word}` : ""}`;
}

/** `just now`, `42 s ago`, `3 min ago`, `5 h ago`, `2 d ago`: one unit is enough for an age. */
export function agoText(seconds: number): string {
  if (seconds < 3) return "just now";
  const units = [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
    [1, "s"],
  ] as const;
  const [size, unit] = units.find(([one]) => seconds >= one) ?? [1, "s"];
  return `${count(Math.floor(seconds / size))} ${unit} ago`;
}

export function pathOfRuns(filter: {
  readonly phase?: string;
  readonly calculation?: string;
  readonly search?: string;
  readonly cursor?: string;
}): string {
  const asked = new URLSearchParams({ limit: String(pageSize) });
  for (const name of ["phase", "calculation", "cursor"] as const) {
    const value = filter[name];
    if (value !== undefined) asked.set(name, value);
  }
  const words = (filter.search ?? "").split(/[\s,]+/).filter((word) => word !== "");
  const tags = words.filter((word) => word.includes("="));
  const prefix = words.find((word) => !word.includes("="));
  if (tags.length > 0) asked.set("tag", tags.join(","));
  if (prefix !== undefined) asked.set("prefix", prefix);
  return `runs?${asked}`;
}

const pageSize = 50;

/** Runs at work change each second; the rest of a list, and older pages, seldom. */
export const pollRunsMs = (page: RunsPage | undefined, first: boolean): number =>
  first && page?.runs.some(({ active }) => active) === true ? 2_000 : 10_000;
