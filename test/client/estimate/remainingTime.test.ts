import { describe, expect, it } from "vitest";
import { remainingTime, standsStill } from "../../../src/engine/client/estimate/remainingTime.ts";
import { markProgress } from "../../../src/engine/leader/decide/decide.ts";
import type { State } from "../../../src/engine/model/state.ts";
import { computing } from "../../support/runFixtures.ts";

/** A run of packs of one second each, four at once, polled each second until `until` packs have ended. */
function steady(packs: number, until: number, change: Partial<State> = {}): { state: State; nowMs: number } {
  const state: State = { ...computing(packs), ...change };
  let nowMs = 0;
  markProgress({ state }, nowMs);
  while (state.packsDone + state.packsFailed < until) {
    nowMs += 1_000;
    endPacks(state, 4);
    markProgress({ state }, nowMs);
  }
  return { state, nowMs };
}

function endPacks(state: State, packs: number): void {
  state.packsDone += packs;
  state.computeMs += 1_000 * packs;
  state.durationsMs.push(...Array.from({ length: packs }, () => 1_000));
}

describe("the estimate of the remaining time", () => {
  it("is packs left ÷ packs at once for a steady run", () => {
    const { state, nowMs } = steady(400, 200);
    const left = remainingTime(state, nowMs);
    expect(left?.expectedS).toBeGreaterThan(48);
    expect(left?.expectedS).toBeLessThan(52);
    expect((left?.highS ?? 0) / (left?.lowS ?? 1)).toBeLessThan(1.5);
  });

  it("falls between two polls, stands while queued packs do not advance, and is absent once nothing has ended for long", () => {
    const { state, nowMs } = steady(400, 200);
    const now = remainingTime(state, nowMs);
    for (const [laterS, workedS] of [
      [3, 3],
      [7, 4],
    ] as const) {
      const later = remainingTime(state, nowMs + 1_000 * laterS);
      expect(later?.expectedS).toBeCloseTo((now?.expectedS ?? 0) - workedS, 6);
      expect(later?.highS).toBeCloseTo((now?.highS ?? 0) - workedS, 6);
    }
    // Three times as long as packs take, or two polls.
    const stillMs = Math.max(3 * Math.max(...state.durationsMs), 8_000);
    expect(standsStill(state, nowMs + stillMs)).toBe(false);
    expect(standsStill(state, nowMs + stillMs + 1)).toBe(true);
    expect(remainingTime(state, nowMs + stillMs + 1)).toBeUndefined();
  });

  it("is absent for a run that waits for instances with its code", () => {
    const { state, nowMs } = steady(400, 200);
    const otherCode = { needed: "sum@1", theirs: ["sum@2"], sinceMs: nowMs };
    expect(remainingTime({ ...state, otherCode }, nowMs)).toBeUndefined();
    expect(remainingTime(state, nowMs)).toBeDefined();
  });

  it("is absent for a run that is paused, not computing, just begun, or without packs left", () => {
    const { state, nowMs } = steady(400, 200);
    expect(remainingTime({ ...state, paused: true }, nowMs)).toBeUndefined();
    expect(remainingTime({ ...state, phase: "finishing" }, nowMs)).toBeUndefined();
    expect(remainingTime({ ...state, durationsMs: [] }, nowMs)).toBeUndefined();
    expect(remainingTime(computing(400), 0)).toBeUndefined();
    const begun = steady(400, 4);
    expect(remainingTime(begun.state, begun.nowMs)).toBeUndefined();
    const over = steady(200, 200);
    expect(remainingTime(over.state, over.nowMs)).toBeUndefined();
  });

  it("excludes the time of a pause", () => {
    const { state, nowMs } = steady(400, 100);
    const straight = structuredClone(state);
    state.turn = 1;
    state.paused = true;
    markProgress({ state }, nowMs);
    const resumedMs = nowMs + 3_600_000;
    state.turn = 2;
    state.paused = false;
    markProgress({ state }, resumedMs);
    for (let second = 1; second <= 5; second += 1) {
      endPacks(state, 4);
      markProgress({ state }, resumedMs + 1_000 * second);
      endPacks(straight, 4);
      markProgress({ state: straight }, nowMs + 1_000 * second);
    }
    const left = remainingTime(state, resumedMs + 5_000);
    expect(left).toBeDefined();
    expect(left).toEqual(remainingTime(straight, nowMs + 5_000));
  });

  it("uses only the packs of the retry after a retry", () => {
    const small = steady(100, 40);
    const retried = steady(900, 840, { generation: 2, packsDone: 800, computeMs: 77_000 });
    expect(remainingTime(small.state, small.nowMs)).toBeDefined();
    expect(remainingTime(retried.state, retried.nowMs)).toEqual(remainingTime(small.state, small.nowMs));
  });

  it("counts a failed pack as ended", () => {
    const state = computing(400);
    markProgress({ state }, 0);
    for (let second = 1; second <= 50; second += 1) {
      endPacks(state, 3);
      state.packsFailed += 1;
      markProgress({ state }, 1_000 * second);
    }
    const left = remainingTime(state, 50_000);
    expect(left?.expectedS).toBeGreaterThan(48);
    expect(left?.expectedS).toBeLessThan(52);
  });

  it("is finite for packs whose durations are all zero", () => {
    const { state, nowMs } = steady(400, 200);
    state.durationsMs.fill(0);
    for (const mark of state.progress.marks) mark.computeMs = 0;
    const left = remainingTime(state, nowMs);
    expect(left?.expectedS).toBeGreaterThan(45);
    expect(left?.expectedS).toBeLessThan(55);
  });

  it("halves soon after the number of workers doubles", () => {
    const { state, nowMs } = steady(800, 400);
    for (let second = 1; second <= 10; second += 1) {
      endPacks(state, 8);
      markProgress({ state }, nowMs + 1_000 * second);
    }
    const left = remainingTime(state, nowMs + 10_000);
    expect(left?.expectedS).toBeGreaterThan(36);
    expect(left?.expectedS).toBeLessThan(44);
  });
});
