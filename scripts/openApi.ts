import { STATUS_CODES } from "node:http";
import * as z from "zod";
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiOverride } from "zod-openapi";
import { problemSchema } from "../src/app/api/answer.ts";
import type { Route } from "../src/app/api/route.ts";
import { routes } from "../src/app/api/routes.ts";
import { kebab } from "../src/engine/model/json.ts";

/** A real answer, and the request that it answers. */
export interface Example {
  readonly body?: unknown;
  readonly answer?: unknown;
}

/** What any route may answer: a wrong request, a missing key, an app that is read-only, and what is no fault of the request. */
const always: Readonly<Record<number, readonly string[]>> = {
  400: ["unknown-query", "bad-query"],
  401: ["bad-key"],
  500: ["internal"],
  503: ["storage-busy"],
};
const ofChanges = { 403: ["read-only"] };
const ofBodies = {
  400: ["not-json", "bad-field", "unknown-field"],
  413: ["body-too-large"],
  415: ["not-json-type"],
};

interface Meta {
  /** What is documented in place of a schema that takes anything. */
  readonly as?: z.ZodType;
  /** Of the problem when it does not fit; `bad-{field}` by default. */
  readonly code?: string;
}
const metaOf = (schema: unknown) => (z.globalRegistry.get(schema as z.ZodType) ?? {}) as Meta;

/** Codes for fields of a body that are checked with a rule of their own. */
function codesOf(body: z.ZodType | undefined): readonly string[] {
  if (!(body instanceof z.ZodObject)) return [];
  return Object.entries<z.ZodType>(body.shape).flatMap(([name, field]) => {
    const { as, code } = metaOf(field instanceof z.ZodOptional ? field.unwrap() : field);
    return as === undefined ? [] : [code ?? `bad-${kebab(name)}`];
  });
}

/** The codes of problems by status that a route may answer. */
export function problemsOf({
  method,
  anonymous,
  body,
  takes,
  problems,
}: Route): Map<number, readonly string[]> {
  if (anonymous)
    return new Map(Object.entries(problems ?? {}).map(([status, codes]) => [Number(status), codes]));
  const parts = [
    ...[always, method === "GET" ? {} : ofChanges],
    ...[body || takes ? ofBodies : {}, { 400: codesOf(body) }, problems ?? {}],
  ].flatMap((one) => Object.entries<readonly string[]>(one));
  const groups = Map.groupBy(parts, ([status]) => Number(status));
  return new Map(
    [...groups].map(([status, all]) => [status, [...new Set(all.flatMap(([, codes]) => codes))]]),
  );
}

const bytes = (type: string) => ({ [type]: { schema: { type: "string" as const, format: "binary" } } });

function responses(route: Route, example: Example): ZodOpenApiOperationObject["responses"] {
  const { answer, status = 200, cached, ranges } = route;
  const content =
    typeof answer === "string"
      ? bytes(answer)
      : {
          "application/json": {
            schema: answer,
            ...(example.answer === undefined ? {} : { example: example.answer }),
          },
        };
  const ok = { description: status === 200 ? "The answer." : (STATUS_CODES[status] ?? ""), content };
  const problems = [...problemsOf(route)].map(([code, codes]) => {
    const told = codes.length === 0 ? "" : ` Codes: ${codes.map((one) => `\`${one}\``).join(", ")}.`;
    const description = `${STATUS_CODES[code]}.${told}`;
    return [code, { description, content: { "application/problem+json": { schema: problemSchema } } }];
  });
  return Object.fromEntries([
    [status, ok],
    ...(ranges ? [[206, { ...ok, description: "A part of the answer." }]] : []),
    ...(cached ? [[304, { description: "It is what `If-None-Match` names." }]] : []),
    ...problems,
  ]);
}

function operation(route: Route, example: Example): ZodOpenApiOperationObject {
  const { method, query, body, takes, summary, anonymous } = route;
  const names = [...route.route.matchAll(/{(\w+)}/g)].map(([, name = ""]) => name);
  const path = z.object(Object.fromEntries(names.map((name) => [name, z.string()])));
  const words = route.route.split("/").map((part) => part.replace(/\W/g, ""));
  const headers = [
    ...(route.cached ? ["If-None-Match"] : []),
    ...(route.ranges ? ["Range", "If-Range"] : []),
    ...(route.header ? [route.header] : []),
  ].map((name) => [name, z.string().optional()]);
  const requestBody = body
    ? {
        content: {
          "application/json": {
            schema: body,
            ...(example.body === undefined ? {} : { example: example.body }),
          },
        },
      }
    : takes && { required: true, content: bytes(takes) };
  return {
    operationId: [method.toLowerCase(), ...words]
      .map((word, i) => (i === 0 ? word : word.slice(0, 1).toUpperCase() + word.slice(1)))
      .join(""),
    summary,
    tags: [tagOf(words[0])],
    ...(anonymous ? { security: [] } : {}),
    requestParams: {
      ...(names.length > 0 ? { path } : {}),
      ...(Object.keys(query).length > 0 ? { query: z.object(query) } : {}),
      ...(headers.length > 0 ? { header: z.object(Object.fromEntries(headers)) } : {}),
    },
    ...(requestBody ? { requestBody } : {}),
    responses: responses(route, example),
  };
}

/** Documents in place of a schema that takes anything what it stands for, and nothing of what only the code needs. */
const override: ZodOpenApiOverride = ({ zodSchema, jsonSchema }) => {
  const { as } = metaOf(zodSchema);
  if (as !== undefined) Object.assign(jsonSchema, z.toJSONSchema(as, { io: "input" }));
  for (const own of ["as", "code", "wireVersion", "readOnly", "$schema"])
    delete (jsonSchema as Record<string, unknown>)[own];
};

/** Without the bounds of what a number can hold, and without rules beside a reference, which would hold as well. */
function plain(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ("$ref" in value && "description" in value) return { $ref: value.$ref, description: value.description };
  if ("$ref" in value) return { $ref: value.$ref };
  const isBound = ([name, bound]: [string, unknown]) =>
    (name === "maximum" || name === "minimum") && Math.abs(Number(bound)) === Number.MAX_SAFE_INTEGER;
  return Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).filter((one) => !isBound(one)));
}

/** Objects of answers are open: a client must take a field that a later version adds. */
const opened =
  (closed: boolean): ZodOpenApiOverride =>
  (context) => {
    override(context);
    if (context.io === "output" && !closed && context.jsonSchema.additionalProperties === false)
      delete context.jsonSchema.additionalProperties;
  };

const tags: Readonly<Record<string, string>> = {
  runs: "Submit, steer and ask.",
  calculations: "What can be computed, and what that would take.",
  uploads: "Files that calculations read.",
  service: "Who leads and who works, what waits, and the pages.",
};
const tagOf = (segment = ""): string =>
  segment === "plan" ? "calculations" : segment in tags ? segment : "service";

/** The OpenAPI document of all routes, with these examples by `METHOD route`. */
export function openApi(
  examples: Readonly<Record<string, Example>> = {},
  options: { readonly closed?: boolean } = {},
) {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const route of routes) {
    const { method, route: path } = route;
    const operations = { [method.toLowerCase()]: operation(route, examples[`${method} ${path}`] ?? {}) };
    paths[`/${path}`] = { ...paths[`/${path}`], ...operations };
  }
  const document = createDocument(
    {
      openapi: "3.1.1",
      info: {
        title: "Leasefold",
        version: "1",
        summary: "One large calculation, computed as many small ones.",
        description:
          "Every GET answers HEAD too, and every route OPTIONS. What a schema cannot say is in docs/HTTP.md of the package.",
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [{ url: "/api" }],
      security: [{ key: [] }],
      tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          key: { type: "apiKey", in: "header", name: "x-functions-key", description: "A function key." },
        },
      },
      paths,
    },
    { override: opened(options.closed === true) },
  );
  return JSON.parse(JSON.stringify(document), plain) as typeof document;
}
