import { expect, test } from "vitest";
import { mutants as ofElection } from "../election/mutants/mutants.ts";
import { mutants as ofEngine } from "../engine/mutants/mutants.ts";
import { mutate, typeErrors } from "./mutation.ts";

test("a mutant whose text or name no longer fits the code is stale, and says so", () => {
  const gone = { in: "nextRenewalMs", find: "a condition that nobody wrote", replace: "" };
  const code = new Map([["src/a.ts", "export function nextRenewalMs(): number { return 1; }"]]);
  expect(() => mutate(code, [gone])).toThrow("mutant is stale: the text is there 0 times, not once");
  expect(() => mutate(code, [{ ...gone, in: "nobody" }])).toThrow("mutant is stale: nothing has that name");
});

test("every mutant type-checks, and of one that does not the compiler tells", () => {
  const untyped = { in: "nextRenewalMs", find: "): number", replace: "): string" };
  const all = [...ofEngine.map(({ edits }) => edits), ...ofElection.map((mutant) => [mutant])];
  const errors = typeErrors([[untyped], ...all]);
  expect(errors.length).toBeGreaterThan(0);
  expect(errors.filter((line) => !line.startsWith("src/election/policy.mutant0.ts"))).toEqual([]);
});
