import { expect, test } from "vitest";
import { makeRestarts } from "../../local/supervision.ts";

function restarts() {
  let nowMs = 0;
  const made = makeRestarts({ monotonicMs: () => nowMs });
  return {
    made,
    ended: () => made.ended("exit code 3"),
    runFor(ms: number) {
      made.runs();
      nowMs += ms;
    },
  };
}

test("the pause before a start doubles with each end in a row, up to 30 s", () => {
  const { made, ended, runFor } = restarts();
  const pauses = Array.from({ length: 8 }, () => {
    runFor(5_000);
    return ended();
  });
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  for (let end = 8; end < 5_000; end += 1) expect(ended()).toBe(30_000);
  expect(made.down).toEqual({ reason: "exit code 3", ends: 5_000 });
});

test("an instance that was blocked has not run, however long that was", () => {
  const { made, runFor } = restarts();
  const pauses = Array.from({ length: 3 }, () => {
    runFor(600_000);
    return made.ended("a file blocked it", { blocked: true });
  });
  expect(pauses).toEqual([1_000, 2_000, 4_000]);
});

test("an instance that ran for a minute begins anew with the shortest pause, and one that never came up does not", () => {
  const { made, ended, runFor } = restarts();
  ended();
  expect(ended()).toBe(2_000);
  runFor(60_000);
  expect(made.down).toBeUndefined();
  expect(ended()).toBe(1_000);
  expect(ended()).toBe(2_000);
});
