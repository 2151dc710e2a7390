import { type RemainingTime, remainingTime } from "../../../src/engine/client/estimate/remainingTime.ts";
import { markProgress } from "../../../src/engine/leader/decide/decide.ts";
import { limits } from "../../../src/engine/model/limits.ts";
import type { State } from "../../../src/engine/model/state.ts";
import { computing } from "../../support/runFixtures.ts";
import { seededRandom } from "../../support/virtualClock.ts";
import { type Family, families, pickOf, type SuiteRun } from "./runFamilies.ts";

/** An estimate for one run, and the true remaining time. */
export interface Estimated {
  /** Share of the packs that had ended: one of `shares`. */
  readonly share: number;
  readonly truthS: number;
  readonly told: RemainingTime | undefined;
  readonly elapsedS: number;
}

/** Shares of ended packs at which an estimate is made. */
export const shares = [0.2, 0.35, 0.5, 0.7, 0.9] as const;

/** Simulates `runs` runs of a family in plain arithmetic: no queue, no storage, only polls of a list of ends. */
export const estimated = (family: Family, runs: number): Estimated[] =>
  Array.from({ length: runs }, (_, seed) => estimateOne(family, seed + 1)).flat();

function estimateOne(family: Family, seed: number): Estimated[] {
  const random = seededRandom(seed);
  const packs = pickOf(random, [30, 60, 100, 200, 300, 1_000, 3_000]);
  const most = pickOf(
    random,
    [1, 2, 4, 8, 16, 32, 64, 128].filter((threads) => threads <= packs / 4),
  );
  const packMs = 250 * 100 ** random.number();
  const jitter = pickOf(random, [0.02, 0.1, 0.3]);
  const durationsMs = Array.from({ length: packs }, () => packMs * (1 + jitter * (2 * random.number() - 1)));
  const takeMs = 5 + 30 * random.number();
  const besideMs = durationsMs.map(() => takeMs);
  const even = { durationsMs, besideMs, threads: () => most, most, random };
  const pollMs = pickOf(random, [100, 2_000]);
  return pollRun({ ...even, ...families[family](even) }, pollMs);
}

/** Adds the leader's marks poll by poll, and makes an estimate whenever the next share is reached. */
function pollRun(run: SuiteRun, pollMs: number): Estimated[] {
  const packs = run.durationsMs.length;
  const ends = endsOf(run);
  const endMs = ends.at(-1)?.atMs ?? 0;
  const state: State = computing(packs);
  markProgress({ state }, 0);
  const found: Estimated[] = [];
  let ended = 0;
  let next = 0;
  while (ended < packs) {
    // Polls that find nothing new change nothing.
    const atMs = Math.ceil((ends[ended]?.atMs ?? 0) / pollMs) * pollMs;
    for (let end = ends[ended]; end !== undefined && end.atMs <= atMs; end = ends[ended]) {
      state.durationsMs.push(Math.round(end.durationMs));
      state.computeMs += Math.round(end.durationMs);
      ended += 1;
    }
    state.durationsMs.splice(0, state.durationsMs.length - limits.durationsKept);
    state.packsDone = ended;
    // Storage tells the time in whole seconds.
    const nowMs = Math.floor(atMs / 1_000) * 1_000;
    markProgress({ state }, nowMs);
    let share: number | undefined;
    while ((shares[next] ?? 2) * packs <= ended) share = shares[next++];
    if (share === undefined || ended === packs) continue;
    const told = remainingTime(state, nowMs);
    found.push({ share, told, truthS: (endMs - atMs) / 1_000, elapsedS: atMs / 1_000 });
  }
  return found;
}

/** The packs in the order in which they end. */
function endsOf({ durationsMs, besideMs, threads }: SuiteRun): { atMs: number; durationMs: number }[] {
  const ended: { atMs: number; durationMs: number }[] = [];
  /** Packs in flight; the last element ends first. */
  const inFlight: { atMs: number; durationMs: number }[] = [];
  let nowMs = 0;
  let begun = 0;
  while (ended.length < durationsMs.length) {
    while (begun < durationsMs.length && inFlight.length < threads(ended.length)) {
      const durationMs = durationsMs[begun] ?? 0;
      const one = { atMs: nowMs + durationMs + (besideMs[begun] ?? 0), durationMs };
      const index = inFlight.findIndex(({ atMs }) => atMs <= one.atMs);
      inFlight.splice(index < 0 ? inFlight.length : index, 0, one);
      begun += 1;
    }
    const next = inFlight.pop();
    if (next === undefined) throw new Error("no thread is at work");
    nowMs = next.atMs;
    ended.push(next);
  }
  return ended;
}
