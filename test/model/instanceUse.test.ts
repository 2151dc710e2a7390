import { expect, it } from "vitest";
import { calls, noCalls } from "../../src/engine/model/calls.ts";
import { addUse, costOf, decodeUse, encodeUse, spentWith } from "../../src/engine/model/instanceUse.ts";
import { outputContentType, parseOutputFacts } from "../../src/engine/model/output.ts";

it("an hour of one instance of 2 GB and a million executions cost what the price list says", () => {
  const { computeDollars, gbS } = costOf(noCalls, { mbMs: 2_048 * 3_600_000, executions: 0 });
  expect(gbS).toBe(7_200);
  expect(computeDollars).toBe(0.1872);
  expect(costOf(noCalls, { mbMs: 0, executions: 1_000_000 }).computeDollars).toBe(0.4);
});

it("dollars are storage and compute, and storage alone where nobody told of instances", () => {
  const storage = calls({ write: 10_000 });
  expect(costOf(storage, { mbMs: 0, executions: 1_000_000 })).toEqual({
    ...{ dollars: 0.455, storageDollars: 0.055, computeDollars: 0.4 },
    ...{ gbS: 0, executions: 1_000_000 },
  });
  expect(costOf(storage, undefined)).toEqual({ dollars: 0.055, storageDollars: 0.055 });
});

it("what is not known stays unknown until somebody tells", () => {
  const spent = { calls: noCalls };
  expect("use" in spentWith(spent, { calls: noCalls })).toBe(false);
  const use = { mbMs: 1, executions: 2 };
  expect(spentWith(spent, { calls: noCalls, use }).use).toEqual(use);
  expect(spentWith({ calls: noCalls, use }, { calls: noCalls }).use).toEqual(use);
  expect(addUse(use, use)).toEqual({ mbMs: 2, executions: 4 });
});

it("text of an earlier version tells nothing, and other text no use", () => {
  expect(decodeUse(undefined)).toBeUndefined();
  for (const text of ["", "x", "1", "1.2.3", "-1.1", "1.5.1", "1e99.1", "NaN.1"])
    expect(decodeUse(text)).toEqual({ mbMs: 0, executions: 0 });
  expect(decodeUse(encodeUse({ mbMs: 1_662_976, executions: 1 }))).toEqual({
    mbMs: 1_662_976,
    executions: 1,
  });
});

it("an output tells its use in its content type, where a reader of an earlier version ignores it", () => {
  const facts = { ms: 812, attempt: 1, calls: noCalls, use: { mbMs: 1_662_976, executions: 1 } };
  expect(parseOutputFacts(outputContentType("a/b", facts))).toEqual(facts);
  expect(parseOutputFacts("a/b; ms=1; attempt=1; calls=0.0.0.0.0.0")).not.toHaveProperty("use");
});
