import { describe, expect, it } from "vitest";
import { firstJsonLoss } from "../../../../src/engine/calculation/encodePart.ts";
import { sidesOf } from "../../check/laws/findings.ts";

const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

describe("what JSON loses", () => {
  class Point {
    x = 1;
  }
  it.each([
    ["a Date", new Date(0), ""],
    ["a Date", { rows: [{ when: new Date(0) }] }, "rows[0].when"],
    ["a Map", { a: new Map() }, "a"],
    ["a Set", [1, new Set()], "[1]"],
    ["a Uint8Array", { a: Uint8Array.of(1) }, "a"],
    ["a Point", new Point(), ""],
    ["a bigint", { n: 1n }, "n"],
    ["NaN", { n: Number.NaN }, "n"],
    ["undefined", [1, undefined], "[1]"],
    ["a function", { f: () => 1 }, "f"],
  ])("firstJsonLoss finds %s by its path", (was, value, path) => {
    expect(firstJsonLoss(value)).toMatchObject({ path, was });
  });

  it.each([[{ a: [1, "b", null, true, { c: -0.5 }] }], [{ a: undefined }], [Object.create(null)], [0]])(
    "JSON loses nothing of %j",
    (value) => expect(firstJsonLoss(value)).toBeUndefined(),
  );
});

describe("two values side by side", () => {
  it("two values are cut around their first difference", () => {
    const [a, b] = sidesOf("a", bytes(`${"x".repeat(500)}1${"y".repeat(500)}`), "b", bytes("x".repeat(500)));
    expect(a.value).toMatch(/^…x+1y+…$/);
    expect(b.value).toMatch(/^…x+"$/);
    expect(Math.max(a.value.length, b.value.length)).toBeLessThanOrEqual(56);
  });

  it("two values that are no text are shown in hexadecimal", () => {
    const values = sidesOf("a", Uint8Array.of(0, 255, 1), "b", Uint8Array.of(0, 255, 2)).map(
      ({ value }) => value,
    );
    expect(values).toEqual(["00ff01", "00ff02"]);
  });
});
