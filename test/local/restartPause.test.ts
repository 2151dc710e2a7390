import { expect, test } from "vitest";
import { restartPause } from "../../src/local/restartPause.ts";

test("the pause before a start grows with each end in a row, to 30 s and no further", () => {
  const pauses: number[] = [];
  let ends = 0;
  for (let end = 0; end < 8; end += 1) {
    const next = restartPause(ends, 500);
    ends = next.ends;
    pauses.push(next.pauseMs);
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  expect(restartPause(10_000, 500).pauseMs).toBe(30_000);
});

test("an instance that ran for a minute starts over with the shortest pause", () => {
  expect(restartPause(7, 60_000)).toEqual({ ends: 1, pauseMs: 1_000 });
  // One that never came up did not run at all.
  expect(restartPause(7, Number.NEGATIVE_INFINITY)).toEqual({ ends: 8, pauseMs: 30_000 });
});
