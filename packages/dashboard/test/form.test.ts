import { expect, test } from "vitest";
import * as z from "zod";
import { toleranceSchema } from "../../../src/engine/model/run.ts";
import { emptyForm, issuesOf, jsonOf, requestOf, textOf, withField, withJson } from "../submit/form.ts";
import { type Field, fieldsOf, type Schema } from "../submit/schema.ts";

/** A schema as the API sends it: of zod, with what calculations use. */
const params = z.strictObject({
  to: z.coerce.number().int().min(0).max(1e14).default(1e9).describe("count up to"),
  spot: z.coerce.number().gt(0).max(10),
  label: z.string().max(5),
  kind: z.enum(["call", "put"]).default("call"),
  antithetic: z.boolean().default(false),
  strikes: z.array(z.number()).optional(),
  seed: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(1),
});
const schema = z.toJSONSchema(params, { io: "input", unrepresentable: "any" }) as Schema;
const fields = fieldsOf(schema);
const field = (name: string): Field => fields.find((one) => one.name === name) as Field;

test("each parameter is a field with its kind, bounds, default and help, and what must be given comes first", () => {
  expect(fields.map(({ name, kind, required }) => [name, kind, required])).toEqual([
    ["spot", "number", true],
    ["label", "text", true],
    ["to", "integer", false],
    ["kind", "choice", false],
    ["antithetic", "boolean", false],
    ["strikes", "json", false],
    ["seed", "integer", false],
  ]);
  expect(field("to")).toMatchObject({ bounds: "0 to 1e14", default: 1e9, help: "count up to" });
  expect([field("spot").bounds, field("label").bounds, field("seed").bounds]).toEqual([
    "at most 10, above 0",
    "at most 5 characters",
    "at least 0",
  ]);
});

test("bounds of a size are sizes, and an exponent stands for a round number only", () => {
  const bounds = (properties: Schema["properties"] = {}) => fieldsOf({ properties }).map((one) => one.bounds);
  const limits = { minimum: 65_536, maximum: 1_073_741_824 };
  expect(bounds({ chunkBytes: limits, n: limits, bytes: { minimum: 0, maximum: 1_000 } })).toEqual([
    "64 KiB to 1 GiB",
    "65,536 to 1,073,741,824",
    "0 bytes to 1,000 bytes",
  ]);
});

test("form and JSON are one state: what one changes, the other shows", () => {
  let state = emptyForm("x");
  state = withField(state, field("to"), "1e9");
  state = withField(state, field("antithetic"), "true");
  expect(JSON.parse(jsonOf(state))).toEqual({ to: 1e9, antithetic: true });
  state = withJson(state, '{"to": 5, "strikes": [1, 2]}');
  expect(textOf(field("to"), state.params["to"])).toBe("5");
  expect(textOf(field("strikes"), state.params["strikes"])).toBe("[1,2]");
  expect(withField(state, field("to"), "").params).toEqual({ strikes: [1, 2] });
});

test("JSON that does not parse waits as a draft, and the parameters stay as they were", () => {
  const state = withJson(withField(emptyForm("x"), field("to"), "7"), '{"to": ');
  expect(state.params).toEqual({ to: 7 });
  expect(jsonOf(state)).toBe('{"to": ');
  expect(withJson(state, "[1]").draft?.issue).toBe("the parameters are a JSON object");
  expect(withJson(state, '{"to": 8}')).toEqual({ calculation: "x", params: { to: 8 }, options: {} });
});

test("what was typed stays as it was typed while it means the same", () => {
  expect(textOf(field("to"), 1e9, "1e9")).toBe("1e9");
  expect(textOf(field("to"), 5, "1e9")).toBe("5");
  expect(withField(emptyForm("x"), field("to"), "1_000 000").params).toEqual({ to: 1_000_000 });
});

test("an issue is found exactly where the calculation's own schema finds one", () => {
  const good = { spot: 5, label: "a" };
  const all: Record<string, unknown>[] = [
    {},
    good,
    { ...good, spot: 0 },
    { ...good, spot: 11 },
    { ...good, label: "abcdef" },
    { ...good, label: 3 },
    { ...good, to: 1.5 },
    { ...good, to: -1 },
    { ...good, to: "many" },
    { ...good, kind: "swap" },
    { ...good, antithetic: "yes" },
    { ...good, nothing: 1 },
  ];
  for (const given of all) {
    const issues = issuesOf(emptyForm("x", given), schema);
    expect([JSON.stringify(given), issues.size > 0]).toEqual([
      JSON.stringify(given),
      !params.safeParse(given).success,
    ]);
  }
});

test("a number that no double holds is told as such, in a field and in JSON", () => {
  const typed = withField(emptyForm("x"), field("spot"), "1e400");
  for (const state of [typed, withJson(typed, '{"spot": 1e400}')])
    expect(issuesOf(state, schema).get("spot")).toBe("must be within the range of a double, about ±1.8e308");
});

test.each([
  ["seed", "9007199254740993", "must be at most 9007199254740991"],
  ["seed", "-1", "must be at least 0"],
  ["to", "9007199254740993", "must be 0 to 1e14"],
])("%s %s is told by the bound that it breaks", (name, text, issue) => {
  expect(issuesOf(withField(emptyForm("x"), field(name), text), schema).get(name)).toBe(issue);
});

test("options become the request's fields in their own units, and a wrong one is told", () => {
  const options = {
    id: " mine ",
    packSize: "4",
    workers: "9",
    cap: "9",
    maxCost: "2.5",
    tolerate: "1.5%",
    packLimit: "30s",
    attempts: "2",
    retryAfter: "5s, 2m",
    deadline: "2h",
    keep: "true",
    reuse: "old",
    tag: "team=risk night=2026-11-23",
  };
  const state = { ...emptyForm("x"), options };
  expect(requestOf(state)).toEqual({
    ...{
      calculation: "x",
      params: {},
      id: "mine",
      packSize: 4,
      workers: 9,
      cap: 9,
      attempts: 2,
      maxCost: 2.5,
    },
    ...{
      tolerate: { percent: 1.5 },
      packLimitMs: 30_000,
      deadline: { ms: 7_200_000, keep: true },
      reuse: "old",
    },
    ...{ retryAfterS: [5, 120], tags: { team: "risk", night: "2026-11-23" } },
  });
  expect(
    toleranceSchema.safeParse(requestOf({ ...state, options: { tolerate: "3" } })["tolerate"]).data,
  ).toEqual({ chunks: 3 });
  const wrong = {
    packSize: "0",
    cap: "x",
    maxCost: "0",
    tolerate: "-1",
    packLimit: "30",
    attempts: "1.5",
    deadline: "soon",
    retryAfter: "5s,1500ms",
    tag: "risk",
  };
  expect(issuesOf({ ...emptyForm("x", { spot: 1, label: "" }), options: wrong }, schema).size).toBe(9);
});
