import { Ajv2020 } from "ajv/dist/2020.js";
import { openApi, problemsOf } from "../../scripts/openApi.ts";
import { routes } from "../../src/app/api/routes.ts";

// Of a closed document: a field that no schema names is an error here, while a client takes it.
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(openApi({}, { closed: true }), "api");

const escaped = (name: string): string =>
  encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));

function faultsOf(pointer: readonly string[], answer: unknown): string[] {
  const validate = ajv.getSchema(`api#/${pointer.map(escaped).join("/")}`);
  if (validate === undefined) return [`the document has no ${pointer.join("/")}`];
  // As a client gets it: JSON leaves out what is undefined.
  validate(JSON.parse(JSON.stringify(answer)));
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${instancePath || "the answer"} ${message} ${JSON.stringify(params)}`,
  );
}

/** Throws unless an answer has the status, the fields and the problem code that the OpenAPI document tells of its route. */
export function checkAnswer(
  name: string,
  {
    status,
    jsonBody,
    method = "",
  }: { readonly status: number; readonly jsonBody?: unknown; readonly method?: string },
): void {
  const route = routes.find((one) => `${one.method} ${one.route}` === name);
  if (route === undefined) throw new Error(`there is no route ${name}`);
  if (jsonBody === undefined || method === "HEAD") return;
  const { code = "" } = status < 400 ? {} : (jsonBody as { readonly code?: string });
  // The route is not asked: no route has such a method or path.
  if (code === "method-not-allowed" || code === "unknown-path") return;
  const content = status < 400 ? "application/json" : "application/problem+json";
  const of = [
    "paths",
    `/${route.route}`,
    route.method.toLowerCase(),
    "responses",
    String(status),
    "content",
    content,
    "schema",
  ];
  const faults = faultsOf(of, jsonBody);
  if (status >= 400 && status < 500 && problemsOf(route).get(status)?.includes(code) !== true)
    faults.push(`its route does not tell of the problem ${status} ${code}`);
  if (faults.length > 0)
    throw new Error(
      `${name} ${status}: ${faults.slice(0, 5).join("; ")}: ${JSON.stringify(jsonBody).slice(0, 500)}`,
    );
}
