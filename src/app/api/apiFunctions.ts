import { InputError } from "../../engine/model/errors.ts";
import { type ApiHost, type ApiLog, answer, harmless, problemOf } from "./answer.ts";
import { type ApiAnswer, type ApiRequest, readBody } from "./apiRequest.ts";
import { type Asked, decodeQuery, type HttpMethod, type InstanceFacts, type Route } from "./route.ts";
import { routes } from "./routes.ts";

/** A function of the API, for whoever serves it: the Functions host, or `leasefold ui`. */
export interface ApiFunction {
  readonly name: string;
  readonly methods: typeof taken;
  /** `runs/{*rest}`, which matches `runs` as well. */
  readonly route: string;
  /** Served without a key. */
  readonly anonymous: boolean;
  /** Never rejects. Routes the request by `params.rest`. */
  handle(request: ApiRequest, log: ApiLog): Promise<ApiAnswer>;
}

/** The methods that each function takes. The host itself answers any other, such as TRACE, with 404. */
const taken = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/**
 * One function per first path segment. The Functions host promises no order among routes that match one request, and no
 * two of these do. Within a function the table of routes decides, so each path below it is answered by the app: with 404
 * for a path of no route, and with 405 for a method that a route does not have.
 */
export function apiFunctions(host: ApiHost, facts: InstanceFacts): readonly ApiFunction[] {
  const groups = Map.groupBy(routes, ({ route }) => route.split("/")[0] ?? "");
  return [...groups].map(([segment, own]) => ({
    name: `api${segment.slice(0, 1).toUpperCase()}${segment.slice(1).replaceAll(/\W/g, "")}`,
    methods: taken,
    route: `${segment}/{*rest}`,
    anonymous: own.every(({ anonymous }) => anonymous === true),
    handle: (request, log) => serve(own, partsOf(segment, request), request, { host, facts, log }),
  }));
}

interface Around {
  readonly host: ApiHost;
  readonly facts: InstanceFacts;
  readonly log: ApiLog;
}

async function serve(
  own: readonly Route[],
  parts: readonly string[],
  request: ApiRequest,
  { host, facts, log }: Around,
): Promise<ApiAnswer> {
  const there = own.filter(({ route }) => paramsOf(route, parts) !== undefined);
  const route = there.find(({ method }) => methodsOf(method).includes(request.method));
  if (route === undefined) return answerOther(request.method, parts, there);
  const routed = withParams(request, paramsOf(route.route, parts) ?? {});
  const { give, handler, body } = route;
  try {
    const query = decodeQuery(route, request);
    if (handler === undefined) return give?.(routed, log, facts) ?? answerOther(request.method, parts, []);
    const decode = async () =>
      ({ ...routed, query, body: body && (await readBody(request, body)) }) as unknown as Asked;
    return await answer(async (_, ...ports) => handler(await decode(), ...ports), routed, host, log);
  } catch (error) {
    return harmless((host.fail ?? problemOf)(error));
  }
}

/** The host gives no `rest` for the segment alone. A slash at the end counts for nothing. */
const partsOf = (segment: string, { params }: ApiRequest): string[] => {
  const rest = (params["rest"] ?? "").replace(/\/$/, "");
  return [segment, ...(rest === "" ? [] : rest.split("/"))];
};

/** The parameters of a path that the route matches. Literals match in any case, as in the host. */
function paramsOf(route: string, parts: readonly string[]): Record<string, string> | undefined {
  const segments = route.split("/");
  if (segments.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const part = parts[index] ?? "";
    if (segment.startsWith("{") && part !== "") params[segment.slice(1, -1)] = part;
    else if (part.toLowerCase() !== segment) return undefined;
  }
  return params;
}

/** A new object, because the library's request has private fields. */
const withParams = (request: ApiRequest, params: ApiRequest["params"]): ApiRequest => ({
  method: request.method,
  url: request.url,
  headers: request.headers,
  query: request.query,
  params,
  arrayBuffer: () => request.arrayBuffer(),
});

/** What can be read can also be asked for without the body, which the host then leaves out. */
const methodsOf = (method: HttpMethod): string[] => (method === "GET" ? ["GET", "HEAD"] : [method]);

/** Answers OPTIONS with the methods of a path, any other method with 405, and a path of no route with 404. */
function answerOther(method: string, parts: readonly string[], there: readonly Route[]): ApiAnswer {
  if (there.length === 0) {
    const path = parts.join("/").slice(0, 80);
    return harmless(problemOf(new InputError("unknown", "unknown-path", `${path}: there is no such route`)));
  }
  const allow = [...there.flatMap((one) => methodsOf(one.method)), "OPTIONS"].join(", ");
  if (method === "OPTIONS") return harmless({ status: 204, headers: { allow } });
  const message = `${method}: not a method of this route; it has ${allow}`;
  return harmless(problemOf(new InputError("invalid", "method-not-allowed", message, { allow })));
}
