import { apiFunctions } from "../../src/app/api/apiFunctions.ts";
import type { ApiAnswer, ApiPorts, ApiRequest } from "../../src/app/api/apiRequest.ts";
import { routes } from "../../src/app/api/routes.ts";
import type { FileAccess } from "../../src/engine/calculation/files.ts";
import type { Client } from "../../src/engine/client/client.ts";
import { describeCalculations } from "../../src/engine/client/describeCalculations.ts";
import { planWithin } from "../../src/engine/client/estimate/planInThread.ts";
import { planWorkers } from "../../src/engine/client/estimate/planWorkers.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { readSettings } from "../../src/engine/model/settings.ts";
import type { ClientWorld } from "../client/clientWorld.ts";
import { checkAnswer } from "../support/checkAnswer.ts";
import { localCode } from "../support/localCode.ts";

/** A request as the host would hand it over. */
export function apiRequest(
  path: string,
  given: {
    body?: unknown;
    headers?: Record<string, string>;
    params?: Record<string, string>;
    method?: string;
  } = {},
): ApiRequest {
  const url = new URL(path, "https://host/api/");
  const text = typeof given.body === "string" ? given.body : JSON.stringify(given.body ?? {});
  return {
    method: given.method ?? "GET",
    url: url.href,
    headers: new Headers({ "content-type": "application/json", ...given.headers }),
    params: given.params ?? {},
    query: url.searchParams,
    arrayBuffer: async () => new TextEncoder().encode(text).buffer as ArrayBuffer,
  };
}

export interface Answered extends ApiAnswer {
  header(name: string): string | null;
  /** What was logged while answering. */
  readonly logged: readonly string[];
}

/** What the app gives its handlers, on this client. A plan runs the code in this process. */
export const portsOf = (client: Client, log: ApiPorts["log"] = () => {}): ApiPorts => ({
  ...{ client, log, resultLinks: true },
  calculations: async () => describeCalculations(client.calculations),
  submit: (request, by) => submit({ ...client, ...by }, request),
  plan: planWithin(() => ({
    ...{ calculations: client.calculations, clock: client.clock, settings: readSettings({}) },
    planWorkers: () => planWorkers({ LEASEFOLD_PLAN_WORKERS: undefined }, async () => client),
    access: noFiles,
    startThread: async () => localCode(client.calculations),
  })),
});

const noFiles: FileAccess = {
  list: () => Promise.reject(new Error("no files here")),
  read: () => Promise.reject(new Error("no files here")),
};

/**
 * Answers `GET runs/{id}` and its like, exactly as the function does that takes the path. The parameters of the request
 * fill the template, each as one segment.
 */
export async function call(
  client: Client,
  route: string,
  request: ApiRequest,
  { readOnly = false, resultLinks = true } = {},
): Promise<Answered> {
  const [method = "", template = ""] = route.split(" ");
  const path = template.replace(/{(\w+)}/g, (_, name: string) =>
    (request.params[name] ?? "").replaceAll("/", "%2F"),
  );
  const [segment = "", rest = ""] = [template.split("/")[0], path.split("/").slice(1).join("/")];
  const logged: string[] = [];
  const ports = portsOf(client, ({ level, event, fields }) => {
    logged.push(`${level} ${JSON.stringify({ event, ...fields })}`);
  });
  const context = {
    warn: (...args: unknown[]) => void logged.push(`warn ${args.join(" ")}`),
    error: (...args: unknown[]) => void logged.push(`error ${args.join(" ")}`),
  };
  const host = { readOnly: () => readOnly, ports: () => ({ ...ports, resultLinks }) };
  const facts = { version: "1.2.3", instance: () => "node-1", lastTickAgeMs: () => undefined };
  const all = apiFunctions(host, { ...facts, readOnly: host.readOnly });
  const taker = all.find((one) => one.route === `${segment}/{*rest}`);
  if (taker === undefined) throw new Error(`no function takes ${route}`);
  const asked = { ...request, method: request.method === "HEAD" ? "HEAD" : method, params: { rest } };
  const answered = await taker.handle(asked, context);
  // Without the name at its end a path is that of another route.
  if (!path.endsWith("/")) checkAnswer(route, { ...answered, method: asked.method });
  const headers = new Headers(answered.headers);
  return { ...answered, header: (one) => headers.get(one), logged };
}

/** `fetch` of an app on this client. Virtual time passes until it has answered. */
export const fetchOn =
  ({ world, client }: Pick<ClientWorld, "world" | "client">): typeof fetch =>
  async (input, init) => {
    const request = new Request(input, init);
    request.signal.throwIfAborted();
    const { pathname, search } = new URL(request.url);
    const parts = pathname.split("/").slice(2).map(decodeURIComponent);
    const body = await request.text();
    const found = routes.find(
      ({ method, route }) =>
        method === request.method &&
        route.split("/").length === parts.length &&
        route.split("/").every((one, at) => one.startsWith("{") || one === parts[at]),
    );
    if (found === undefined) return new Response(null, { status: 404 });
    const names = found.route.split("/");
    const params = Object.fromEntries(
      names.flatMap((one, at) => (one.startsWith("{") ? [[one.slice(1, -1), parts[at] ?? ""]] : [])),
    );
    const asked = apiRequest(`${parts.join("/")}${search}`, { params, method: request.method, body });
    const headers = { get: (name: string) => request.headers.get(name) };
    const name = `${found.method} ${found.route}`;
    const {
      status,
      headers: given,
      body: bytes,
      jsonBody,
    } = await world.finish(call(client, name, { ...asked, headers }));
    const sent = jsonBody === undefined ? bytes : JSON.stringify(jsonBody);
    const shown = typeof sent === "object" ? new Uint8Array(sent) : sent;
    return new Response(status === 304 ? null : shown, { status, headers: given ?? {} });
  };
