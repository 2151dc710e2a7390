import * as z from "zod";
import { InputError } from "../model/errors.ts";
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
  refuseNonNumbers(calculation, raw);
  const decoded = calculation.params.safeParse(raw);
  if (decoded.success) return decoded.data;
  const issue = decoded.error.issues[0];
  const field = issue?.path.join(".") || unknownKeys(issue) || "params";
  throw badParameter(
    calculation,
    field,
    isMissing(issue, raw) ? "must be given" : (issue?.message ?? "invalid"),
  );
}

const badParameter = ({ name }: AnyCalculation, field: string, why: string): InputError =>
  new InputError("invalid", "bad-parameter", `${field}: ${why}`, { field, calculation: name });

/** Refuses values that a coercing schema, which numbers from a command line need, would read as 0, 1 or NaN. */
function refuseNonNumbers(calculation: AnyCalculation, raw: unknown): void {
  if (raw === null || typeof raw !== "object") return;
  for (const { name, type } of describeParams(calculation)) {
    if (type !== "number" && type !== "integer") continue;
    const value = (raw as Readonly<Record<string, unknown>>)[name];
    const isText = typeof value === "string" && (value.trim() === "" || Number.isNaN(Number(value)));
    if (!isText && value !== null && typeof value !== "boolean" && !Array.isArray(value)) continue;
    throw badParameter(calculation, name, `expected a number, received ${JSON.stringify(value)}`);
  }
}

/** Whether the parameter is absent. A schema would complain of the type of a value that the user never gave. */
const isMissing = (issue: { path: readonly PropertyKey[] } | undefined, raw: unknown): boolean =>
  issue?.path.length === 1 && !((issue.path[0] as PropertyKey) in Object(raw));

const unknownKeys = (issue: unknown): string | undefined =>
  (issue as { keys?: string[] } | undefined)?.keys?.join(", ");

interface JsonSchemaProperty {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchemaProperty[];
  readonly default?: unknown;
  readonly description?: string;
}

export type ParamsSchema = Readonly<Record<string, unknown>>;

/** JSON Schema of what is given as parameters. What it cannot say, such as a refinement, is left out. */
export const paramsSchema = (calculation: AnyCalculation): ParamsSchema =>
  z.toJSONSchema(calculation.params, { io: "input", unrepresentable: "any" }) as ParamsSchema;

/** Describes the parameters, with types, defaults and help from the schema. */
export function describeParams(calculation: AnyCalculation): ParamRow[] {
  const schema = paramsSchema(calculation);
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, JsonSchemaProperty>>;
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: typeOf(property),
    ...(property.default === undefined ? {} : { default: property.default }),
    description: property.description ?? "",
  }));
}

function typeOf(property: JsonSchemaProperty): string {
  if (property.enum) return property.enum.map(textOf).join(" | ");
  if (property.anyOf) return [...new Set(property.anyOf.map(typeOf))].join(" | ");
  return [property.type ?? "any"].flat().join(" | ");
}

/** A default or a value of a list as one types it. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
