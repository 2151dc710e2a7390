import { fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { type ConnectionLimits, connectionLimits } from "../../../../src/host/connectionGuard.ts";
import { patienceMs } from "../../../../test/support/patience.ts";
import { bindPort, type InstancePort } from "../../local/instancePort.ts";

/** A process that serves the connections which this one accepts and hands over, as an instance does. */
const child = new URL("./handedOver.ts", import.meta.url).pathname;
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function served(limits: Partial<ConnectionLimits>): Promise<InstancePort> {
  const all = { ...connectionLimits, checkEveryMs: 20, ...limits };
  const server = fork(child, [JSON.stringify(all)]);
  const port = await bindPort(0, (socket) => {
    server.send({}, socket);
    return true;
  });
  ends.push(() => {
    port.close();
    server.kill("SIGKILL");
  });
  await once(server, "message");
  return port;
}

const closeOf = (socket: Socket) => new Promise<void>((done) => void socket.once("close", () => done()));

/** What is answered to these bytes, once the connection is closed. */
function sent({ number }: InstancePort, bytes: string) {
  const socket: Socket = connect(number, "127.0.0.1");
  let answer = "";
  socket.on("data", (data) => (answer += data)).on("error", () => {});
  socket.write(bytes);
  ends.push(() => socket.destroy());
  return { socket, closed: closeOf(socket).then(() => answer) };
}

const half = "GET /api/open HTTP/1.1\r\nHost: 127.0.0.1\r\nx-a: ";
const halfBody = "POST /api/open HTTP/1.1\r\nHost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n{";
const whole = "GET /api/open HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const ask = async ({ number }: InstancePort) =>
  (await fetch(`http://127.0.0.1:${number}/api/open`, { headers: { connection: "close" } })).status;

test("300 connections with half a request are closed in time, and others are answered meanwhile", {
  timeout: patienceMs,
}, async () => {
  const port = await served({ headersMs: 500, bodyMs: 500 });
  const all = Array.from({ length: 300 }, (_, index) => sent(port, index % 2 === 0 ? half : halfBody));
  expect(await ask(port)).toBe(200);
  expect(new Set(await Promise.all(all.map((one) => one.closed)))).toEqual(new Set([""]));
  expect(await ask(port)).toBe(200);
});

test("the second request of a connection has the same time as the first", {
  timeout: patienceMs,
}, async () => {
  const port = await served({ headersMs: 300 });
  expect(await sent(port, whole + half).closed).toMatch(/^HTTP\/1.1 200 /);
});

test("beyond the maximum the connection that waited longest is closed, and one that is computed for is not", {
  timeout: patienceMs,
}, async () => {
  const port = await served({ connectionsMax: 10 });
  const slow = sent(port, whole.replace("open", "slow"));
  expect(await ask(port)).toBe(200);
  let closed = 0;
  for (let index = 0; index < 30; index += 1) void sent(port, half).closed.then(() => (closed += 1));
  expect(await ask(port)).toBe(200);
  await vi.waitFor(() => expect(closed).toBeGreaterThanOrEqual(20), { timeout: patienceMs });
  slow.socket.write(whole);
  expect(await slow.closed).toMatch(/^HTTP\/1.1 200 /);
});

test("whoever does not take the answer that nobody serves now loses the connection", {
  timeout: patienceMs,
}, async () => {
  const port = await bindPort(0, () => false);
  ends.push(() => port.close());
  const socket = connect({ port: port.number, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {});
  socket.write(half);
  socket.resume();
  await once(socket, "end");
  // Writes on until the other side is gone.
  const timer = setInterval(() => socket.write("a"), 50);
  await closeOf(socket);
  clearInterval(timer);
});
