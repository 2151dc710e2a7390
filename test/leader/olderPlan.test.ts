import { expect, test } from "vitest";
import { decide } from "../../src/engine/leader/decide/decide.ts";
import { wantedOf } from "../../src/engine/leader/poll/seen.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { NewerVersionError } from "../../src/engine/model/errors.ts";
import { type Plan, planSchema } from "../../src/engine/model/run.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, manifest, planOf, runNotes, seen } from "../support/runFixtures.ts";

const at = { nowMs: 1_000, localMs: 1_000, limitMs: 60_000 };
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
  expect(decide(planning, seen({ plan: older }), runNotes(), at).ending).toMatchObject(failed);
  for (const phase of ["computing", "finishing"] as const) {
    const before = { ...leftByOlder(computing(40)), phase };
    expect(wantedOf(before, runNotes(), at).plan).toBe(true);
    const { ending, packs } = decide(before, seen({ plan: older }), runNotes(), at);
    expect([ending, packs]).toEqual([expect.objectContaining(failed), []]);
  }
});

test("its result counts if that was made before", () => {
  const before: State = { ...leftByOlder(computing(40)), phase: "finishing" };
  const found = seen({ plan: older, manifest });
  expect(decide(before, found, runNotes(), at).ending).toEqual({ phase: "complete" });
});

test("a run of this version that was led by the one before goes on, and its plan is read once", () => {
  const before = leftByOlder(computing(40));
  expect(wantedOf(before, runNotes(), at).plan).toBe(true);
  const { ending, state, packs } = decide(before, seen({ plan: planOf(40) }), runNotes(), at);
  expect([ending, packs.length > 0, state.layout]).toEqual([undefined, true, computing(40).layout]);
  expect(wantedOf(state, runNotes(), at).plan).toBe(false);
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
