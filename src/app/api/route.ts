import * as z from "zod";
import { plainRule } from "../../engine/calculation/params.ts";
import type { Client } from "../../engine/client/client.ts";
import { invalid } from "../../engine/client/runRequest.ts";
import type { ApiLog } from "./answer.ts";
import type { ApiAnswer, ApiPorts, ApiRequest } from "./apiRequest.ts";

/** The methods that routes have. */
export type HttpMethod = "GET" | "POST" | "PATCH" | "DELETE";
type Shape = Readonly<Record<string, z.ZodType>>;

/** A request whose query and body are decoded. */
export interface Asked<Query = never, Body = never> extends Omit<ApiRequest, "query"> {
  readonly query: Query;
  readonly body: Body;
}

/** What an instance knows about itself. */
export interface InstanceFacts {
  readonly version: string;
  /** The commit of this build; undefined where it was built outside of a clone. */
  readonly commit?: string | undefined;
  /** Its name in the lease record; `-` where a wrong setting leaves it without one. */
  instance(): string;
  /** Time since this instance last ticked, by its own clock; undefined before its first tick. */
  lastTickAgeMs(): number | undefined;
  /** Whether every request but a read is refused. */
  readOnly(): boolean;
}

type Handler<Query, Body> = (
  request: Asked<Query, Body>,
  client: Client,
  ports: ApiPorts,
) => Promise<ApiAnswer>;
/** Answers without settings and storage, so also while those are wrong or away. */
type LocalHandler = (request: ApiRequest, log: ApiLog, facts: InstanceFacts) => ApiAnswer;

/** What a route takes and gives. Requests are decoded by it, tests compare answers with it, and the OpenAPI document tells it. */
interface Described {
  readonly method: HttpMethod;
  /** Literal segments and parameters. It follows the prefix that `host.json` sets, and its first segment is a literal. */
  readonly route: string;
  readonly summary: string;
  /** The status of its answer; 200 by default. */
  readonly status?: 201 | 202;
  /** A schema of JSON, or the content type of bytes. */
  readonly answer: z.ZodType | string;
  /** Codes of its problems by status, without those that all routes have. */
  readonly problems?: Readonly<Record<number, readonly string[]>>;
  /** Takes bytes of this content type, which the handler reads. */
  readonly takes?: "application/octet-stream";
  /** It gives an ETag and answers 304 to `If-None-Match`. */
  readonly cached?: true;
  /** The one header of its own that it takes. */
  readonly header?: string;
  /** Takes `Range` and `If-Range`. */
  readonly ranges?: true;
  /** Served without a key. All routes of one first segment agree, because the host checks keys per function. */
  readonly anonymous?: true;
}

export interface Route extends Described {
  readonly query: Shape;
  /** Of a JSON body. */
  readonly body?: z.ZodType;
  readonly handler?: Handler<never, never>;
  readonly give?: LocalHandler;
}

/** A route, its handler typed by its schemas. */
export const defineRoute = <Query extends Shape, Body extends z.ZodType>(
  route: Described & {
    readonly query?: Query;
    readonly body?: Body;
    readonly handler: Handler<z.output<z.ZodObject<Query>>, z.output<Body>>;
  },
): Route => ({ ...route, query: route.query ?? {} });

export const localRoute = (route: Described & { readonly give: LocalHandler }): Route => ({
  ...route,
  query: {},
});

/** A whole number in a query. */
export const queryWhole = (max: number, min = 1) => {
  const rule = {
    error: ({ input }: { readonly input?: unknown }) =>
      `${input} is not a whole number from ${min} to ${max}`,
  };
  const digits = (given: unknown) => (/^\d{1,15}$/.test(String(given)) ? Number(given) : given);
  return z.preprocess(digits, z.int(rule).min(min, rule).max(max, rule)).optional();
};

/** `{name}=true` in a query. */
export const queryFlag = z
  .preprocess(
    (given) => (given === "true" || given === "false" ? given === "true" : given),
    z.boolean({ error: ({ input }) => `${input} is neither true nor false` }),
  )
  .default(false);

/** Seconds to wait for something: Azure's front end ends a request after 230 s. */
export const waitSMax = 200;

/** Throws for a parameter that the route does not have, as a misspelled one would silently leave the default, and for a wrong one. */
export function decodeQuery(
  { query: shape, anonymous }: Route,
  { query }: ApiRequest,
): Record<string, unknown> {
  const known = Object.keys(shape);
  // The Functions host accepts the key as `code`, on every route.
  const unknown = [...query.keys()].find((name) => name !== "code" && !known.includes(name));
  // Where no key is needed, health probes and trackers of links add parameters of their own.
  if (unknown !== undefined && anonymous !== true) {
    const rule = `not a query parameter of this route; it has ${known.join(", ") || "none"}`;
    throw invalid(unknown, rule, "unknown-query");
  }
  const names = [...query.keys()];
  const twice = known.find((name) => names.filter((one) => one === name).length > 1);
  if (twice !== undefined) throw invalid(twice, "it is given twice", "bad-query");
  const given = known.flatMap((name) => {
    const text = query.get(name);
    return text === null ? [] : [[name, text]];
  });
  const decoded = z.object(shape).safeParse(Object.fromEntries(given), { error: plainRule });
  if (decoded.success) return decoded.data;
  const [issue] = decoded.error.issues;
  throw invalid(String(issue?.path[0]), issue?.message ?? "not valid", "bad-query");
}
