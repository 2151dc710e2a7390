import { expect, it } from "vitest";
import { calls, noCalls } from "../../src/engine/model/calls.ts";
import { costOf } from "../../src/engine/model/cost.ts";

it("an hour of one instance of 2 GB and a million executions cost what the price list says", () => {
  const { computeDollars, gbS } = costOf(noCalls, { mbMs: 2_048 * 3_600_000, executions: 0 });
  expect(gbS).toBe(7_200);
  expect(computeDollars).toBe(0.1872);
  expect(costOf(noCalls, { mbMs: 0, executions: 1_000_000 }).computeDollars).toBe(0.4);
});

it("dollars are storage and compute", () => {
  expect(costOf(calls({ write: 10_000 }), { mbMs: 0, executions: 1_000_000 })).toEqual({
    ...{ dollars: 0.455, storageDollars: 0.055, computeDollars: 0.4 },
    ...{ gbS: 0, executions: 1_000_000 },
  });
});
