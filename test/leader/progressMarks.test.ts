import fc from "fast-check";
import { expect, test } from "vitest";
import { markProgress } from "../../src/engine/leader/decide/decide.ts";
import { stateSchema } from "../../src/engine/model/state.ts";
import { computing } from "../support/runFixtures.ts";

test("marks stay few and evenly spread, and the first and the latest are always there", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5_000 }),
      fc.array(fc.integer({ min: 0, max: 400 })),
      (packs, steps) => {
        const state = computing(packs);
        for (const [poll, step] of [0, ...steps].entries()) {
          state.packsDone = Math.min(state.packsDone + step, packs);
          markProgress({ state }, 1_000 * poll);
          const { marks } = state.progress;
          expect(marks.length).toBeLessThanOrEqual(32);
          expect(marks[0]).toMatchObject({ atMs: 0, ended: 0 });
          expect(marks.at(-1)?.ended).toBe(state.packsDone);
          const gaps = marks.slice(1).map((mark, index) => mark.ended - (marks[index]?.ended ?? 0));
          expect(gaps.every((gap) => gap > 0)).toBe(true);
          expect(gaps.slice(0, -1).every((gap) => gap >= packs / 30)).toBe(true);
        }
      },
    ),
  );
});

test("a poll that counts nothing changes nothing, so that no state is written for it", () => {
  const state = { ...computing(100), packsDone: 10 };
  markProgress({ state }, 1_000);
  const before = structuredClone(state);
  markProgress({ state }, 9_000);
  expect(state).toEqual(before);
});

test("a run that does not compute has no marks", () => {
  const state = { ...computing(100), phase: "planning" as const };
  markProgress({ state }, 1_000);
  expect(state.progress.marks).toEqual([]);
});

test("a generation begins with one mark, also where an earlier one was cancelled far on", () => {
  const state = { ...computing(100), packsDone: 10 };
  markProgress({ state }, 1_000);
  state.packsDone = 60;
  markProgress({ state }, 2_000);
  state.generation = 2;
  markProgress({ state }, 900_000);
  expect(state.progress).toEqual({
    generation: 2,
    turn: 0,
    marks: [{ atMs: 900_000, ended: 60, computeMs: 0 }],
  });
});

test("a state from before there were marks decodes", () => {
  const { progress: _progress, ...older } = computing(100);
  expect(stateSchema.parse(older).progress).toEqual({ generation: 1, turn: 0, marks: [] });
});
