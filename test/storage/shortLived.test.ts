import { once } from "node:events";
import { Agent, createServer, get, type IncomingMessage } from "node:http";
import { createServer as createTlsServer, Agent as TlsAgent, get as tlsGet } from "node:https";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { freeing, socketOptions } from "../../src/azure/shortLived.ts";

// Several reads of a socket, with an end that fills none.
const body = Buffer.alloc(3_000_001, "shorter than its length");

// TLS without certificates: both sides have a key.
const psk = { key: Buffer.alloc(16, 7), identity: "test" };
const tls = { ciphers: "PSK-AES128-GCM-SHA256", maxVersion: "TLSv1.2" as const };
type Options = ReturnType<typeof socketOptions>;
const protocols = {
  http: { server: () => createServer(), agent: (options: Options) => new Agent(options), get },
  https: {
    server: () => createTlsServer({ ...tls, pskCallback: () => psk.key }),
    agent: (options: Options) =>
      new TlsAgent({
        ...{ ...options, ...tls, pskCallback: () => ({ psk: psk.key, identity: psk.identity }) },
        checkServerIdentity: () => undefined,
      }),
    get: tlsGet,
  },
};

it.each([
  ["http", "with its length"],
  ["http", "in chunks"],
  ["https", "with its length"],
  ["https", "in chunks"],
] as const)("a socket passes on every byte: %s, a body %s, read late", async (protocol, how) => {
  const { server, agent, get } = protocols[protocol];
  const serving = server().on("request", (_request, response) => {
    if (how === "with its length") response.setHeader("Content-Length", body.length);
    for (let at = 0; at < body.length; at += 70_001) response.write(body.subarray(at, at + 70_001));
    response.end();
  });
  serving.listen(0, "127.0.0.1");
  await once(serving, "listening");
  const { port } = serving.address() as AddressInfo;
  const options = socketOptions();
  const memory: Uint8Array[] = [];
  const buffer = () => {
    const made = options.onread.buffer();
    memory.push(made);
    return made;
  };
  const kept = agent({ ...options, onread: { ...options.onread, buffer } });
  let connections = 0;
  serving.on("connection", () => {
    connections += 1;
  });
  const fetched = async () => {
    const [answer] = (await once(get({ host: "127.0.0.1", port, agent: kept }), "response")) as [
      IncomingMessage,
    ];
    // As much has come as the answer holds before its first byte is read.
    while (answer.readableLength < answer.readableHighWaterMark) await turn();
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece);
    return Buffer.concat(pieces);
  };
  try {
    const both = await Promise.all([fetched(), fetched()]);
    const again = await fetched();
    expect([...both, again].map((one) => one.equals(body))).toEqual([true, true, true]);
    expect(connections).toBe(2);
    // What each connection would read next is all that is left.
    expect(memory.length).toBeGreaterThan((3 * body.length) / 65_536);
    expect(memory.filter(({ length }) => length > 0)).toHaveLength(connections);
  } finally {
    kept.destroy();
    serving.close();
  }
});

it("a piece is freed when the next one is asked for, unless others share its memory", async () => {
  const shared = Buffer.alloc(100, 3);
  const whole = [new Uint8Array(10).fill(1), new Uint8Array(20).fill(2)];
  async function* pieces() {
    yield* [...whole, shared.subarray(0, 50)];
  }
  const seen: number[] = [];
  for await (const piece of freeing(pieces())) seen.push(piece.length, piece[0] ?? 0);
  expect(seen).toEqual([10, 1, 20, 2, 50, 3]);
  expect(whole.map(({ length }) => length)).toEqual([0, 0]);
  expect(shared.every((byte) => byte === 3)).toBe(true);
});
