import { once } from "node:events";
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "../../src/engine/storage/system.ts";

/**
 * A small HTTP proxy between a storage SDK and Azurite, which does to each request what a test says. It knows
 * nothing of storage but the shape of its errors; signatures do not cover the host, so they stay valid.
 */
export interface FaultProxy {
  /** The account's connection string with the blob service, or both services, behind this proxy. */
  readonly connectionString: string;
  /** Every request that came in, in that order, with what became of it so far; none with `forget`. */
  readonly exchanges: readonly Exchange[];
  /** Decides about each request from now on; nothing goes wrong before this is called. */
  use(faultOf: FaultOf): void;
  close(): Promise<void>;
}

export type ProxyFault =
  | "none"
  /** The connection is reset before the request goes on: no effect. */
  | "drop request"
  /** The service has done it; the connection is reset instead of an answer. */
  | "drop reply"
  /** Nothing goes on, nothing comes back. */
  | "hang"
  /** The service has done it; nothing comes back. */
  | "hang after"
  /** Delivered twice at once; the first answer comes back. */
  | "twice"
  /** Refused here, as by a busy service. */
  | { readonly status: number; readonly code: string }
  /** Goes on so much later; the answer then comes back. With `again`, a copy goes on at once as well. */
  | { readonly delayMs: number; readonly again?: boolean };

type FaultOf = (exchange: Exchange) => ProxyFault;

export interface Exchange {
  readonly method: string;
  /** Path with query. */
  readonly url: string;
  /** What the election would call it, by method, query and the record's state. */
  readonly name: string;
  readonly service: "blob" | "queue";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** When it came in, by this machine's monotonic clock. */
  readonly atMs: number;
  /** From 1, among requests of this name. */
  readonly nth: number;
  /** Answers of the service, in the order in which they came; the caller may have seen none of them. */
  readonly answers: {
    readonly status: number;
    readonly etag: string;
    readonly code: string;
    readonly bytes: number;
  }[];
}

export async function startFaultProxy(
  target: { readonly connectionString: string; readonly blobPort: number; readonly queuePort: number },
  more: {
    /** Queues are behind it too. */
    readonly queues?: boolean;
    /** Exchanges are not kept, for traffic of any length. */
    readonly forget?: boolean;
  } = {},
): Promise<FaultProxy> {
  const exchanges: Exchange[] = [];
  const counts = new Map<string, number>();
  const agent = new Agent({ keepAlive: true });
  let faultOf: FaultOf = () => "none";

  const ports = { blob: target.blobPort, queue: target.queuePort };

  async function serve(service: Service, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bytesOf(incoming);
    const exchange = exchangeOf(service, incoming, body, counts);
    if (more.forget !== true) exchanges.push(exchange);
    const fault = faultOf(exchange);
    const pass = (): Promise<Answer> => forward(agent, ports[service], incoming, body, exchange);
    if (fault === "hang") return;
    if (fault === "drop request") return reset(incoming);
    if (typeof fault === "object" && "status" in fault) return refuse(response, fault);
    if (typeof fault === "object") {
      if (fault.again === true) await pass();
      await systemClock.sleep(fault.delayMs);
    }
    const answer = await pass();
    if (fault === "twice") await pass();
    if (fault === "hang after") return;
    if (fault === "drop reply") return reset(incoming);
    if (response.destroyed) return;
    response.writeHead(answer.status, answer.headers);
    response.end(answer.body);
  }

  const servers: Server[] = [];
  let connectionString = target.connectionString;
  for (const service of more.queues === true ? (["blob", "queue"] as const) : (["blob"] as const)) {
    const server = createServer((incoming, response) => {
      // The caller went away, or Azurite did; either way nobody waits for this answer.
      serve(service, incoming, response).catch(() => response.destroy());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    servers.push(server);
    const { port } = server.address() as AddressInfo;
    connectionString = connectionString.replace(`:${ports[service]}/`, `:${port}/`);
  }
  return {
    connectionString,
    exchanges,
    use(next) {
      faultOf = next;
    },
    async close() {
      agent.destroy();
      for (const server of servers) {
        const closed = once(server, "close");
        server.close();
        server.closeAllConnections();
        await closed;
      }
    },
  };
}

type Service = Exchange["service"];

interface Answer {
  readonly status: number;
  readonly headers: string[];
  readonly body: Buffer;
}

const bytesOf = async (from: IncomingMessage): Promise<Buffer> => {
  const pieces: Buffer[] = [];
  for await (const piece of from) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
};

async function forward(
  agent: Agent,
  port: number,
  { method = "GET", url = "/", rawHeaders }: IncomingMessage,
  body: Buffer,
  exchange: Exchange,
): Promise<Answer> {
  const outgoing = httpRequest({ agent, host: "127.0.0.1", port, method, path: url, headers: rawHeaders });
  outgoing.end(body);
  const [reply] = (await once(outgoing, "response")) as [IncomingMessage];
  const answer = { status: reply.statusCode ?? 0, headers: reply.rawHeaders, body: await bytesOf(reply) };
  exchange.answers.push({
    status: answer.status,
    etag: (reply.headers.etag ?? "").replaceAll('"', ""),
    code: String(reply.headers["x-ms-error-code"] ?? ""),
    bytes: answer.body.byteLength,
  });
  return answer;
}

const reset = ({ socket }: IncomingMessage): void => void socket.resetAndDestroy();

function refuse(response: ServerResponse, fault: { readonly status: number; readonly code: string }): void {
  response.writeHead(fault.status, { "Content-Type": "application/xml", "x-ms-error-code": fault.code });
  response.end(
    `<?xml version="1.0"?><Error><Code>${fault.code}</Code><Message>${fault.code}</Message></Error>`,
  );
}

function exchangeOf(
  service: Service,
  incoming: IncomingMessage,
  body: Buffer,
  counts: Map<string, number>,
): Exchange {
  const { method = "", url = "" } = incoming;
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
  );
  const name = nameOf(method, url, headers);
  const nth = (counts.get(name) ?? 0) + 1;
  counts.set(name, nth);
  return {
    ...{ method, url, name, service, headers, nth },
    atMs: systemClock.monotonicMs(),
    get body() {
      return body.toString("utf8");
    },
    answers: [],
  };
}

function nameOf(method: string, url: string, headers: Readonly<Record<string, string>>): string {
  const query = new URL(url, "http://host").searchParams;
  if (query.get("comp") === "lease") return headers["x-ms-lease-action"] ?? "lease";
  if (query.get("comp") === "metadata")
    return `write ${JSON.parse(headers["x-ms-meta-record"] ?? "{}").state ?? ""}`.trim();
  return method.toLowerCase();
}
