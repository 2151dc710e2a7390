import type { ParamRow } from "../calculations/params.ts";
import { InputError } from "../model/errors.ts";

/**
 * The parameters of a calculation as free options: `--to 1e9`, `--to=1e9`, `--verbose` (true), and `--param to=1e9`
 * for a name that an option of Leasefold has taken. Names may be written `maxSize` or `max-size`. Values keep to
 * the type that the calculation's schema names; what does not fit is left to the schema to refuse.
 *
 * Throws `InputError` naming the option and the list of those known.
 */
export function readFreeOptions(
  tokens: readonly string[],
  pairs: readonly string[],
  rows: readonly ParamRow[],
): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  const set = (shown: string, name: string, text: string | undefined): void => {
    const row = rows.find((one) => one.name === name || one.name === camel(name));
    if (row === undefined) throw unknownOption(shown, rows);
    if (row.name in params) throw invalid(shown, row.name, "is given twice");
    params[row.name] = typedValue(row, text, shown);
  };
  const rest = [...tokens];
  for (let token = rest.shift(); token !== undefined; token = rest.shift()) {
    const match = /^--([^=]+)(?:=(.*))?$/s.exec(token);
    if (match === null)
      throw invalid(token, token, "is not expected here; parameters are given as --name value");
    const [, name = "", inline] = match;
    const next = rest[0];
    const takesNext = inline === undefined && next !== undefined && !next.startsWith("--");
    set(`--${name}`, name, takesNext ? rest.shift() : inline);
  }
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at < 1) throw invalid("--param", "param", "takes name=value");
    set(`--param ${pair.slice(0, at)}`, pair.slice(0, at), pair.slice(at + 1));
  }
  return params;
}

/** The text as the first of the row's types that it fits; `any` and lists and objects are given as JSON. */
function typedValue({ name, type }: ParamRow, text: string | undefined, shown: string): unknown {
  const types = new Set(type.split(" | "));
  if (text === undefined) {
    if (types.has("boolean")) return true;
    throw invalid(shown, name, "needs a value");
  }
  if (types.has("boolean") && (text === "true" || text === "false")) return text === "true";
  const isNumber = text.trim() !== "" && !Number.isNaN(Number(text));
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

function unknownOption(shown: string, rows: readonly ParamRow[]): InputError {
  const known = rows.map(({ name }) => `--${name}`).join(", ") || "none";
  return invalid(shown, shown.replace(/^--(param )?/, ""), `is unknown; the parameters are: ${known}`);
}

const invalid = (shown: string, field: string, rule: string): InputError =>
  new InputError("invalid", "bad-option", `${shown} ${rule}`, { field });

const camel = (name: string): string =>
  name.replace(/-([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase());
