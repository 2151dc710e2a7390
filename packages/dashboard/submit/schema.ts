import type { DescribedCalculation } from "../../../src/engine/client/describeCalculations.ts";
import { doubleRule } from "../../../src/engine/model/json.ts";

/** The fields of a form, from the JSON Schema of a calculation's parameters. */

export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly default?: unknown;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

/** The schema is JSON Schema, of which the form reads what it can show. */
export type Calculation = Omit<DescribedCalculation, "schema"> & { readonly schema?: Schema };

/** `json`: anything that has no field of its own, such as lists and unions, is written as JSON. */
type FieldKind = "integer" | "number" | "boolean" | "choice" | "text" | "json";

export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly required: boolean;
  readonly help: string;
  /** `1 to 1,000`, or what else limits the value. */
  readonly bounds?: string;
  readonly default?: unknown;
  readonly choices?: readonly unknown[];
  readonly schema: Schema;
}

/** What must be given comes first. */
export function fieldsOf(schema: Schema | undefined): readonly Field[] {
  const fields = Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const bounds = boundsOf(property, /bytes$/i.test(name) ? sizeText : figure);
    const kind = kindOf(property);
    const choices = kind === "boolean" ? [true, false] : property.enum;
    return {
      name,
      kind,
      schema: property,
      help: property.description ?? "",
      required: (schema?.required ?? []).includes(name) && property.default === undefined,
      ...(property.default === undefined ? {} : { default: property.default }),
      ...(choices === undefined ? {} : { choices }),
      ...(bounds === undefined ? {} : { bounds }),
    };
  });
  return fields.sort((a, b) => Number(b.required) - Number(a.required));
}

function kindOf({ type, enum: choices }: Schema): FieldKind {
  if (choices !== undefined) return "choice";
  switch (type) {
    case "integer":
    case "number":
    case "boolean":
      return type;
    case "string":
      return "text";
    default:
      return "json";
  }
}

/** `1e9`, but `1,073,741,824`: an exponent is for round numbers. */
function figure(value: number): string {
  const round = value.toExponential().replace("e+", "e");
  const isRound = Math.abs(value) >= 1e9 && round.length <= 6;
  return isRound ? round : value.toLocaleString("en-US", { maximumFractionDigits: 12 });
}

/** `64 KiB` and `1 GiB`; the field takes the number of bytes. */
function sizeText(value: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let [amount, unit] = [value, 0];
  for (; amount !== 0 && amount % 1_024 === 0 && unit < units.length - 1; unit += 1) amount /= 1_024;
  return `${figure(amount)} ${units[unit]}`;
}

/** Limits that only say how large a number JavaScript holds tell a person nothing. */
const tells = (value: number | undefined): value is number =>
  value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER;

function boundsOf(schema: Schema, figure: (value: number) => string): string | undefined {
  const low = tells(schema.minimum) ? schema.minimum : undefined;
  const high = tells(schema.maximum) ? schema.maximum : undefined;
  const texts = [
    low !== undefined && high !== undefined ? `${figure(low)} to ${figure(high)}` : "",
    low !== undefined && high === undefined ? `at least ${figure(low)}` : "",
    low === undefined && high !== undefined ? `at most ${figure(high)}` : "",
    tells(schema.exclusiveMinimum) ? `above ${figure(schema.exclusiveMinimum)}` : "",
    tells(schema.exclusiveMaximum) ? `below ${figure(schema.exclusiveMaximum)}` : "",
    schema.minLength === undefined ? "" : `at least ${schema.minLength} characters`,
    schema.maxLength === undefined ? "" : `at most ${schema.maxLength} characters`,
  ].filter((text) => text !== "");
  return texts.length === 0 ? undefined : texts.join(", ");
}

/** Why a value does not fit its field; undefined if it does, as far as the schema tells. The app has the last word. */
export function issueOf(field: Field, value: unknown): string | undefined {
  if (value === undefined) return field.required ? "must be given" : undefined;
  const { kind, schema, choices } = field;
  if (kind === "integer" || kind === "number") {
    if (Math.abs(Number(value)) === Infinity) return doubleRule;
    if (typeof value !== "number") return "must be a number";
    if (kind === "integer" && !Number.isInteger(value)) return "must be a whole number";
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
    const fits =
      value >= (minimum ?? -Infinity) &&
      value <= (maximum ?? Infinity) &&
      value > (exclusiveMinimum ?? -Infinity) &&
      value < (exclusiveMaximum ?? Infinity);
    if (fits) return undefined;
    // A bound that `bounds` leaves out is told once it is broken.
    if (maximum !== undefined && value > maximum && !tells(maximum)) return `must be at most ${maximum}`;
    if (minimum !== undefined && value < minimum && !tells(minimum)) return `must be at least ${minimum}`;
    return `must be ${field.bounds ?? "within the bounds"}`;
  }
  if (kind === "boolean") return typeof value === "boolean" ? undefined : "must be true or false";
  if (kind === "choice")
    return choices?.includes(value) === true ? undefined : `must be one of ${choices?.join(", ")}`;
  if (kind !== "text") return undefined;
  if (typeof value !== "string") return "must be text";
  const fits = value.length >= (schema.minLength ?? 0) && value.length <= (schema.maxLength ?? Infinity);
  return fits ? undefined : `must have ${field.bounds ?? "another length"}`;
}
