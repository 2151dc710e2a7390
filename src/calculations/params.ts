import * as z from "zod";
import { InputError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import type { AnyCalculation } from "./contract.ts";

/** One parameter of a calculation, for help. */
export interface ParamRow {
  readonly name: string;
  readonly type: string;
  /** A JSON value; absent where the parameter must be given. */
  readonly default?: unknown;
  readonly description: string;
}

/** Validates parameters and fills in defaults; throws `InputError` naming the parameter and the rule. */
export function parseParams(calculation: AnyCalculation, raw: unknown): unknown {
  checkNesting(calculation, raw);
  refuseNonNumbers(calculation, raw);
  const decoded = calculation.params.safeParse(raw, { error: plainRule });
  if (decoded.success) return decoded.data;
  const [first, ...others] = decoded.error.issues;
  // A whole number beyond what a double holds exactly is beyond a limit of its own too, which says more.
  const own = others.find(({ code, path }) => code === first?.code && path.join() === first.path.join());
  const issue = own ?? first;
  const unknownKeys = issue?.code === "unrecognized_keys" ? issue.keys.join(", ") : "";
  const field = issue?.path.join(".") || unknownKeys || "params";
  throw badParameter(
    calculation,
    field,
    isMissing(issue, raw) ? "must be given" : (issue?.message ?? "invalid"),
  );
}

/** The rules that most parameters have, as sentences; a schema's own message comes first. */
const plainRule: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case "too_big":
      return isNumber(issue)
        ? `must be ${issue.inclusive ? "at most" : "below"} ${issue.maximum}`
        : undefined;
    case "too_small":
      return isNumber(issue)
        ? `must be ${issue.inclusive ? "at least" : "above"} ${issue.minimum}`
        : undefined;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map(textOf).join(", ")}`;
    case "invalid_type":
      return typeRules[issue.expected];
    default:
      return undefined;
  }
};

const isNumber = ({ origin }: { readonly origin: string }): boolean =>
  origin === "number" || origin === "int";

const typeRules: Readonly<Record<string, string>> = {
  boolean: "must be true or false",
  int: "must be a whole number",
};

type Named = Pick<AnyCalculation, "name">;

const badParameter = ({ name }: Named, field: string, why: string): InputError =>
  new InputError("invalid", "bad-parameter", `${field}: ${why}`, { field, calculation: name });

/** Refuses nesting that would overflow the stack, and the key that schemas drop without a word; throws as `parseParams`. */
export function checkNesting(calculation: Named, raw: unknown): void {
  for (const [field, value] of Object.entries(Object(raw))) checkOne(calculation, field, value);
}

function checkOne(calculation: Named, field: string, value: unknown): void {
  const proto = "__proto__";
  if (field === proto) throw badParameter(calculation, field, "no parameter may have this name");
  const { paramsLevelsMax } = limits;
  let inner = [value].filter(isNesting);
  for (let level = 1; inner.length > 0; level += 1) {
    if (level > paramsLevelsMax) {
      const why = `nested deeper than ${paramsLevelsMax} levels (paramsLevelsMax)`;
      throw badParameter(calculation, field, why);
    }
    if (inner.some((one) => Object.hasOwn(one, proto)))
      throw badParameter(calculation, field, `no key in it may be ${proto}`);
    inner = inner.flatMap((one) => Object.values(one)).filter(isNesting);
  }
}

const isNesting = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Refuses values that a coercing schema, which numbers from a command line need, would read as 0, 1, NaN or Infinity. */
function refuseNonNumbers(calculation: AnyCalculation, raw: unknown): void {
  if (raw === null || typeof raw !== "object") return;
  for (const { name, type } of describeParams(calculation)) {
    if (type !== "number" && type !== "integer") continue;
    const value = (raw as Readonly<Record<string, unknown>>)[name];
    const isText = typeof value === "string" && (value.trim() === "" || !Number.isFinite(Number(value)));
    if (!isText && value !== null && typeof value !== "boolean" && !Array.isArray(value)) continue;
    throw badParameter(calculation, name, `expected a number, received ${JSON.stringify(value)}`);
  }
}

/** Whether the parameter is absent. A schema would complain of the type of a value that the user never gave. */
const isMissing = (issue: { path: readonly PropertyKey[] } | undefined, raw: unknown): boolean =>
  issue?.path.length === 1 && !((issue.path[0] as PropertyKey) in Object(raw));

export type ParamsSchema = Readonly<Record<string, unknown>>;

/** JSON Schema of what is given as parameters. What it cannot say, such as a refinement, is left out. */
export const paramsSchema = (calculation: AnyCalculation): ParamsSchema =>
  z.toJSONSchema(calculation.params, { io: "input", unrepresentable: "any" }) as ParamsSchema;

/** Describes the parameters, with types, defaults and help from the schema. */
export function describeParams(calculation: AnyCalculation): ParamRow[] {
  const properties = (paramsSchema(calculation)["properties"] ?? {}) as Readonly<Record<string, Property>>;
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: typeOf(property),
    ...(property.default === undefined ? {} : { default: property.default }),
    description: property.description ?? "",
  }));
}

type Property = z.core.JSONSchema.JSONSchema;

function typeOf(property: Property): string {
  if (property.enum) return property.enum.map(textOf).join(" | ");
  const { anyOf } = property;
  if (anyOf) return [...new Set(anyOf.map((one) => typeOf(one as Property)))].join(" | ");
  return [property.type ?? "any"].flat().join(" | ");
}

/** A default or a value of a list as one types it. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
