import { messageOf } from "../../model/errors.ts";
import type { HttpData, RegisteredFunction, TypedData } from "./coreModule.ts";
import type { HostLog } from "./hostLog.ts";

import {
  type HttpAnswer,
  type HttpIncoming,
  type HttpListener,
  type HttpPort,
  type Route,
  startHttpServer,
} from "./httpServer.ts";
import type { Outcome } from "./invoker.ts";

/** Serves the HTTP functions of an app as the Functions host does without `enableHttpStream`; cookies are not sent. */
export const startHttp = (options: {
  readonly port: HttpPort;
  readonly routePrefix: string;
  readonly routes: readonly Route<RegisteredFunction>[];
  readonly log: HostLog;
  readonly key: string;
  /** Whether a function is served without the key. */
  readonly isAnonymous: (target: RegisteredFunction) => boolean;
  /** Never rejects. */
  readonly invoke: (target: RegisteredFunction, request: HttpData) => Promise<Outcome>;
}): Promise<HttpListener> =>
  startHttpServer({
    ...options,
    keyHint: '"leasefold show key" prints it',
    onFailure: ({ metadata }, error) => options.log.httpFailed(metadata.name, messageOf(error)),
    async serve(target, request) {
      const outcome = await options.invoke(target, dataOf(request));
      return outcome.kind === "failed" ? { status: 500 } : answerOf(outcome.response.returnValue?.http);
    },
  });

const dataOf = ({ method, url, headers, query, params, body }: HttpIncoming): HttpData => ({
  ...{ method, url, nullableHeaders: nullable(headers), nullableQuery: nullable(query) },
  nullableParams: nullable(Object.entries(params)),
  ...(body.byteLength > 0 ? { body: { bytes: body } } : {}),
});

const nullable = (entries: HttpIncoming["query"]) =>
  Object.fromEntries(entries.map(([name, value]) => [name, { value }]));

/** A handler that returned nothing is answered 204, as the host does. */
function answerOf(http: HttpData | undefined): HttpAnswer {
  if (!http) return { status: 204 };
  return { status: Number(http.statusCode ?? 200), headers: { ...http.headers }, body: bodyBytes(http.body) };
}

function bodyBytes(body: TypedData | undefined): Uint8Array {
  if (body?.bytes) return body.bytes;
  return Buffer.from(body?.string ?? body?.json ?? "", "utf8");
}
