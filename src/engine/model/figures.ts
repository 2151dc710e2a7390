import { type CallCounts, totalCalls } from "./calls.ts";
import type { Cost } from "./cost.ts";

/** How figures are written for people, on a terminal and on a page alike. */

export const count = (value: number): string => Math.round(value).toLocaleString("en-US");

/** `1 pack`, `1,234 packs`. */
export const countOf = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** `0.8 s`, `3 s`, `42 s`, `3 min 12 s`, `5 h 3 min`, `2 d 4 h`. */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${Number(Math.max(0, seconds).toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(whole / 86_400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "min"],
    [whole % 60, "s"],
  ];
  const first = parts.findIndex(([value]) => value > 0);
  const shown = parts.slice(first, first + 2).filter(([value]) => value > 0);
  return shown.map(([value, unit]) => `${value} ${unit}`).join(" ");
}

const msOf: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** The ms of a duration as one types it: `500ms`, `30s`, `5m` or `5min`, `1.5h`, `1d`. Undefined for any other text. */
export function typedMs(text: string): number | undefined {
  const [, digits, unit = ""] = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)\s*$/.exec(text) ?? [];
  return digits === undefined ? undefined : Math.round(Number(digits) * (msOf[unit] ?? Number.NaN));
}

/** `2026-11-22 12:00:00 UTC`. */
export const timeText = (iso: string): string => `${iso.slice(0, 19).replace("T", " ")} UTC`;

/** `812 ms`, and from a second on as `duration`. */
export const milliseconds = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : duration(ms / 1_000);

/** As `milliseconds`, with as many digits as tell times of one row apart that are `stepMs` from each other. */
export function stepText(ms: number, stepMs: number): string {
  if (ms < 1_000 || (stepMs >= 1_000 && ms < 3_600_000)) return milliseconds(ms);
  return `${(ms / 1_000).toFixed(Math.max(0, Math.ceil(3 - Math.log10(stepMs))))} s`;
}

/** `812 B`, `1.2 KB`, `3.4 GB`, in powers of 1,000. */
export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  let amount = value;
  while (amount >= 999.95 && unit < units.length - 1) {
    amount /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${amount} B` : `${amount.toFixed(1)} ${units[unit]}`;
}

/** `$0.0029`, to a hundredth of a cent everywhere, so that costs compare at a glance; less than that is `< $0.0001`. */
export function dollars(value: number): string {
  if (value > 0 && value < 0.00005) return "< $0.0001";
  const [whole = "", cents = ""] = value.toFixed(4).split(".");
  return `$${count(Number(whole))}.${cents}`;
}

/** `about $0.0123: storage $0.0003, compute $0.0120 (460 GB-s, 171 executions)`. */
export function costText({ dollars: all, storageDollars, computeDollars, gbS, executions }: Cost): string {
  const used = `${count(gbS)} GB-s, ${countOf(executions, "execution")}`;
  return `about ${dollars(all)}: storage ${dollars(storageDollars)}, compute ${dollars(computeDollars)} (${used})`;
}

interface Generation extends Pick<Cost, "dollars"> {
  readonly generation: number;
  readonly elapsedS: number;
  readonly calls: CallCounts;
}

/** `2: 28 s, 1,204 calls, about $0.0123`: the time, calls and cost of one generation. */
export const generationText = ({ generation, elapsedS, calls, dollars: cost }: Generation): string =>
  `${generation}: ${duration(elapsedS)}, ${countOf(totalCalls(calls), "call")}, about ${dollars(cost)}`;

interface Bounded {
  readonly run: string;
  readonly maxCost?: number | undefined;
  readonly pauseReason?: "max-cost" | undefined;
}

/** `$5.0000`, and of a run that has reached it what can be done. */
export function maxCostText({ run, maxCost = 0, pauseReason }: Bounded): string {
  if (pauseReason === undefined) return dollars(maxCost);
  const more = `leasefold cap ${run} --cost <dollars>`;
  return `${dollars(maxCost)}, and more work does not fit. "${more}" lets it go on, "leasefold cancel ${run} --keep" ends it with what is done`;
}

/** Of a plan whose run would reach its bound. */
export function overMaxCost({
  dollars: cost,
  maxCost,
}: {
  dollars: number;
  maxCost?: number;
}): string | undefined {
  if (maxCost === undefined || cost <= maxCost) return undefined;
  return `more than its max cost of ${dollars(maxCost)}: the run would pause there, at about ${percent(maxCost, cost)} of its cost`;
}

/** A rate with about three digits. */
export const perSecond = (value: number): string =>
  `${value >= 100 ? count(value) : value.toFixed(value >= 10 ? 1 : 2)}/s`;

/** Rounded down, so that 100 % means all of it. */
export const percent = (part: number, whole: number): string =>
  `${whole === 0 ? 100 : Math.floor((100 * part) / whole)} %`;

interface Counted {
  readonly active: boolean;
  readonly phase?: string | undefined;
  readonly keep?: boolean;
  readonly packs?: Counts | undefined;
  readonly chunks?: Counts | undefined;
  readonly stop?: Stop | undefined;
}

interface Stop {
  readonly of: number;
  readonly next?: { readonly chunks: number; readonly packs: Counts } | undefined;
  readonly after?: number | undefined;
}

interface Lost {
  readonly failed: number;
  readonly givenUp?: number | undefined;
}

interface Counts extends Lost {
  readonly total: number;
  readonly done: number;
}

/**
 * How far a run is, in packs, or in chunks where only some chunks of packs failed. `ended` is progress: what
 * has ended, or of a run that has ended or ends early, that whose work the result has. A retry that waits keeps what is
 * done, and computes again what failed before it. Undefined until planned.
 */
export function progressOf({ active, phase, keep, packs, chunks }: Counted) {
  const byChunk = packs !== undefined && chunks !== undefined && lostOf(packs) === 0 && lostOf(chunks) > 0;
  const counts = byChunk ? chunks : packs;
  if (counts === undefined) return undefined;
  const withFailed = active && phase !== "waiting" && keep !== true;
  const { total, done, failed, givenUp = 0 } = counts;
  const ended = done + (withFailed ? failed : 0);
  return { unit: byChunk ? "chunk" : "pack", total, done, failed, givenUp, ended } as const;
}

/**
 * The same, but of a run that may stop only up to the prefix that it is asked about next: it may end there.
 */
export function progressToStop(view: Counted) {
  const next = view.stop?.next?.packs;
  if (next === undefined) return progressOf(view);
  return progressOf({ ...view, packs: next, chunks: undefined });
}

/** Behind the packs up to the next prefix, how many the run has: ` of 1,024`. */
export const ofAllText = ({ packs, stop }: Counted): string =>
  stop?.next === undefined || packs === undefined ? "" : ` of ${count(packs.total)}`;

/** `it may stop after 128 of 1,024 chunks; progress and remaining time are up to there`, or where it has stopped. */
export function stopText({ of, next, after }: Stop): string {
  if (after !== undefined) return `it stopped after ${count(after)} of ${countOf(of, "chunk")}`;
  const end = `${count(next?.chunks ?? of)} of ${countOf(of, "chunk")}`;
  return `it may stop after ${end}; progress and remaining time are up to there`;
}

/** `it may end after 16, 32, 48 … of 1,000 chunks; the figures are of all`: of a plan, by the prefixes that its run is asked about. */
export function prefixesText(prefixes: readonly number[], chunks: number): string {
  const first = `${prefixes.slice(0, 3).map(count).join(", ")}${prefixes.length > 3 ? " …" : ""}`;
  return `it may end after ${first} of ${countOf(chunks, "chunk")}; the figures are of all`;
}

/** Packs that are progress, as in `progressOf`. */
export const endedPacks = (view: Counted): number => progressOf({ ...view, chunks: undefined })?.ended ?? 0;

/** The state of a run as text, such as `computing, paused at its max cost`. Returns states of newer versions unchanged. */
export const stateText = (run: {
  readonly word: string;
  readonly paused?: boolean;
  readonly pauseReason?: "max-cost";
  readonly keep?: boolean;
}): string =>
  [
    run.word.replaceAll("-", " "),
    ...(run.paused === true ? [run.pauseReason === undefined ? "paused" : "paused at its max cost"] : []),
    ...(run.keep === true ? ["ending early"] : []),
  ].join(", ");

/** Packs or chunks that have no partial and get none in this generation. */
export const lostOf = ({ failed, givenUp = 0 }: Lost): number => failed + givenUp;

/** What these are called: a run that ends early gives packs up that need not have failed. */
export function lostWord(view: Counted): string {
  const { phase, keep } = view;
  const { failed = 0, givenUp = 0 } = progressOf(view) ?? {};
  if (givenUp > 0) return failed === 0 ? "given up" : "missing";
  return phase === "complete" || keep === true ? "missing" : "failed";
}

/** `3 failed`, `332 given up`, `335 missing (332 given up)`. */
export function lostText(view: Counted, lost: Lost): string {
  const { failed, givenUp = 0 } = lost;
  const more = failed === 0 || givenUp === 0 ? "" : ` (${count(givenUp)} given up)`;
  return `${count(lostOf(lost))} ${lostWord(view)}${more}`;
}

/**
 * `12: 4 computed by 2 instances, 8 wait`: packs that were sent and have not ended. Heartbeats tell who computes them, those of long packs
 * only. Workers drop the packs of a paused run, and nobody finds out which are lost, so there the rest waits for the run to go on.
 * Empty where nothing is in flight.
 */
export function inFlightText(
  view: {
    readonly packs?: (Lost & { readonly sent: number; readonly done: number }) | undefined;
    readonly active: boolean;
    readonly paused: boolean;
  },
  computedBy: { readonly instances: number; readonly threads: number } | undefined,
): string {
  const { packs, active, paused } = view;
  const flying = packs === undefined || !active ? 0 : packs.sent - packs.done - lostOf(packs);
  if (flying <= 0) return "";
  const rest = paused ? "wait for the run to go on" : "wait";
  if (computedBy === undefined)
    return paused ? `none is seen; ${count(flying)} that were sent ${rest}` : count(flying);
  const computed = Math.min(computedBy.threads, flying);
  const by = countOf(computedBy.instances, "instance");
  return `${count(flying)}: ${count(computed)} computed by ${by}, ${count(flying - computed)} ${rest}`;
}

/** `team=risk, date=2026-11-23`. */
export const tagsText = (tags: Readonly<Record<string, string>>): string =>
  Object.entries(tags)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");

/** A clause as a sentence of its own. */
export const sentence = (clause: string): string => `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;

/** The generation of a result that is older than the newest one, and how the newest one ended without a result. */
export function olderText(view: {
  readonly generation: number;
  readonly phase: string;
  readonly result?: { readonly generation: number } | undefined;
}): string | undefined {
  const { generation, phase, result } = view;
  if (result === undefined || result.generation === generation) return undefined;
  const lost = phase === "complete" ? "has lost its result" : phase;
  const end = phase === "cancelled" ? "was cancelled" : lost;
  return `this result is of generation ${result.generation}; generation ${generation} ${end}`;
}

/** What a run does at its deadline. One that has no plan by then has nothing to keep. */
export function deadlineEnd(view: Pick<Counted, "packs"> & { deadline?: { keep: boolean } }): string {
  if (view.deadline?.keep !== true) return "fails";
  return view.packs === undefined ? "fails unless it is planned" : "finishes with what is done";
}

/** In place of a remaining time. */
export const behindText = (run: string): string => `waiting behind run ${run}`;
