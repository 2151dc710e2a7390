import { expect, test } from "vitest";
import * as z from "zod";
import { defineCalculation } from "../../src/engine/calculation/contract.ts";
import { runPlan } from "../../src/engine/calculation/runJob.ts";

const of = (plan: () => Iterable<unknown>) =>
  defineCalculation({
    name: "reused",
    summary: "s",
    params: z.object({}),
    plan: plan as never,
    compute: () => 0,
    merge: (a: number, b: number) => a + b,
    zero: () => 0,
  });
const inputsOf = async (plan: () => Iterable<unknown>): Promise<unknown[]> => {
  const stored: unknown[] = [];
  await runPlan(
    of(plan),
    {},
    async (inputs) => void stored.push(...(JSON.parse(JSON.stringify(inputs)) as unknown[])),
  );
  return stored;
};

test("an input is what it was when the plan gave it, also where the plan uses one object for all", async () => {
  const plan = function* () {
    const range = { from: 0, to: 0 };
    for (let chunk = 0; chunk < 3; chunk += 1) {
      range.from = 10 * chunk;
      range.to = 10 * chunk + 10;
      yield range;
    }
  };
  expect(await inputsOf(plan)).toEqual([
    { from: 0, to: 10 },
    { from: 10, to: 20 },
    { from: 20, to: 30 },
  ]);
});

test.each([
  ["it is a Map", new Map([["a", 1]])],
  ["when is a Set", { when: new Set([1]) }],
  ["bytes is a Uint8Array", { bytes: new Uint8Array(2) }],
])("an input that JSON would empty is refused, as a partial is: %s", async (what, input) => {
  const message = `the input of chunk 1 cannot be JSON: ${what}`;
  await expect(inputsOf(() => [{ fine: 1 }, input])).rejects.toThrow(message);
});
