import { describe, expect, test } from "vitest";
import * as z from "zod";
import { primes } from "../../src/calculations/primes.ts";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { describeParams, parseParams } from "../../src/engine/calculation/params.ts";
import { InputError } from "../../src/engine/model/errors.ts";
import { limits } from "../../src/engine/model/limits.ts";

const { paramsLevelsMax } = limits;
/** A parameter that has this many levels of lists. */
const nested = (levels: number): string => `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`;

describe("parameters", () => {
  test("text from a command line becomes numbers, and defaults are filled in", () => {
    expect(parseParams(primes, { to: "1e11" })).toEqual({ to: 100_000_000_000, from: 0 });
    expect(parseParams(primes, {})).toEqual({ to: 1_000_000_000, from: 0 });
  });

  test.each([
    [{ to: "1e15" }, "to", /^to: must be at most 100000000000000$/],
    [{ to: 1e17 }, "to", /^to: must be at most 100000000000000$/],
    [{ to: -1e17 }, "to", /^to: must be at least 0$/],
    [{ to: -1 }, "to", /^to: must be at least 0$/],
    [{ to: "1e400" }, "to", /^to: must be within the range of a double, about ±1\.8e308$/],
    [JSON.parse('{"to":1e400}'), "to", /^to: must be within the range of a double, about ±1\.8e308$/],
    [JSON.parse('{"to":-1e400}'), "to", /^to: must be within the range of a double/],
    [{ to: "Infinity" }, "to", /^to: expected a number, received "Infinity"$/],
    [{ to: "many" }, "to", /^to: .*number/],
    [{ from: 1.5 }, "from", /^from: must be a whole number$/],
    [{ to: "abc" }, "to", /^to: expected a number, received "abc"/],
    [{ to: "" }, "to", /^to: expected a number, received ""/],
    [{ to: " " }, "to", /^to: expected a number/],
    [{ to: null }, "to", /^to: expected a number, received null/],
    [{ to: true }, "to", /^to: expected a number, received true/],
    [{ to: [5] }, "to", /^to: expected a number/],
    [{ from: 100, to: 10 }, "from", /^from: must not be above to, which is 10$/],
    [{ from: 1e9 + 1 }, "from", /^from: must not be above to, which is 1000000000$/],
    [{ form: 3 }, "form", /^form: Unrecognized/],
    [[], "params", /^params: .*object/],
    ["to=3", "params", /^params: .*object/],
    [null, "params", /^params: .*object/],
  ])("%j is refused, naming field and limit", (raw, field, message) => {
    const error = thrownBy(() => parseParams(primes, raw));
    expect(error).toBeInstanceOf(InputError);
    expect(error).toMatchObject({ reason: "invalid", code: "bad-parameter", details: { field } });
    expect((error as Error).message).toMatch(message);
  });

  test.each([
    ['{"__proto__":{"to":5}}', "__proto__", "__proto__: no parameter may have this name"],
    ['{"a":[{"b":1},{"__proto__":5}]}', "a", "a: no key in it may be __proto__"],
    [nested(paramsLevelsMax + 1), "a", `a: nested deeper than ${paramsLevelsMax} levels (paramsLevelsMax)`],
    [nested(100_000), "a", `a: nested deeper than ${paramsLevelsMax} levels (paramsLevelsMax)`],
  ])("what a schema drops without a word, or cannot hold, is refused: %.40s", (text, field, message) => {
    const params = z.object({ a: z.unknown().optional() });
    const calculation = { ...primes, params } as unknown as AnyCalculation;
    const error = thrownBy(() => parseParams(calculation, JSON.parse(text)));
    expect(error).toMatchObject({ code: "bad-parameter", details: { field }, message });
    const deep = JSON.parse(nested(paramsLevelsMax));
    expect(parseParams(calculation, deep)).toEqual(deep);
  });

  test.each([
    [{ kind: "put" }, "kind: must be one of call, bermudan"],
    [{ exact: "maybe" }, "exact: must be true or false"],
    [{ share: 1 }, "share: must be below 1"],
    [{ share: 0 }, "share: must be above 0"],
    [{ even: 3 }, "even: must be even, as the schema itself says"],
    [JSON.parse('{"list":[1e400]}'), "list.0: must be within the range of a double, about ±1.8e308"],
    [JSON.parse('{"exact":1e400}'), "exact: must be true or false"],
    [{ list: [1, 2, 3] }, /^list: Too big: expected array/],
    [{ to: true }, /^to: .*expected string/],
  ])("%j breaks a rule that is told in words", (raw, message) => {
    const params = z.strictObject({
      kind: z.enum(["call", "bermudan"]).default("call"),
      exact: z.boolean().default(false),
      share: z.number().gt(0).lt(1).default(0.5),
      even: z.number().multipleOf(2, "must be even, as the schema itself says").default(2),
      list: z.array(z.number()).max(2).default([]),
      to: z.string().default(""),
    });
    const error = thrownBy(() => parseParams({ ...primes, params } as unknown as AnyCalculation, raw));
    expect((error as Error).message).toMatch(message);
  });

  const coerced = z.coerce.number();
  const coercing = z.strictObject({
    put: z.coerce.boolean().optional(),
    maybe: z.coerce.boolean().nullable().optional(),
    weights: z.array(coerced).optional(),
    pair: z.tuple([coerced, z.coerce.boolean()]).optional(),
    box: z.object({ edge: coerced, on: z.coerce.boolean() }).partial().optional(),
    byName: z.record(z.string(), coerced).optional(),
    either: z.union([z.array(coerced), coerced]).optional(),
    shape: z
      .discriminatedUnion("kind", [
        z.object({ kind: z.literal("disc"), radius: coerced }),
        z.object({ kind: z.literal("word"), radius: z.string() }),
      ])
      .optional(),
    both: z.intersection(z.object({ a: coerced }), z.object({ b: z.coerce.boolean() })).optional(),
  });
  const parseCoerced = (raw: unknown): unknown =>
    parseParams({ ...primes, params: coercing } as unknown as AnyCalculation, raw);

  test.each<readonly [unknown, string]>([
    ...["no", "true", "", 0, 1, null, [], {}].map((put) => [{ put }, "put"] as const),
    [{ maybe: "no" }, "maybe"],
    ...[null, "", " ", true, [1]].map((one) => [{ weights: [1, one] }, "weights.1"] as const),
    [{ pair: [null, true] }, "pair.0"],
    [{ pair: [1, "false"] }, "pair.1"],
    [{ box: { edge: null } }, "box.edge"],
    [{ box: { on: "false" } }, "box.on"],
    [{ byName: { a: 1, b: "" } }, "byName.b"],
    [{ either: true }, "either"],
    [{ either: [1, false] }, "either.1"],
    [{ shape: { kind: "disc", radius: "" } }, "shape.radius"],
    [{ both: { a: 1, b: "no" } }, "both.b"],
  ])("%j is refused where a coercing schema would compute with another value", (raw, field) => {
    const error = thrownBy(() => parseCoerced(raw));
    expect(error).toMatchObject({ code: "bad-parameter", details: { field } });
    expect((error as Error).message).toMatch(/: (must be true or false|expected a number, received .+)$/);
  });

  test.each([
    [{ put: false, maybe: null, weights: [1, 2.5], pair: [3, true] }],
    [{ box: {}, byName: { a: 1 }, either: 4, both: { a: 1, b: false } }],
    [{ box: { edge: 2, on: false }, either: [5] }],
    [{ shape: { kind: "word", radius: "" } }],
    [{ shape: { kind: "disc", radius: 3 } }],
  ])("%j fits a coercing schema and stays as it is", (raw) => {
    expect(parseCoerced(raw)).toEqual(raw);
  });

  const isYes = (given: unknown): unknown => (typeof given === "string" ? given === "yes" : given);
  const yesOrNo = z.preprocess(isYes, z.boolean());
  const before = z.strictObject({
    plain: yesOrNo.optional(),
    filled: yesOrNo.default(true),
    list: z.array(yesOrNo).optional(),
    size: z.preprocess((given) => (given === "all" ? 100 : given), z.coerce.number()).optional(),
    either: z.union([yesOrNo, z.null()]).optional(),
    coerced: z.coerce.boolean().optional(),
  });

  test.each([
    [{ plain: "yes" }, { plain: true, filled: true }],
    [
      { plain: false, filled: "no" },
      { plain: false, filled: false },
    ],
    [{ list: ["yes", "no", true] }, { list: [true, false, true], filled: true }],
    [{ size: "all" }, { size: 100, filled: true }],
    [{ size: "12" }, { size: 12, filled: true }],
    [{ either: "yes" }, { either: true, filled: true }],
  ])("%j goes through the author's own z.preprocess", (raw, params) => {
    expect(parseParams({ ...primes, params: before } as unknown as AnyCalculation, raw)).toEqual(params);
  });

  test.each([
    [{ plain: 5 }, "plain"],
    [{ coerced: "yes" }, "coerced"],
  ])("%j is refused beside a z.preprocess", (raw, field) => {
    const error = thrownBy(() =>
      parseParams({ ...primes, params: before } as unknown as AnyCalculation, raw),
    );
    expect(error).toMatchObject({ code: "bad-parameter", details: { field } });
  });

  test("help shows what the schema behind a z.preprocess takes, as values are typed", () => {
    const rows = describeParams({ ...primes, params: before } as unknown as AnyCalculation);
    expect(rows.map(({ name, type }) => [name, type]).slice(0, 4)).toEqual([
      ["plain", "boolean"],
      ["filled", "boolean"],
      ["list", "array"],
      ["size", "number"],
    ]);
  });

  interface Tree {
    readonly weight?: number | undefined;
    readonly kids?: readonly Tree[] | undefined;
  }
  const tree: z.ZodType<Tree> = z.object({
    weight: z.coerce.number().optional(),
    kids: z.array(z.lazy(() => tree)).optional(),
  });
  const level = z.coerce.number().meta({ id: "level", description: "a level" });
  const alias = level.optional().meta({ id: "alias" });
  const referring = z.object({
    tree: tree.optional(),
    low: level.optional(),
    high: level.default(5),
    again: alias,
    lazy: z.lazy(() => z.coerce.boolean()).optional(),
    get whole() {
      return referring.optional();
    },
  });
  const parseReferring = (raw: unknown): unknown =>
    parseParams({ ...primes, params: referring } as unknown as AnyCalculation, raw);

  test.each<readonly [unknown, string]>([
    [{ tree: { weight: "" } }, "tree.weight"],
    [{ tree: { kids: [{}, { kids: [{ weight: true }] }] } }, "tree.kids.1.kids.0.weight"],
    [{ low: null }, "low"],
    [{ high: "" }, "high"],
    [{ again: false }, "again"],
    [{ lazy: "no" }, "lazy"],
    [{ whole: { whole: { low: "" } } }, "whole.whole.low"],
  ])("%j is refused where a schema refers to another or to itself", (raw, field) => {
    expect(thrownBy(() => parseReferring(raw))).toMatchObject({ details: { field } });
  });

  test("schemas that refer to others or to themselves read numbers and have help", () => {
    const raw = { tree: { kids: [{ weight: "1e2" }] }, low: "3", whole: { again: "4" } };
    expect(parseReferring(raw)).toEqual({
      ...{ tree: { kids: [{ weight: 100 }] }, low: 3, high: 5 },
      whole: { again: 4, high: 5 },
    });
    const rows = describeParams({ ...primes, params: referring } as unknown as AnyCalculation);
    expect(rows).toEqual([
      { name: "tree", type: "object", description: "" },
      { name: "low", type: "number", description: "a level" },
      { name: "high", type: "number", default: 5, description: "a level" },
      { name: "again", type: "number", description: "a level" },
      { name: "lazy", type: "boolean", description: "" },
      { name: "whole", type: "object", description: "" },
    ]);
  });

  test("text that is a number becomes one at any depth", () => {
    expect(parseCoerced({ weights: ["1e3"], box: { edge: "2" } })).toEqual({
      weights: [1000],
      box: { edge: 2 },
    });
  });

  test("the help of parameters is made from their schema", () => {
    expect(describeParams(primes)).toEqual([
      { name: "to", type: "integer", default: 1_000_000_000, description: expect.stringContaining("count") },
      { name: "from", type: "integer", default: 0, description: expect.any(String) },
    ]);
  });
});

function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return expect.fail("nothing was thrown");
}
