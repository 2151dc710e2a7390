import type { openApi } from "./openApi.ts";

/** Of JSON Schema, what the schemas of the API use. */
interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string;
  readonly not?: Schema;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
}
interface Content {
  readonly content?: { readonly "application/json"?: { readonly schema?: Schema } };
}
interface Operation {
  readonly operationId: string;
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

/** A caller may give what is frozen, and undefined for what it leaves out; an answer in JSON holds neither. */
interface Style {
  readonly readonly: "readonly " | "";
  readonly absent: " | undefined" | "";
}
const sent: Style = { readonly: "readonly ", absent: " | undefined" };
const answered: Style = { readonly: "", absent: "" };

/**
 * The text of `packages/client/apiTypes.ts`: a type for each named schema of the API, and the answer and the JSON body of
 * each operation. (openapi-typescript stands on the compiler's API, which TypeScript 7 does not have.)
 */
export function clientTypes(document: ReturnType<typeof openApi>): string {
  const { schemas = {} } = document.components as { readonly schemas?: Readonly<Record<string, Schema>> };
  const paths = Object.values(document.paths as Readonly<Record<string, Record<string, Operation>>>);
  const operations = paths.flatMap((methods) => Object.values(methods));
  const bodies = operations.map(({ operationId, requestBody }) => [operationId, requestBody] as const);
  const answers = operations.map(({ operationId, responses }) => {
    const [, answer] = Object.entries(responses).find(([code]) => code < "300") ?? [];
    return [operationId, answer] as const;
  });
  const inBodies = JSON.stringify(bodies);
  const styleOf = (name: string): Style => (inBodies.includes(`/${name}"`) ? sent : answered);
  return [
    "/** Generated from the schemas of the API: `npx vitest run --project unit packages/client/test/apiTypes -u`. */",
    ...Object.entries(schemas).map(
      ([name, schema]) => `${docOf(schema)}export type ${name} = ${textOf(schema, styleOf(name))};`,
    ),
    `/** The answers in JSON, by operation. */\nexport type Answers = ${fieldsOf(answers, answered)};`,
    `/** What is sent in JSON, by operation. */\nexport type Bodies = ${fieldsOf(bodies, sent)};\n`,
  ].join("\n\n");
}

function fieldsOf(all: readonly (readonly [string, Content | undefined])[], style: Style): string {
  const properties = all.flatMap(([name, of]) => {
    const schema = of?.content?.["application/json"]?.schema;
    return schema === undefined ? [] : [[name, schema] as const];
  });
  return objectOf({ properties: Object.fromEntries(properties), required: all.map(([name]) => name) }, style);
}

const docOf = ({ description }: Schema): string =>
  description === undefined ? "" : `/** ${description.replaceAll("*/", "* /")} */\n`;

const plain: Readonly<Record<string, string>> = {
  integer: "number",
  number: "number",
  string: "string",
  boolean: "boolean",
};

function textOf(schema: Schema, style: Style): string {
  const { $ref, type = "", enum: values, not, items, minItems, maxItems } = schema;
  const either = schema.anyOf ?? schema.oneOf;
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf("/") + 1);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (values !== undefined) return values.map((one) => JSON.stringify(one)).join(" | ");
  if (either !== undefined) return either.map((one) => textOf(one, style)).join(" | ");
  if (not !== undefined) return "never";
  if (items !== undefined) {
    const item = textOf(items, style);
    if (minItems !== undefined && minItems === maxItems)
      return `${style.readonly}[${Array(minItems).fill(item).join(", ")}]`;
    return `${style.readonly}${/^\w+$/.test(item) ? item : `(${item})`}[]`;
  }
  return type === "object" ? objectOf(schema, style) : (plain[type] ?? "unknown");
}

/** Without the fields that a later version may add. */
function objectOf({ properties, required = [], additionalProperties: more }: Schema, style: Style): string {
  if (properties === undefined) {
    const record = `Record<string, ${typeof more === "object" ? textOf(more, style) : "unknown"}>`;
    return style.readonly === "" ? record : `Readonly<${record}>`;
  }
  const fields = Object.entries(properties).map(([name, schema]) => {
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    const [mark, absent] = required.includes(name) ? ["", ""] : ["?", style.absent];
    const field = `${docOf(schema)}${style.readonly}${key}${mark}: ${textOf(schema, style)}${absent};`;
    return field.replace(/^/gm, "  ");
  });
  return `{\n${fields.join("\n")}\n}`;
}
