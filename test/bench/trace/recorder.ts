import { once } from "node:events";
import { Agent, createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** One HTTP call of an actor to the emulator. Times are of this process's monotonic clock, in ms. */
export interface RecordedCall {
  readonly actor: string;
  readonly method: string;
  /** Path below the account, decoded, with query. */
  readonly path: string;
  readonly fromMs: number;
  toMs: number;
  status: number;
  /** Only of short answers: whether messages came, and which. */
  answer: string;
  readonly body: string;
}

/** Longer bodies are passed on and not kept. */
const keptBytes = 16_384;

/**
 * Stands between one actor and the emulator and notes each call. The actor's connection string names this recorder; signatures
 * do not cover the host, so they stay valid.
 */
export interface Recorder {
  readonly connectionString: string;
  close(): Promise<void>;
}

export async function startRecorder(
  actor: string,
  target: { readonly connectionString: string; readonly blobPort: number; readonly queuePort: number },
  calls: RecordedCall[],
): Promise<Recorder> {
  const agent = new Agent({ keepAlive: true });
  const listen = async (port: number): Promise<Server> => {
    const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
      const { method = "GET", url = "/", headers } = incoming;
      const sent: Buffer[] = [];
      const got: Buffer[] = [];
      const fromMs = performance.now();
      const path = decodeURIComponent(url.split("?")[0] ?? "")
        .split("/")
        .slice(2)
        .join("/");
      const query = url.includes("?") ? url.slice(url.indexOf("?")) : "";
      const upstream = request({ agent, port, method, path: url, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.on("data", (piece: Buffer) => void got.push(piece));
        answer.on("end", () => {
          calls.push({
            ...{ actor, method, path: path + query, fromMs, toMs: performance.now() },
            ...{ status: answer.statusCode ?? 0, answer: textOf(got), body: textOf(sent) },
          });
        });
        answer.pipe(outgoing);
      });
      upstream.on("error", () => outgoing.destroy());
      incoming.on("data", (piece: Buffer) => void sent.push(piece));
      incoming.pipe(upstream);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return server;
  };
  const [blob, queue] = [await listen(target.blobPort), await listen(target.queuePort)];
  const portOf = (server: Server): number => (server.address() as AddressInfo).port;
  return {
    connectionString: target.connectionString
      .replace(`:${target.blobPort}/`, `:${portOf(blob)}/`)
      .replace(`:${target.queuePort}/`, `:${portOf(queue)}/`),
    async close() {
      for (const server of [blob, queue]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
      agent.destroy();
    },
  };
}

const textOf = (pieces: readonly Buffer[]): string => {
  const all = Buffer.concat(pieces);
  return all.byteLength > keptBytes ? "" : all.toString("utf8");
};
