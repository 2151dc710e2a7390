import type { ParamRow } from "../../src/engine/calculation/contract.ts";
import type { ParamsSchema } from "../../src/engine/calculation/params.ts";
import type { DescribedCalculation } from "../../src/engine/client/describeCalculations.ts";
import { InputError } from "../../src/engine/model/errors.ts";
import { kebab, optionOf, valueText } from "../../src/engine/model/json.ts";
import { nearestName } from "../../src/engine/model/nearNames.ts";
import { clip, shellText } from "./render/text.ts";

/**
 * The parameters of a calculation as options: `--to 1e9`, `--to=1e9`, `--verbose` (true), and the pair `to=1e9` of
 * `--param`, for names that Leasefold's own options use. `--max-size` and `--maxSize` are the parameter `maxSize`. A list takes one value of each time that it is given. Values get the type that the
 * calculation's schema names; the schema itself rejects what does not fit. `own` are Leasefold's options, which an unknown
 * one may have meant. Throws `InputError`.
 */
export function readFreeOptions(
  tokens: readonly string[],
  pairs: readonly string[] = [],
  rows: readonly ParamRow[],
  own: readonly string[] = [],
): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  const set = (shown: string, name: string, text: string | undefined): void => {
    const camel = name.replace(/-([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase());
    const row = rows.find((one) => one.name === name || one.name === camel);
    if (row === undefined) {
      const known = rows.map(({ name }) => optionOf(name));
      const nearest = nearestName(`--${name}`, [...known, ...own]);
      const meant = nearest === undefined ? "" : ` (did you mean ${nearest}?)`;
      throw invalid(
        name,
        `unknown parameter: ${shown}${meant}: the parameters are ${known.join(", ") || "none"}`,
      );
    }
    const value = typedValue(row, text, shown);
    if (!(row.name in params)) params[row.name] = value;
    else if (row.type.split(" | ").includes("array")) params[row.name] = [params[row.name], value].flat();
    else throw invalid(row.name, `${shown} is given twice`);
  };
  const rest = [...tokens];
  for (let token = rest.shift(); token !== undefined; token = rest.shift()) {
    const [, name, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(token) ?? [];
    if (name === undefined)
      throw invalid(token, `unexpected argument: ${token}: give parameters as --name value`);
    const takesNext = inline === undefined && rest[0]?.startsWith("--") === false;
    set(`--${name}`, name, takesNext ? rest.shift() : inline);
  }
  for (const pair of pairs) {
    const index = pair.indexOf("=");
    if (index < 1) throw invalid("param", `invalid --param: ${pair}: must be name=value`);
    set(`--param ${pair.slice(0, index)}`, pair.slice(0, index), pair.slice(index + 1));
  }
  return params;
}

/**
 * The parameters with the source that `--upload` or `--folder` gives. Throws `InputError` where the calculation has no such
 * parameter, and where it is given too.
 */
export function withSource(
  option: "upload" | "folder",
  calculation: { readonly name: string; readonly params: readonly ParamRow[] },
  given: Readonly<Record<string, unknown>>,
  source: string,
): Record<string, unknown> {
  const refused = (why: string): InputError => invalid(option, `invalid --${option}: ${why}`);
  if (!calculation.params.some(({ name }) => name === "source"))
    throw refused(`${calculation.name} reads no files: it has no parameter source`);
  if ("source" in given) throw refused("it sets the source itself: leave --source out");
  return { ...given, source };
}

/** The text as the listed value or the first type of the row that it fits; lists and objects are given as JSON. */
function typedValue({ name, type, values }: ParamRow, text: string | undefined, shown: string): unknown {
  const types = new Set(type.split(" | "));
  if (text === undefined) {
    if (types.has("boolean")) return true;
    throw invalid(name, `${shown} needs a value`);
  }
  const listed = values?.find((one) => valueText(one) === text);
  if (listed !== undefined) return listed;
  if (types.has("null") && !types.has("string") && text === "null") return null;
  if (types.has("boolean") && (text === "true" || text === "false")) return text === "true";
  const isNumber = text.trim() !== "" && Number.isFinite(Number(text));
  if ((types.has("number") || types.has("integer")) && isNumber) return Number(text);
  return ["array", "object", "any"].some((one) => types.has(one)) ? jsonOrText(text) : text;
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Instances of an older version tell no schema: there, a parameter without default counts as required. */
export function isRequired({ name, default: value }: ParamRow, schema: ParamsSchema): boolean {
  const { properties, required } = schema;
  if (properties === undefined) return value === undefined;
  return Array.isArray(required) && required.includes(name);
}

/**
 * What a command line must give, with a value for each: an example or a value that the schema names, a number that it
 * allows, or the name in capitals. `submit` makes a `source` of the folder that it uploads.
 */
export function requiredOptions({ params, schema }: Pick<DescribedCalculation, "params" | "schema">): string {
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, ParamSchema>>;
  const needed = params.filter((row) => isRequired(row, schema));
  return needed
    .map((row) => {
      const value = row.name === "source" ? undefined : exampleOf(properties[row.name] ?? {});
      const option = row.name === "source" ? "--upload" : optionOf(row.name);
      const stand = row.name === "source" ? "FOLDER" : kebab(row.name).toUpperCase();
      return ` ${option} ${value === undefined ? stand : shellText(valueText(value))}`;
    })
    .join("");
}

/** What JSON Schema says of a parameter, as zod writes it. */
interface ParamSchema {
  readonly type?: string;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}

function exampleOf({
  examples,
  enum: values,
  type,
  minimum,
  exclusiveMinimum,
  maximum,
}: ParamSchema): unknown {
  const named = examples?.[0] ?? values?.[0];
  if (named !== undefined || (type !== "number" && type !== "integer")) return named;
  const least = minimum ?? (exclusiveMinimum === undefined ? 1 : exclusiveMinimum + 1);
  return Math.min(Math.max(1, least), maximum ?? Number.POSITIVE_INFINITY);
}

const shownMax = 60;

/** An error about a field of a request names the option of this command line instead, with its value as it was typed. */
export function asTyped(error: unknown, argv: readonly string[]): unknown {
  if (!(error instanceof InputError)) return error;
  const { code, details, message, reason } = error;
  const { field } = details;
  if (typeof field !== "string" || !message.startsWith(`${field}: `)) return error;
  const rule = message.slice(field.length + 2);
  const found = typedFor(field, argv);
  if (found === undefined && code !== "bad-parameter") return error;
  const { option, text = "" } = found ?? { option: optionOf(field) };
  const value = /^\S{0,60}$/.test(text) ? text : JSON.stringify(clip(text, shownMax));
  const more = field === "source" && found === undefined ? sourceHint : "";
  const shown = `${value === "" || rule.includes(value) ? rule : `${value}: ${rule}`}${more}`;
  return new InputError(reason, code, `invalid ${option}: ${shown}`, details);
}

const sourceHint =
  "; submit --upload FOLDER uploads it, check and try --folder FOLDER read one of this machine";

/** The option that gave a field, and its text. A time in ms is an option without the unit: `--pack-limit` is `packLimitMs`. */
function typedFor(field: string, argv: readonly string[]): { option: string; text?: string } | undefined {
  const options = [optionOf(field), optionOf(field.replace(/Ms$/, "")), `--${field}`];
  for (const [at, token] of argv.entries()) {
    const [, option = "", inline] = /^(--[^=]+)(?:=(.*))?$/s.exec(token) ?? [];
    const next = argv[at + 1];
    const [, name = "", pair] = /^([^=]+)=(.*)$/s.exec(inline ?? next ?? "") ?? [];
    const isPair = option === "--param" || token === "-p";
    if (isPair && options.includes(optionOf(name))) return { option: optionOf(name), text: pair ?? "" };
    const text = inline ?? (next?.startsWith("--") === true ? undefined : next);
    if (options.includes(option)) return { option, ...(text === undefined ? {} : { text }) };
  }
  return undefined;
}

const invalid = (field: string, message: string): InputError =>
  new InputError("invalid", "bad-option", message, { field });
