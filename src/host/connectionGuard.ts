import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Closes the connections of those who send half a request or take no answer, and bounds how many there are. Node's own timeouts
 * for headers and requests begin when a server listens, so they never begin for sockets that another process hands over.
 *
 * Not promised: fairness among those who send whole requests.
 */
export interface ConnectionLimits {
  /** Until the headers of a request are there, from the begin of the connection or the end of its last answer. */
  readonly headersMs: number;
  /** Until the body is there as well, from the end of the headers. */
  readonly bodyMs: number;
  /** Until the system has taken the whole answer, from its last byte on. */
  readonly answerMs: number;
  readonly connectionsMax: number;
  /** How often the times are compared. */
  readonly checkEveryMs: number;
}

/**
 * A browser opens six connections, and the command line a few. A body of 8 MiB takes 30 s at 280 kB/s, and the system gives a
 * process at least 1,024 files, or many more.
 */
export const connectionLimits: ConnectionLimits = {
  headersMs: 15_000,
  bodyMs: 30_000,
  answerMs: 120_000,
  connectionsMax: 900,
  checkEveryMs: 1_000,
};

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly beganMs: number;
  /** When it was first seen that the answer had its last byte. */
  endedMs?: number;
}

interface Held {
  /** Since when no request of it is under way. */
  idleMs: number;
  readonly exchanges: Set<Exchange>;
}

const isComputed = ({ request, response }: Exchange): boolean => request.complete && !response.writableEnded;

/**
 * Guards the connections of a server, those that it accepts and those that it is given by its event `connection`. They
 * are closed without an answer, since bytes that a client does not read would keep the connection open on its side.
 */
export function guardConnections(server: Server, limits: ConnectionLimits = connectionLimits): void {
  /** Those that have waited longest come first. */
  const open = new Map<Socket, Held>();
  let timer: NodeJS.Timeout | undefined;
  /** Counts checks, so that a process that was frozen or busy first reads what came meanwhile. */
  let nowMs = 0;

  const isLate = ({ idleMs, exchanges }: Held): boolean => {
    if (exchanges.size === 0) return nowMs - idleMs >= limits.headersMs;
    return [...exchanges].some((one) => {
      if (!one.request.complete) return nowMs - one.beganMs >= limits.bodyMs;
      if (!one.response.writableEnded) return false;
      one.endedMs ??= nowMs;
      return nowMs - one.endedMs >= limits.answerMs;
    });
  };
  const closeLate = (): void => {
    nowMs += limits.checkEveryMs;
    for (const [socket, held] of open) if (isLate(held)) socket.destroy();
  };
  /** Makes room for one that comes. What a handler computes is not given up for it. */
  const closeOldest = (): boolean => {
    for (const [socket, held] of open) {
      if ([...held.exchanges].some(isComputed)) continue;
      open.delete(socket);
      socket.destroy();
      return true;
    }
    return false;
  };

  server.on("connection", (socket: Socket) => {
    if (open.size >= limits.connectionsMax && !closeOldest()) return void socket.destroy();
    open.set(socket, { idleMs: nowMs, exchanges: new Set() });
    timer ??= setInterval(closeLate, limits.checkEveryMs).unref();
    socket.once("close", () => {
      open.delete(socket);
      if (open.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    });
  });
  server.on("request", (request, response) => {
    const { socket } = request;
    const held = open.get(socket);
    if (held === undefined) return;
    const exchange = { request, response, beganMs: nowMs };
    held.exchanges.add(exchange);
    response.once("close", () => {
      held.exchanges.delete(exchange);
      if (held.exchanges.size > 0 || !open.delete(socket)) return;
      held.idleMs = nowMs;
      open.set(socket, held);
    });
  });
}
