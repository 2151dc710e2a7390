import * as z from "zod";
import { InputError } from "../model/errors.ts";
import { doubleRule, isRecord, valueText } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import type { AnyCalculation, ParamRow } from "./contract.ts";
import { linkedSchema, type Property } from "./linkedSchema.ts";

/** Validates parameters and fills in defaults; throws `InputError` naming the parameter and the rule. */
export function parseParams(calculation: AnyCalculation, raw: unknown): unknown {
  checkNesting(calculation, raw);
  refuseCoerced(calculation, raw);
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
export const plainRule: z.core.$ZodErrorMap = (issue) => {
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
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map(valueText).join(", ")}`;
    case "invalid_type":
      return isTooLarge(issue.input) && issue.expected === "number" ? doubleRule : typeRules[issue.expected];
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

/** Whether this is a number, or the text of one, that is too large for a double. JSON reads 1e400 as Infinity. */
const isTooLarge = (value: unknown): boolean =>
  (typeof value === "number" || (typeof value === "string" && /\d/.test(value))) &&
  Math.abs(Number(value)) === Infinity;

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

/** Refuses values that a coercing schema would read as another number or as true. Numbers may be text, as on a command line. */
function refuseCoerced(calculation: AnyCalculation, raw: unknown): void {
  const misfit = misfitOf(linkedSchema(calculation.params, { anyBefore: true }), raw, []);
  if (misfit !== undefined) throw badParameter(calculation, misfit.path.join("."), misfit.why);
}

interface Misfit {
  readonly path: readonly string[];
  readonly why: string;
}

/** The first value that is no number or boolean where the schema has one. All other rules are left to the calculation's schema. */
function misfitOf(schema: Property, value: unknown, path: readonly string[]): Misfit | undefined {
  if (value === undefined || "const" in schema || schema.enum) return undefined;
  const options = optionsOf(schema);
  if (options) {
    const fitting = options.filter((one) => fits(one, value));
    const misfits = (fitting.length > 0 ? fitting : options).map((one) => misfitOf(one, value, path));
    return fitting.length === 0 || misfits.every(Boolean) ? misfits.find(Boolean) : undefined;
  }
  const types = typesOf(schema);
  const hasNumbers = types.some((type) => type === "number" || type === "integer");
  if ((hasNumbers || types.includes("boolean")) && !fits(schema, value)) {
    const noNumber = isTooLarge(value) ? doubleRule : `expected a number, received ${JSON.stringify(value)}`;
    return { path, why: hasNumbers ? noNumber : (typeRules["boolean"] ?? "") };
  }
  if (!isNesting(value)) return undefined;
  const all = (schema.allOf ?? []).map((one) => misfitOf(one as Property, value, path));
  const inner = Object.entries(value).map(([key, one]) => {
    const there = Array.isArray(value)
      ? (schema.prefixItems?.[Number(key)] ?? schema.items)
      : (ownOf(schema.properties, key) ?? schema.additionalProperties);
    return isNesting(there) ? misfitOf(there as Property, one, [...path, key]) : undefined;
  });
  return [...all, ...inner].find(Boolean);
}

const optionsOf = ({ anyOf, oneOf }: Property): Property[] | undefined =>
  (anyOf ?? oneOf) as Property[] | undefined;

const typesOf = ({ type }: Property): readonly string[] => [type ?? []].flat();

const ownOf = (properties: Property["properties"], key: string): unknown =>
  properties && Object.hasOwn(properties, key) ? properties[key] : undefined;

/** Whether a value has the type of the schema and, as one of a discriminated union, its constants. */
function fits(schema: Property, value: unknown): boolean {
  if ("const" in schema) return value === schema.const;
  if (schema.enum) return (schema.enum as readonly unknown[]).includes(value);
  const options = optionsOf(schema);
  if (options) return options.some((one) => fits(one, value));
  const types = typesOf(schema);
  if (types.length > 0 && !types.some((type) => isOfType[type]?.(value) ?? true)) return false;
  return Object.entries(schema.properties ?? {}).every(
    ([key, one]) => !isNesting(one) || !("const" in one) || ownOf(Object(value), key) === one.const,
  );
}

const isOfType: Readonly<Record<string, (value: unknown) => boolean>> = {
  array: Array.isArray,
  boolean: (value) => typeof value === "boolean",
  integer: isNumeric,
  null: (value) => value === null,
  number: isNumeric,
  object: isRecord,
  string: (value) => typeof value === "string",
};

/** Whether a value can be meant as a number; what is too large for one, such as 1e400, cannot. */
function isNumeric(value: unknown): boolean {
  if (typeof value === "string") return value.trim() !== "" && Number.isFinite(Number(value));
  return value !== null && typeof value !== "boolean" && !Array.isArray(value);
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
  const properties = (linkedSchema(calculation.params).properties ?? {}) as Readonly<
    Record<string, Property>
  >;
  return Object.entries(properties).map(([name, property]) => {
    const values = valuesOf(property);
    return {
      name,
      type: typeOf(property),
      ...(property.default === undefined ? {} : { default: property.default }),
      description: property.description ?? "",
      ...(values.every((one) => typeof one === "string") ? {} : { values }),
    };
  });
}

function typeOf(property: Property): string {
  if (property.enum) return property.enum.map(valueText).join(" | ");
  const { anyOf } = property;
  if (anyOf) return [...new Set(anyOf.map((one) => typeOf(one as Property)))].join(" | ");
  return [property.type ?? "any"].flat().join(" | ");
}

const valuesOf = (property: Property): readonly unknown[] =>
  property.enum ?? optionsOf(property)?.flatMap(valuesOf) ?? [];
