import { expect, test } from "vitest";
import { didYouMean } from "../../src/engine/model/nearNames.ts";

const names = ["primes", "sql", "nightly-risk", "nightly-rates", "pi"];

test.each([
  ["prims", " (did you mean primes?)"],
  ["pirmes", " (did you mean primes?)"],
  ["primse2", " (did you mean primes?)"],
  ["sqk", " (did you mean sql?)"],
  ["nightly", " (did you mean nightly-risk or nightly-rates?)"],
  ["nightly-rats", " (did you mean nightly-rates?)"],
  ["nothing", ""],
  ["abc", ""],
  ["", ""],
  ["p".repeat(1_000_000), ""],
])("a typo is told what it may have meant: %.20s", (asked, text) => {
  expect(didYouMean(asked, names)).toBe(text);
});
