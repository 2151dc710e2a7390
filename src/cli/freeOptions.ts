import type { ParamRow } from "../calculations/params.ts";
import { InputError } from "../model/errors.ts";

/**
 * The parameters of a calculation as options: `--to 1e9`, `--to=1e9`, `--verbose` (true), and the pair `to=1e9` of
 * `--param`, for names that Leasefold's own options use. `max-size` stands for `maxSize`. Values get the type that the
 * calculation's schema names; the schema itself rejects what does not fit. Throws `InputError`.
 */
export function readFreeOptions(
  tokens: readonly string[],
  pairs: readonly string[],
  rows: readonly ParamRow[],
): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  const set = (shown: string, name: string, text: string | undefined): void => {
    const camel = name.replace(/-([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase());
    const row = rows.find((one) => one.name === name || one.name === camel);
    if (row === undefined) {
      const known = rows.map((one) => `--${one.name}`).join(", ") || "none";
      throw invalid(name, `unknown parameter: ${shown}: the parameters are ${known}`);
    }
    if (row.name in params) throw invalid(row.name, `${shown} is given twice`);
    params[row.name] = typedValue(row, text, shown);
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

/** The text as the first type of the row that it fits; lists and objects are given as JSON. */
function typedValue({ name, type }: ParamRow, text: string | undefined, shown: string): unknown {
  const types = new Set(type.split(" | "));
  if (text === undefined) {
    if (types.has("boolean")) return true;
    throw invalid(name, `${shown} needs a value`);
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

const invalid = (field: string, message: string): InputError =>
  new InputError("invalid", "bad-option", message, { field });
