import { packsOf } from "../../model/packs.ts";
import type { State } from "../../model/state.ts";
import { concurrencyOf } from "./concurrency.ts";
import { lastPacksMs } from "./lastPacks.ts";
import { type PackTime, packTimeOf } from "./packTime.ts";
import { leastMs, progressParts } from "./progressParts.ts";

/** Seconds until the last pack has its outcome: the middle, and a band that holds the truth in four of five cases. */
export interface TimeLeft {
  readonly expectedS: number;
  readonly lowS: number;
  readonly highS: number;
}

/** The middle 80 % of a normal distribution lie so many standard deviations to either side. */
const deviations = 1.28;
/** Fewer outcomes say nothing, and a fifth of a small run is not many. */
const outcomesMin = 5;
/** The leader looks each two seconds, and marks carry whole ones. */
const lookMs = 4_000;

/**
 * The time left of a run that computes: packs waiting × what one takes ÷ packs at once, and then the rest of the
 * last ones. Errors that do not depend on each other make the band. Undefined where there is nothing to judge by:
 * paused, too few outcomes, or none for longer than the whole band.
 *
 * Not promised: to foresee a sudden change, or the few longest packs of a run that computes nearly all at once.
 */
export function timeLeft(state: State, nowMs: number): TimeLeft | undefined {
  const { layout, phase, paused } = state;
  const { marks } = state.progress;
  const last = marks.at(-1);
  if (phase !== "computing" || paused || layout === undefined || last === undefined) return undefined;
  const left = packsOf(layout) - last.ended;
  const ended = last.ended - (marks[0]?.ended ?? 0);
  const durationsMs = state.durationsMs.map((duration) => Math.max(duration, leastMs));
  if (left <= 0 || ended < outcomesMin || durationsMs.length === 0) return undefined;
  const parts = progressParts(marks);
  const time = packTimeOf(parts, durationsMs, left);
  const concurrency = concurrencyOf(parts, time.nowMs);
  if (concurrency === undefined) return undefined;

  const ahead = { durationsMs, left, time, error: concurrency.error };
  const slow = bandOf({ ...ahead, busy: concurrency.busy });
  const fast = bandOf({ ...ahead, busy: Math.min(concurrency.busyMax, left + ended) });
  const agoMs = Math.max(0, nowMs - last.atMs);
  const highMs = Math.max(slow.highMs, fast.highMs);
  if (agoMs >= highMs) return undefined;
  // Packs that wait get no further while none ends; what a look may be late by counts as work.
  const workedMs = left > concurrency.busy ? Math.min(agoMs, Math.max(time.nowMs, lookMs)) : agoMs;
  const inS = (ms: number) => Math.max(0, ms - workedMs) / 1000;
  return {
    expectedS: inS(Math.sqrt(slow.middleMs * fast.middleMs)),
    lowS: inS(Math.min(slow.lowMs, fast.lowMs)),
    highS: inS(highMs),
  };
}

interface Ahead {
  readonly durationsMs: readonly number[];
  readonly left: number;
  readonly time: PackTime;
  /** Packs at once, and the standard error of that. */
  readonly busy: number;
  readonly error: number;
}

function bandOf({ durationsMs, left, time, busy, error }: Ahead) {
  const atOnce = Math.max(busy, 1);
  const waiting = Math.max(left - atOnce, 0);
  const waitingMs = (waiting * time.aheadMs) / busy;
  const wrong = Math.hypot(time.chance / Math.sqrt(Math.max(waiting, 1)), time.error, error);
  const factor = Math.exp(deviations * wrong);
  const mean = durationsMs.reduce((sum, duration) => sum + duration, 0) / durationsMs.length;
  const rest = lastPacksMs({ durationsMs: durationsMs.map((ms) => (ms * time.nowMs) / mean), atOnce, left });
  // Packs that end together leave the last round anywhere between empty and full, an error even over a pack.
  const roundMs = (deviations * time.nowMs * (1 - 1 / atOnce)) / Math.sqrt(12);
  const middleMs = waitingMs + rest.middle;
  return {
    middleMs,
    lowMs: middleMs - Math.hypot(waitingMs * (1 - 1 / factor), rest.middle - rest.low, roundMs),
    highMs: middleMs + Math.hypot(waitingMs * (factor - 1), rest.high - rest.middle, roundMs),
  };
}
