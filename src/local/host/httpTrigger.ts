import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";
import { messageOf } from "../../model/errors.ts";
import type { HttpData, RegisteredFunction, TypedData } from "./coreModule.ts";
import type { HostLog } from "./hostLog.ts";
import { type Refusal, refusalOf, refusalOfKey } from "./httpGate.ts";
import { makeRouter, type Route } from "./httpRoutes.ts";
import type { Outcome } from "./invoker.ts";
import type { Listener } from "./timerTrigger.ts";

/** Far below Azure's 210 MB; Leasefold accepts nothing larger. */
const requestBytesMax = 1024 * 1024;

/** The port to serve. If it is only a wish and in use, any free port is taken. */
export interface HttpPort {
  readonly number: number;
  readonly wish: boolean;
}

export interface HttpListener extends Listener {
  readonly port: number;
}

/**
 * Serves the HTTP functions on 127.0.0.1; port 0 is a free one. All but the anonymous ones need the key, and
 * `httpGate.ts` refuses some requests even with it. A response is sent whole, as the real host does without
 * `enableHttpStream`; cookies are not sent.
 */
export async function startHttp(options: {
  readonly port: HttpPort;
  readonly routePrefix: string;
  readonly routes: readonly Route<RegisteredFunction>[];
  readonly log: HostLog;
  readonly key: string;
  /** Whether a function is served without the key. */
  readonly isAnonymous: (target: RegisteredFunction) => boolean;
  /** Never rejects. */
  readonly invoke: (target: RegisteredFunction, request: HttpData) => Promise<Outcome>;
}): Promise<HttpListener> {
  const route = makeRouter(options.routePrefix, options.routes);

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { headers } = request;
    const refused = refusalOf(request.url, headers);
    if (refused) return refuse(response, refused);
    const url = new URL(`http://${headers.host}${request.url}`);
    const found = route(request.method ?? "GET", url.pathname);
    if (!found) return void response.writeHead(404).end();
    const locked = options.isAnonymous(found.target) ? undefined : refusalOfKey(headers, options.key);
    if (locked) return refuse(response, locked);
    const body = await readBody(request);
    if (body === undefined) {
      request.resume();
      return void response.writeHead(413, { connection: "close" }).end();
    }
    const outcome = await options.invoke(found.target, requestData(request, url, found.params, body));
    try {
      if (outcome.kind === "failed") response.writeHead(500).end();
      else writeResponse(response, outcome.response.returnValue?.http);
    } catch (error) {
      options.log.httpFailed(found.target.metadata.name, messageOf(error));
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    }
  };

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const { number: port, wish } = options.port;
  const listen = (wanted: number) => once(server.listen(wanted, "127.0.0.1"), "listening");
  await listen(port).catch((error: unknown) => {
    if (wish && (error as { code?: unknown }).code === "EADDRINUSE") return listen(0);
    throw error;
  });
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await closed;
    },
  };
}

/** Answers with problem details (RFC 9457), as the app does. The request's body is not read. */
function refuse(response: ServerResponse, { status, detail }: Refusal): void {
  const title = STATUS_CODES[status];
  response.writeHead(status, { "content-type": "application/problem+json", connection: "close" });
  response.end(JSON.stringify({ type: "about:blank", title, status, detail }));
}

/** Undefined for a body that is too large; its rest stays unread, and the socket stays open for the answer. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    bytes += piece.byteLength;
    if (bytes > requestBytesMax) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function requestData(
  request: IncomingMessage,
  url: URL,
  params: Readonly<Record<string, string>>,
  body: Buffer,
): HttpData {
  const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
  );
  // The host joins repeated query parameters with commas.
  const query = [...new Set(url.searchParams.keys())].map((name): [string, string] => [
    name,
    url.searchParams.getAll(name).join(","),
  ]);
  return {
    method: request.method ?? "GET",
    url: url.href,
    nullableHeaders: nullable(headers),
    nullableQuery: nullable(query),
    nullableParams: nullable(Object.entries(params)),
    ...(body.byteLength > 0 ? { body: { bytes: body } } : {}),
  };
}

const nullable = (entries: readonly [string, string][]) =>
  Object.fromEntries(entries.map(([name, value]) => [name, { value }]));

/** A handler that returned nothing is answered 204, as the host does. */
function writeResponse(response: ServerResponse, http: HttpData | undefined): void {
  if (!http) return void response.writeHead(204).end();
  const body = bodyBytes(http.body);
  response.writeHead(Number(http.statusCode ?? 200), { ...http.headers });
  response.end(response.req.method === "HEAD" || body.byteLength === 0 ? undefined : body);
}

function bodyBytes(body: TypedData | undefined): Uint8Array {
  if (body?.bytes) return body.bytes;
  return Buffer.from(body?.string ?? body?.json ?? "", "utf8");
}
