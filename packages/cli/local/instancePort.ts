import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/**
 * The port of one instance. The supervisor binds it once and hands each connection to the process that serves it, so that
 * the port is never free while instances run: whoever bound it between two processes would get the key with the next
 * request of a client. While there is no process to take a connection it is answered with 503.
 */
export interface InstancePort {
  readonly number: number;
  close(): void;
}

/** A client that reads the answer closes at once. Whoever does not must not keep the connection. */
const refusedMs = 5_000;
const refusedMax = 100;

/** `take` gets the socket paused; false where nobody serves now. Port 0 is any free one. Throws where it is in use. */
export async function bindPort(wanted: number, take: (socket: Socket) => boolean): Promise<InstancePort> {
  let refused = 0;
  // Paused, because what this process reads the other one never gets.
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on("error", () => undefined);
    if (take(socket)) return;
    if (refused >= refusedMax) return void socket.destroy();
    refused += 1;
    const timer = setTimeout(() => socket.destroy(), refusedMs);
    socket.once("close", () => {
      refused -= 1;
      clearTimeout(timer);
    });
    // Read to its end, or the client may see a broken connection instead of the answer.
    socket.resume().end(unavailable);
  });
  await once(server.listen(wanted, "127.0.0.1"), "listening");
  return { number: (server.address() as AddressInfo).port, close: () => void server.close() };
}

/** Code of the answer for an instance that has no process now. */
export const instanceDown = "instance-down";

const problem = JSON.stringify({
  type: `urn:leasefold:error:${instanceDown}`,
  title: "Service Unavailable",
  status: 503,
  detail: "this instance is not running at the moment",
  code: instanceDown,
});
const unavailable = [
  "HTTP/1.1 503 Service Unavailable",
  "content-type: application/problem+json",
  `content-length: ${Buffer.byteLength(problem)}`,
  "connection: close",
  "",
  problem,
].join("\r\n");
