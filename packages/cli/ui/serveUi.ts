import { randomBytes } from "node:crypto";
import type { ApiHost, ApiLog } from "../../../src/app/api/answer.ts";
import { type ApiFunction, apiFunctions } from "../../../src/app/api/apiFunctions.ts";
import type { ApiAnswer, ApiRequest } from "../../../src/app/api/apiRequest.ts";
import { version } from "../../../src/engine/model/settings.ts";
import {
  type HttpAnswer,
  type HttpIncoming,
  type HttpPort,
  startHttpServer,
} from "../../../src/host/httpServer.ts";

/** A page and an API on this machine that only who has the address can use. */
export type ServedUi = Awaited<ReturnType<typeof serveUi>>;

/**
 * Serves the API and the dashboard on 127.0.0.1, with the handlers of the app and a token drawn for this start in place of
 * the function key.
 *
 * Not promised: anything against programs of the same user.
 */
export async function serveUi(options: {
  readonly host: ApiHost;
  readonly port: HttpPort;
  readonly log: ApiLog;
}) {
  const { host, log, port } = options;
  const token = randomBytes(24).toString("base64url");
  const facts = { version, instance: () => "leasefold ui", lastTickAgeMs: () => undefined };
  const functions = apiFunctions(host, { ...facts, readOnly: host.readOnly });
  const listener = await startHttpServer<ApiFunction>({
    port,
    key: token,
    routePrefix: "api",
    routes: functions.map((target) => ({ target, methods: target.methods, template: target.route })),
    keyHint: 'open the address that "leasefold ui" printed',
    isAnonymous: ({ anonymous }) => anonymous,
    serve: async (target, request) => answerOf(await target.handle(requestOf(request), log)),
    onFailure: (_target, error) => log.error("http:", error),
  });
  // With the token in its fragment, which a browser never sends.
  return { ...listener, address: dashboardAddress(`http://127.0.0.1:${listener.port}`, token) };
}

/** The address of the dashboard of a server on this machine: a click is enough, and no log of requests has the key. */
export const dashboardAddress = (server: string, key: string): string => `${server}/api/ui#token=${key}`;

const requestOf = ({ method, url, headers, query, params, body }: HttpIncoming): ApiRequest => ({
  method,
  url,
  params,
  headers: new Headers(Object.fromEntries(headers)),
  query: new URLSearchParams(Object.fromEntries(query)),
  arrayBuffer: async () => new Uint8Array(body).buffer,
});

function answerOf({ status, headers, body, jsonBody }: ApiAnswer): HttpAnswer {
  if (jsonBody === undefined) {
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    return { status, ...(headers && { headers }), ...(bytes && { body: bytes }) };
  }
  const text = Buffer.from(JSON.stringify(jsonBody));
  return { status, headers: { "content-type": "application/json", ...headers }, body: text };
}
