import { expect, test } from "vitest";
import { always } from "../../../../src/calculations/registry.ts";
import { keepsEveryLaw } from "../../../../test/support/keepsEveryLaw.ts";

/** Small, and still of three chunks and more. */
const entries: Readonly<Record<string, Readonly<Record<string, unknown>>>> = { primes: { to: 3e8 } };

test("every built-in calculation has an entry here", () => {
  expect(Object.keys(entries)).toEqual(always.map(({ name }) => name));
});

test.each(always.map((one) => [one.name, one] as const))("%s keeps every law", (name, calculation) =>
  keepsEveryLaw(calculation, entries[name]),
);
