import { electionSettings } from "../../../src/election/settings.ts";
import { type CallName, type Fate, fates, type Weather } from "../../support/network.ts";
import { blob, container, type Role, type SimulationResult, stage } from "./stage.ts";

/** One fault at one call of a leader's life, and perhaps an operator at the very same moment. */
export interface Point {
  /** Which of the leader's calls, from 1; 0 is a life without a fault. */
  readonly call: number;
  readonly fate: Fate;
  /** How many calls in a row, from that one on. */
  readonly times: number;
  readonly operator: "no" | "breaks" | "deletes";
  readonly early: boolean;
}

export interface PointResult extends SimulationResult {
  /** What the leader called in all. */
  readonly calls: readonly CallName[];
}

interface Plain extends Weather {
  calm: boolean;
}

/**
 * Two instances: one comes first, leads for some seconds and is then asked to stop; the other watches. The first
 * meets the fault at the given call. Storms draw their faults; here none is left out.
 */
export async function everyPoint(point: Point): Promise<PointResult> {
  const settings = electionSettings({ breakAfterMs: point.early ? 4_000 : 0, watching: true });
  const calls: CallName[] = [];
  const plain = (): Plain => ({ calm: false, fateOf: () => "arrives" });
  const role = (weather: Plain, firstTickMs: number): Role<Plain> => ({
    ...{ weather, settings, firstTickMs, skewMs: 0, rate: 1, reckless: false },
  });
  const play = await stage(77 + point.call, () => role(plain(), 1_000));
  const { storage, checkers, alive, step } = play;

  const operate = (): void => {
    if (point.operator === "no" || !storage.operator.blobNames(container).includes(blob)) return;
    checkers.operatorActed(point.operator === "deletes" ? 0 : undefined);
    if (point.operator === "deletes") storage.operator.deleteBlob(container, blob);
    else breakQuietly(() => storage.operator.breakLease(container, blob));
  };
  const faulty: Plain = {
    calm: false,
    fateOf(name) {
      calls.push(name);
      if (calls.length === point.call) operate();
      const hit = calls.length >= point.call && calls.length < point.call + point.times;
      return hit && point.call > 0 ? point.fate : "arrives";
    },
  };
  const first = play.start(role(faulty, 10));
  alive.push(first, play.start(role(plain(), 150)));
  await step(() => false, 7_000);
  if (!first.isDead() && !first.isStopped()) first.terminate();
  // What is very late must still find someone to do harm to.
  const isLate = point.fate === "very late" || point.fate === "twice";
  await step(() => false, isLate ? 46_000 : 8_000);
  return { ...(await play.finish()), calls };
}

function breakQuietly(breakLease: () => void): void {
  try {
    breakLease();
  } catch {
    // There was no lease to break.
  }
}

/** All points of a life of so many calls. */
export function* pointsOf(calls: number): Generator<Point> {
  for (let call = 1; call <= calls; call += 1) {
    for (const [index, fate] of fates.entries()) {
      const early = (call + index) % 2 === 0;
      yield { call, fate, times: 1, operator: "no", early };
      yield { call, fate, times: 3, operator: "no", early: !early };
    }
    for (const fate of ["arrives", "hangs", "hangs after", "lost reply", "late"] as const) {
      yield { call, fate, times: 1, operator: "breaks", early: call % 2 === 0 };
      yield { call, fate, times: 1, operator: "deletes", early: call % 2 === 1 };
    }
  }
}
