import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";

/** An HTTP server that answers as the test says, and a storage that takes it for the service. */
export interface FakeService {
  readonly storage: Storage;
  /** Method and path with query of every request so far. */
  readonly requests: readonly string[];
  /** How many connections were opened so far. */
  connections(): number;
  close(): Promise<void>;
}

export type Answer = (request: IncomingMessage, response: ServerResponse, count: number) => void;

export async function fakeService(answer: Answer): Promise<FakeService> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    request.resume();
    response.setHeader("Date", new Date(0).toUTCString());
    answer(request, response, requests.length);
  });
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/account`;
  const connectionString = [
    "DefaultEndpointsProtocol=http;AccountName=account;AccountKey=a2V5",
    `BlobEndpoint=${endpoint}`,
    `QueueEndpoint=${endpoint}`,
  ].join(";");
  return {
    storage: connectStorage({ connectionString }),
    requests,
    connections: () => connections,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** An error answer in the service's shape. */
export function fail(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { "Content-Type": "application/xml", "x-ms-error-code": code });
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}
