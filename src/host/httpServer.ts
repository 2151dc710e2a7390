import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type ConnectionLimits, guardConnections } from "./connectionGuard.ts";
import { type Refusal, refusalOf, refusalOfKey } from "./httpGate.ts";
import type { Listener } from "./timerTrigger.ts";

/** Far below Azure's 210 MB; Leasefold accepts nothing larger than an upload. */
const requestBytesMax = 8 * 1024 * 1024;

/** The port to serve. If it is only a wish and in use, any free port is taken. */
export interface HttpPort {
  readonly number: number;
  readonly wish: boolean;
}

export interface HttpListener extends Listener {
  /** 0 where it listens on none. */
  readonly port: number;
  /** Serves a connection that another process accepted, and paused. */
  accept(socket: Socket): void;
}

type Pairs = readonly (readonly [name: string, value: string])[];

/** A request that the gate let pass, with its body. Repeated query parameters are joined with commas, as the host does. */
export interface HttpIncoming {
  readonly method: string;
  readonly url: string;
  readonly headers: Pairs;
  readonly query: Pairs;
  readonly params: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A route: literal segments, parameters such as `{id}`, and `{*rest}` at the end; without the prefix. */
export interface Route<T> {
  readonly methods: readonly string[];
  readonly template: string;
  readonly target: T;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/**
 * Serves routes on 127.0.0.1; port 0 is a free one, and without a port connections are handed over. All but the
 * anonymous ones need the key, by whatever method, and `httpGate.ts` refuses some requests even with it. An answer is sent
 * whole.
 */
export async function startHttpServer<T>(options: {
  readonly port: HttpPort | undefined;
  readonly routePrefix: string;
  readonly routes: readonly Route<T>[];
  readonly key: string;
  /** Where a person finds the key, for the answer to a request without it. */
  readonly keyHint: string;
  /** Whether a target is served without the key. */
  readonly isAnonymous: (target: T) => boolean;
  /** One that rejects is answered with 500. */
  readonly serve: (target: T, request: HttpIncoming) => Promise<HttpAnswer>;
  readonly onFailure: (target: T, error: unknown) => void;
  readonly limits?: ConnectionLimits;
}): Promise<HttpListener> {
  const route = makeRouter(options.routePrefix, options.routes);

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { headers, method = "GET" } = request;
    const refused = refusalOf(request.url, headers);
    if (refused) return refuse(response, refused);
    const url = new URL(`http://${headers.host}${request.url}`);
    const found = route(method, url.pathname);
    if (!found) return void response.writeHead(404).end();
    const { target, params } = found;
    const locked = options.isAnonymous(target)
      ? undefined
      : refusalOfKey(headers, options.key, options.keyHint);
    if (locked) return refuse(response, locked);
    const body = await readBody(request);
    if (body === undefined) {
      request.resume();
      return refuse(response, tooLarge);
    }
    try {
      const query = queryOf(url);
      const all = { method, url: url.href, headers: headersOf(request), query, params, body };
      writeAnswer(response, await options.serve(target, all));
    } catch (error) {
      options.onFailure(target, error);
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    }
  };

  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    open.add(response);
    response.once("close", () => open.delete(response));
    answer(request, response).catch(() => response.destroy());
  });
  guardConnections(server, options.limits);
  if (options.port !== undefined) await listen(server, options.port);
  const address = server.address() as AddressInfo | null;
  return {
    port: address?.port ?? 0,
    accept(socket) {
      server.emit("connection", socket);
      socket.resume();
    },
    async stop() {
      // The server counts only connections that it accepted itself.
      const answered = Promise.all(
        [...open].map((response) => new Promise<void>((resolve) => response.once("close", resolve))),
      );
      if (address !== null) {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        server.closeIdleConnections();
        await closed;
      }
      await answered;
    },
  };
}

async function listen(server: Server, { number, wish }: HttpPort): Promise<void> {
  const on = (port: number) => once(server.listen(port, "127.0.0.1"), "listening");
  await on(number).catch((error: unknown) => {
    if (wish && (error as { code?: unknown }).code === "EADDRINUSE") return on(0);
    throw error;
  });
}

const tooLarge: Refusal = {
  status: 413,
  code: "body-too-large",
  detail: `the body has more than ${requestBytesMax} bytes`,
};

/** Answers with problem details (RFC 9457), as the app does. */
function refuse(response: ServerResponse, { status, code, detail }: Refusal): void {
  const title = STATUS_CODES[status];
  response.writeHead(status, { "content-type": "application/problem+json", connection: "close" });
  response.end(JSON.stringify({ type: `urn:leasefold:error:${code}`, title, status, detail, code }));
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

const headersOf = ({ headers }: IncomingMessage): Pairs =>
  Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
  );

const queryOf = ({ searchParams }: URL): Pairs =>
  [...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name).join(",")]);

/** HEAD and 304 have no body, whatever was answered. */
function writeAnswer(response: ServerResponse, { status, headers = {}, body }: HttpAnswer): void {
  response.writeHead(status, { ...headers });
  const isEmpty = response.req.method === "HEAD" || body === undefined || body.byteLength === 0;
  response.end(isEmpty ? undefined : body);
}

/**
 * Gives a function that finds the route of a request. As in the host, literal segments match in any case and win over
 * parameters, and these over `{*rest}`, which takes the rest of a path and matches none as well.
 */
export function makeRouter<T>(routePrefix: string, routes: readonly Route<T>[]) {
  const compiled = routes
    .map(({ target, methods, template }) => {
      const segments = segmentsOf(`${routePrefix}/${template}`);
      return { target, methods, segments, rank: segments.map(rankOf).join("") };
    })
    .sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0));

  return (method: string, path: string) => {
    const parts = decodedParts(path);
    if (!parts) return undefined;
    for (const { target, methods, segments } of compiled) {
      const params = methods.includes(method) ? match(segments, parts) : undefined;
      if (params) return { target, params };
    }
    return undefined;
  };
}

const segmentsOf = (path: string) => path.split("/").filter((part) => part !== "");

const isRest = (segment: string): boolean => segment.startsWith("{*");
const rankOf = (segment: string): number => (isRest(segment) ? 2 : segment.startsWith("{") ? 1 : 0);

/** The segments of a path, without a slash at the end. An empty one between two slashes is kept: it is no parameter. */
function decodedParts(path: string): string[] | undefined {
  try {
    return path
      .replace(/^\/|\/$/g, "")
      .split("/")
      .map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function match(segments: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  const rest = segments.findIndex(isRest);
  if (rest === -1 ? segments.length !== parts.length : parts.length < rest) return undefined;
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const part = parts[index] ?? "";
    if (index === rest) Object.assign(params, restOf(segment, parts.slice(rest)));
    else if (rankOf(segment) === 1 && part !== "") params[segment.slice(1, -1)] = part;
    else if (part.toLowerCase() !== segment.toLowerCase()) return undefined;
  }
  return params;
}

/** No parameter for no rest, as in the host, which also keeps an encoded slash as it is. */
const restOf = (segment: string, parts: readonly string[]): Record<string, string> =>
  parts.length === 0
    ? {}
    : { [segment.slice(2, -1)]: parts.map((part) => part.replaceAll("/", "%2F")).join("/") };
