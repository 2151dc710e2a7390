import { expect, test, vi } from "vitest";
import { part, parts, planOf } from "../support/runFixtures.ts";
import { first, step } from "./deciding.ts";

const computing = () => step(step(first()).state, { plan: planOf(40) }).state;

test("the facts of a partial are parsed when it is first listed, and not in later polls", () => {
  const parse = vi.spyOn(String.prototype, "matchAll");
  const begun = computing();
  parse.mockClear();
  const once = step(begun, { parts: parts(0, 20) });
  expect([once.gained, once.state.packsDone, parse.mock.calls.length]).toEqual([20, 20, 20]);
  const again = step(once.state, { parts: parts(0, 20) });
  expect([again.gained, again.state.packsDone, parse.mock.calls.length]).toEqual([0, 20, 20]);
  parse.mockRestore();
});

test("a decision changes a copy of the state, which is what its JSON says", () => {
  const state = { ...computing(), pausedAtMs: undefined } as unknown as ReturnType<typeof computing>;
  const before = JSON.stringify(state);
  const { state: next } = step(state, { parts: [part(3)] });
  expect(next.packsDone).toBe(1);
  expect(JSON.stringify(state)).toBe(before);
  expect(next).not.toHaveProperty("pausedAtMs");
});
