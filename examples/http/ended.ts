import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/**
 * Prints a line for each run that has ended, once: it takes what LEASEFOLD_WEBHOOKS sends. LEASEFOLD_WEBHOOK_SECRET is that of
 * the app, and an instance on the same machine needs LEASEFOLD_WEBHOOK_ALLOW=http,private.
 */
const { LEASEFOLD_WEBHOOK_SECRET: secret = "", PORT: port = "8787" } = process.env;
const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
const maxBytes = 64 * 1024;
const maxAgeS = 300;
const seen = new Set<string>();

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) {
    pieces.push(piece);
    if (Buffer.concat(pieces).length > maxBytes) return void response.writeHead(413).end();
  }
  const body = Buffer.concat(pieces).toString();
  const [id, at, signatures] = ["id", "timestamp", "signature"].map((name) =>
    String(request.headers[`webhook-${name}`] ?? ""),
  ) as [string, string, string];
  const wanted = Buffer.from(
    `v1,${createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64")}`,
  );
  const isSigned = signatures
    .split(" ")
    .map((one) => Buffer.from(one))
    .some((one) => one.length === wanted.length && timingSafeEqual(one, wanted));
  if (!isSigned || !(Math.abs(Date.now() / 1_000 - Number(at)) < maxAgeS))
    return void response.writeHead(401).end();
  // The same word may come again.
  if (!seen.has(id)) {
    seen.add(id);
    const { run, outcome, error } = JSON.parse(body).data;
    console.log(`${run} ${outcome}${error === undefined ? "" : `: ${error.message}`}`);
  }
  response.writeHead(204).end();
}

const server = createServer(
  (request, response) => void take(request, response).catch(() => response.destroy()),
);
server.listen(Number(port), "127.0.0.1", () => console.error("listening"));
