import { describe, expect, it } from "vitest";
import { firstJsonLoss } from "../../../src/calculations/encodePart.ts";
import { drawFrom, shrink } from "../../../src/calculations/laws/draw.ts";
import { reasonOf, sidesOf } from "../../../src/calculations/laws/findings.ts";

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

describe("the reason of a difference", () => {
  it.each([
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, /insertion/],
    [{ rows: [1, 2] }, { rows: [2, 1] }, /another order/],
  ])("reasonOf explains the difference of %j and %j", (a, b, likely) => {
    expect(reasonOf(bytes(a), bytes(b))?.likely).toMatch(likely);
  });

  it.each([
    [{ a: 1 }, { a: 2 }],
    [{ a: 1.5 }, { a: 2.5 }],
    ["x", { a: 1 }],
  ])("reasonOf does not guess the reason for %j and %j", (a, b) =>
    expect(reasonOf(bytes(a), bytes(b))).toBeUndefined(),
  );

  it("reasonOf does not guess the reason for bytes that are no JSON", () => {
    expect(reasonOf(Uint8Array.of(1, 2), Uint8Array.of(1, 3))).toBeUndefined();
  });
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

describe("shrinking", () => {
  it("shrink ends at an example of which every smaller one holds", async () => {
    const smaller = function* (n: number): Generator<number> {
      if (n > 1) yield Math.floor(n / 2);
      if (n > 0) yield n - 1;
    };
    expect(await shrink(1_000, smaller, async (n) => n >= 17)).toBe(17);
  });

  it("shrink stops after 300 tries if each step is small", async () => {
    let tries = 0;
    const fails = async () => {
      tries += 1;
      return true;
    };
    await shrink(0, (n) => [n + 1], fails);
    expect(tries).toBe(300);
  });
});

describe("the generator", () => {
  // The first numbers of mulberry32 with seed 1, as other implementations of it give them.
  it("the generator draws the published numbers", () => {
    const draw = drawFrom(1);
    expect([draw(), draw(), draw()]).toEqual([0.6270739405881613, 0.002735721180215478, 0.5274470399599522]);
  });
});
