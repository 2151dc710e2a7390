import { describe, expect, it } from "vitest";
import { accepts, identityOf, refusedText, shownIdentity } from "../../src/engine/model/identity.ts";

const first = identityOf("mc-var", "sha256:3f2a8b1c9d0e");
const second = identityOf("mc-var", "sha256:9c1b00000000");

describe("the identity of a calculation's code", () => {
  it("is accepted where it is the plan's, and where the request takes it", () => {
    expect(accepts({ code: first }, first)).toBe(true);
    expect(accepts({ code: first }, second)).toBe(false);
    expect(accepts({ code: first, mix: [second] }, second)).toBe(true);
  });

  it("is never accepted where there is none", () => {
    expect(accepts({ code: first }, undefined)).toBe(false);
    expect(accepts({}, second)).toBe(false);
    expect(accepts({}, undefined)).toBe(false);
  });

  it("is shown to people without the name of its hash", () => {
    expect(shownIdentity(first)).toBe("mc-var 3f2a8b1c9d0e");
    expect(shownIdentity("primes@1")).toBe("primes 1");
    expect(refusedText({ needed: first, theirs: [second] })).toBe(
      "no instance has mc-var 3f2a8b1c9d0e; they have mc-var 9c1b00000000",
    );
    expect(refusedText({ needed: first, theirs: [] })).toBe(
      "no instance has mc-var 3f2a8b1c9d0e; they have no calculation of that name (name its file in LEASEFOLD_CALCULATIONS, " +
        'or package it: docs/OPERATIONS.md, "Your own calculation")',
    );
  });
});
