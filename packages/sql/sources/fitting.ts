import { identifier, textLiteral } from "../duck/session.ts";
import type { ReadOptions } from "./readOptions.ts";

/**
 * Types that a sample suggested are claims. Files are read as text, and each value is cast only if it is one of its type:
 * a whole number has no leading zeros, a date has no time, a boolean is no number, and text may be anything. What fits is what
 * DuckDB's own search for types takes for the type, less what a cast would lose.
 */

/** A type of DuckDB: a struct's fields, or what a list or map holds, are parts. */
interface TypeTree {
  readonly name: string;
  readonly parts: readonly (readonly [field: string, type: TypeTree])[];
}

const whole = /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER)$/;
const real = /^(DOUBLE|FLOAT|DECIMAL\(.*\))$/;

/** Reads a type as DuckDB writes it: `STRUCT(a BIGINT, "b c" VARCHAR[])`, `MAP(VARCHAR, DOUBLE)`. */
export function parseType(text: string): TypeTree {
  const list = /^(.*)\[\d*\]$/s.exec(text)?.[1];
  if (list !== undefined) return { name: "LIST", parts: [["", parseType(list)]] };
  const [, name = "", inner = ""] = /^(STRUCT|MAP)\((.*)\)$/s.exec(text) ?? [];
  if (name === "") return { name: text, parts: [] };
  const parts = splitList(inner).map((part) => {
    if (name === "MAP") return ["", parseType(part)] as const;
    const [, quoted, plain, type = ""] = /^(?:"((?:[^"]|"")*)"|(\w+)) (.*)$/s.exec(part) ?? [];
    return [quoted?.replaceAll('""', '"') ?? plain ?? "", parseType(type)] as const;
  });
  return { name, parts };
}

/** The parts of a list between commas that are within no parentheses and no quotes. */
export function splitList(text: string): string[] {
  const parts: string[] = [];
  let [depth, from] = [0, 0];
  for (const { 0: token, index } of text.matchAll(/"(?:[^"]|"")*"|'(?:[^']|'')*'|[(),]/g)) {
    if (token === "(") depth += 1;
    if (token === ")") depth -= 1;
    if (token !== "," || depth > 0) continue;
    parts.push(text.slice(from, index).trim());
    from = index + 1;
  }
  return [...parts, text.slice(from).trim()].filter((part) => part !== "");
}

/** A value of a type, as SQL. */
export interface Fit {
  /** True if it is one; for NULL it says nothing. */
  readonly fits: string;
  /** The value; an error, or another value, where it does not fit. */
  readonly value: string;
  /** A cheaper test: where it is true the value is one of its type, or an error. */
  readonly quick?: string | undefined;
  /** True of a text of JSON that may have been a number, a boolean, an object or an array. */
  readonly doubt?: string | undefined;
}

/** Whether a value is NULL or fits. */
export const isOneOf = (value: string, fits: string): string =>
  `(${value} is null or coalesce(${fits}, false))`;

/** How values of a column become its type. */
export interface Claim {
  readonly type: string;
  /** The user said so: then zeros may lead, and decimals may be rounded. */
  readonly isTold: boolean;
  /** A day without a time is no time: DuckDB finds text where JSON has both. */
  readonly isJson?: boolean;
  readonly options: ReadOptions;
}

const match = (text: string, pattern: string): string =>
  `regexp_full_match(${text}, ${textLiteral(pattern)})`;

/** A text of a CSV file as a value. */
export function fitText(text: string, claim: Claim): Fit {
  const { type, isTold, options } = claim;
  if (type === "VARCHAR") return { fits: "true", value: text };
  const { thousands, decimal_separator: point, dateformat, timestampformat } = options;
  if (whole.test(type) || real.test(type)) {
    const plain = plainNumber(text, thousands, point);
    const fit = whole.test(type) ? fitWhole(plain, type, isTold) : fitReal(plain, type, isTold);
    if (plain === text) return fit;
    const digits = thousands === undefined ? "\\d+" : `(\\d+|\\d{1,3}(${quoted(thousands)}\\d{3})+)`;
    const number = `\\s*[+-]?${digits}(${quoted(point ?? "'.'")}\\d*)?([eE][+-]?\\d+)?\\s*`;
    return { ...fit, quick: undefined, fits: `${match(text, number)} and ${fit.fits}` };
  }
  if (type === "BOOLEAN")
    return {
      fits: `try_cast(${text} as boolean) is not null and ${text} not in ('0', '1')`,
      value: `cast(${text} as boolean)`,
      quick: `${text} in ('true', 'false')`,
    };
  const format =
    type === "DATE" ? dateformat : /^TIMESTAMP( WITH TIME ZONE)?$/.test(type) ? timestampformat : undefined;
  if (format !== undefined && format !== "'%Y-%m-%d'") {
    const parsed = `cast(try_strptime(${text}, ${format}) as ${type})`;
    return { fits: `${parsed} is not null`, value: parsed };
  }
  return fitTime(text, claim);
}

const quoted = (literal: string): string => literal.slice(1, -1).replace(/[^\w]/g, "\\$&");

function plainNumber(text: string, thousands: string | undefined, point: string | undefined): string {
  const without = thousands === undefined ? text : `replace(${text}, ${thousands}, '')`;
  return point === undefined || point === "'.'" ? without : `replace(${without}, ${point}, '.')`;
}

/** What DuckDB passes over on both sides of a number or day, as a pattern and in a call of `trim`. */
const space = "[\\s\\v]*";
const trimmed = (text: string): string => `trim(${text}, ' \t\n\v\f\r')`;

/** Texts in order of their bytes: those that begin with a plus, or with a zero before another digit. -007 is a number to DuckDB. */
const zeroLed = (text: string): string => `(${text} between '00' and '0:' or ${text} between '+' and '+:')`;

const wholeForm = `${space}(-\\d+|0|[1-9]\\d*|0[xX][\\da-fA-F]+|0[bB][01]+)${space}`;

function fitWhole(text: string, type: string, isTold: boolean): Fit {
  const value = `cast(${text} as ${type})`;
  const parsed = `try_cast(${text} as ${type})`;
  if (isTold) return { fits: `${parsed} is not null and ${match(text, "\\s*[+-]?\\d+(\\.0*)?\\s*")}`, value };
  const fits = `(${parsed}::varchar = ${text} or ${parsed} is not null and ${match(text, wholeForm)})`;
  return { fits, value, quick: `${value}::varchar = ${text}` };
}

function fitReal(text: string, type: string, isTold: boolean): Fit {
  const value = `cast(${text} as ${type})`;
  const isNumber = `try_cast(${text} as ${type}) is not null`;
  if (isTold) return { fits: isNumber, value };
  // Whole numbers of more digits than a double holds are names of things, and must stay apart.
  const isExact = `${value}::decimal(38, 0)::varchar = ${trimmed(text)}`;
  const isLong = `strlen(${text}) >= 16 and ${match(text, `${space}[+-]?\\d{16,}${space}`)} and not coalesce(try(${isExact}), false)`;
  // A cast takes 1_000 for a number, and DuckDB's reader of CSV takes it for a text.
  const isPlain = `not contains(${text}, '_')`;
  const fits = `(${isNumber} and ${isPlain} and not ${zeroLed(trimmed(text))} and not (${isLong}))`;
  const quick = `strlen(${text}) < 16 and ${text} >= '!' and ${isPlain} and not ${zeroLed(text)}`;
  return { fits, value, quick };
}

const day = "-?\\d{1,6}[-/]\\d{1,2}[-/]\\d{1,2}( \\(BC\\))?";
const clock = "\\d{1,2}:\\d{1,2}(:\\d{1,2}(\\.\\d{0,6}0*)?)?";
const zone = "(Z|UTC|[+-]\\d{2}(:?\\d{2})?)?";
/** Times that have a name: one among timestamps makes them such with a time zone. */
const named = "(?i:-?inf(inity)?|epoch)";
const forms: Readonly<Record<string, string>> = {
  DATE: `${space}(${day}|${named})${space}`,
  TIME: `${space}${clock}${space}`,
  TIMESTAMP: `${space}${day}([ T]+${clock}\\s*Z?)?${space}`,
  "TIMESTAMP WITH TIME ZONE": `${space}(${day}([ T]+${clock}\\s*${zone})?|${named})${space}`,
  UUID: "[\\da-fA-F-]{36}",
};
/** Lengths at which a text that is a date or time has nothing that its type would lose. */
const plainForms: Readonly<Record<string, (text: string) => string>> = {
  DATE: (text) => `(strlen(${text}) = 10 and ${text} >= '0')`,
  TIME: (text) => `strlen(${text}) = 8`,
  TIMESTAMP: (text) => `(strlen(${text}) = 19 and ${text} >= '0' and substr(${text}, 17, 1) = ':')`,
};

function fitTime(text: string, { type, isTold, isJson = false }: Claim): Fit {
  const isOne = `try_cast(${text} as ${type}) is not null`;
  const form = forms[type];
  const value = `cast(${text} as ${type})`;
  if (form === undefined)
    return { fits: isTold ? isOne : `(${isOne} and ${value}::varchar = trim(${text}))`, value };
  const plain = plainForms[type]?.(text);
  const needsTime = isJson && !isTold && type.startsWith("TIMESTAMP") ? ` and contains(${text}, ':')` : "";
  // In JSON neither days before Christ nor those with a name are days to DuckDB.
  const isCommon = isJson && !isTold && type !== "UUID" ? ` and ${match(text, "\\s*\\d[^(]*")}` : "";
  const isForm = `${match(text, form)}${needsTime}${isCommon}`;
  return {
    fits: `(${isOne} and (${plain === undefined ? "" : `${plain} or `}${isForm}))`,
    value,
    quick: plain,
  };
}

/** Types of JSON values that are read as they stand, to be cast here. */
const asJson = (type: string): boolean =>
  whole.test(type) || real.test(type) || type === "BOOLEAN" || type === "JSON";

/**
 * The type with which DuckDB's reader of JSON keeps a value as it stands. It makes text of any value where text is asked for: what
 * a text within a column was is known only of JSON, unless the user said that it is one.
 */
export function jsonReadType({ name, parts }: TypeTree, isTold: boolean, isInner = false): string {
  const inner = parts.map(([field, part], at) => {
    const isKey = name === "MAP" && at === 0;
    return `${field === "" ? "" : `${identifier(field)} `}${jsonReadType(part, isTold || isKey, true)}`;
  });
  if (name === "LIST") return `${inner[0]}[]`;
  if (parts.length > 0) return `${name}(${inner.join(", ")})`;
  return asJson(name) || (name === "VARCHAR" && isInner && !isTold) ? "JSON" : "VARCHAR";
}

const doubtOf = (text: string): string =>
  `(${text} < ':' or ${text} between '[' and '\\' or ${text} >= '{' or ${text} in ('true', 'false')) and json_valid(${text})`;

/** What is claimed of a value of JSON, and of what it holds. */
interface JsonClaim extends Omit<Claim, "type"> {
  /** See `Reader`. */
  readonly valueless: ReadonlySet<string>;
  /** See `Reader`. */
  readonly fields: ReadonlySet<string> | undefined;
}

/** A value within that of a column: what a list or map holds has no name of its own. */
interface Place {
  /** From the column on, as `"column"."field"[]`. */
  readonly path: string;
  /** Of lambdas. */
  readonly depth: number;
}

/** A value of JSON, read with `jsonReadType`, as one of its type. */
export function fitJson(json: string, tree: TypeTree, claim: JsonClaim, place?: Place): Fit {
  const { path, depth } = place ?? { path: json, depth: 0 };
  const { name, parts } = tree;
  const each = `e${depth}`;
  const inner = { path: `${path}[]`, depth: depth + 1 };
  const [key, second] = parts;
  if (name === "STRUCT") {
    const fields = parts.map(([field, part]) => {
      const own = `.${identifier(field)}`;
      const { fits, value } = fitJson(json + own, part, claim, { path: path + own, depth });
      if (claim.fields?.has(field.toLowerCase()) === false)
        return { fits: "true", value: `${identifier(field)} := case when false then ${value} end` };
      return { fits: isOneOf(json + own, fits), value: `${identifier(field)} := ${value}` };
    });
    return {
      fits: `(${fields.map(({ fits }) => fits).join(" and ") || "true"})`,
      value: `case when ${json} is not null then struct_pack(${fields.map(({ value }) => value).join(", ")}) end`,
    };
  }
  if (name === "LIST" && key !== undefined) {
    const { fits, value } = fitJson(each, key[1], claim, inner);
    return {
      fits: `len(list_filter(${json}, lambda ${each}: not ${isOneOf(each, fits)})) = 0`,
      value: value === each ? json : `list_transform(${json}, lambda ${each}: ${value})`,
    };
  }
  if (name === "MAP" && key !== undefined && second !== undefined) {
    const { fits, value } = fitJson(`${each}.value`, second[1], claim, inner);
    const entries = `map_entries(${json})`;
    const pair = `struct_pack(k := ${each}.key, v := ${value})`;
    return {
      fits: `len(list_filter(${entries}, lambda ${each}: not ${isOneOf(`${each}.value`, fits)})) = 0`,
      value: `case when ${json} is not null then map_from_entries(list_transform(${entries}, lambda ${each}: ${pair})) end`,
    };
  }
  if (claim.valueless.has(path)) return { fits: "false", value: json };
  if (name === "VARCHAR" && !claim.isTold)
    return place === undefined
      ? { fits: "true", value: json, doubt: doubtOf(json) }
      : { fits: `starts_with(${json}, '"')`, value: `(${json} ->> '$')` };
  if (!asJson(name)) return fitText(json, { type: name, isJson: true, ...claim });
  // A text with a number in it is one where the user says so.
  const text = claim.isTold ? `(${json} ->> '$')` : `cast(${json} as varchar)`;
  if (name === "JSON") return { fits: "true", value: json };
  if (name === "BOOLEAN") return { fits: `${text} in ('true', 'false')`, value: `cast(${text} as boolean)` };
  return fitText(text, { type: name, ...claim, options: {} });
}

/** Tests whether a value of a column holds one, for all within it that is JSON, by path. */
export function holdsValue(
  value: string,
  { name, parts }: TypeTree,
  fields: ReadonlySet<string> | undefined,
  { path, depth }: Place = { path: value, depth: 0 },
): [path: string, test: string][] {
  const each = `e${depth}`;
  const tests = parts.flatMap(([field, part]): [string, string][] => {
    if (name === "STRUCT") {
      const own = `.${identifier(field)}`;
      if (fields?.has(field.toLowerCase()) === false) return [];
      return holdsValue(value + own, part, fields, { path: path + own, depth });
    }
    const list = name === "MAP" ? `map_values(${value})` : value;
    const found = holdsValue(each, part, fields, { path: `${path}[]`, depth: depth + 1 });
    return found.map(([own, test]) => [own, `len(list_filter(${list}, lambda ${each}: ${test})) > 0`]);
  });
  return name === "JSON" ? [[path, `${value} is not null`]] : tests;
}
