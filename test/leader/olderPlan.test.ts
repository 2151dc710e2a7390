import { expect, test } from "vitest";
import { wantedOf } from "../../src/engine/leader/decide/want.ts";
import { newLists } from "../../src/engine/leader/notes.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { NewerVersionError } from "../../src/engine/model/errors.ts";
import { type Plan, planSchema } from "../../src/engine/model/run.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, manifest, planOf, runNotes } from "../support/runFixtures.ts";
import { step } from "./deciding.ts";

const wantsPlan = (working: State): boolean =>
  wantedOf({ working, notes: runNotes(), lists: newLists(0) }, { localMs: 1_000 }).plan;
const { fold: _fold, ...cut } = planOf(40);
const older: Plan = { ...cut, v: 1 };

/** As a leader of the version before leaves it: it drops the fields of a layout that it does not know. */
function leftByOlder(state: State): State {
  const { fold: _dropped, ...layout } = state.layout ?? planOf(40);
  return { ...state, layout };
}

const failed = {
  phase: "failed",
  error: { code: "older-plan", message: expect.stringMatching(/earlier version.*retry it with --recompute/) },
};

test("a run that an instance of the version before plans or has planned fails with what to do", () => {
  const planning: State = { ...computing(40), phase: "planning" };
  delete planning.layout;
  expect(step(planning, { plan: older }).ending).toMatchObject(failed);
  for (const phase of ["computing", "finishing"] as const) {
    const before = { ...leftByOlder(computing(40)), phase };
    expect(wantsPlan(before)).toBe(true);
    const { ending, packs } = step(before, { plan: older });
    expect([ending, packs]).toEqual([expect.objectContaining(failed), []]);
  }
});

test("its result counts if that was made before", () => {
  const before: State = { ...leftByOlder(computing(40)), phase: "finishing" };
  expect(step(before, { plan: older, manifest }).ending).toEqual({ phase: "complete" });
});

test("a run of this version that was led by the one before goes on, and its plan is read once", () => {
  const before = leftByOlder(computing(40));
  expect(wantsPlan(before)).toBe(true);
  const { ending, state, packs } = step(before, { plan: planOf(40) });
  expect([ending, packs.length > 0, state.layout]).toEqual([undefined, true, computing(40).layout]);
  expect(wantsPlan(state)).toBe(false);
});

test("an instance of the version before takes a plan for one of a newer version", () => {
  // Its schema has no meta data, and version 1 alone.
  const asBefore = planSchema
    .clone()
    .meta({ wireVersion: 1 })
    .refine(({ v }) => v === 1);
  const text = JSON.stringify(planOf(40));
  expect(() => decodeJson(asBefore, text, "plan")).toThrow(NewerVersionError);
  expect(decodeJson(planSchema, text, "plan")).toEqual(planOf(40));
});
