import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startHttpServer } from "../../../../src/host/httpServer.ts";

const other = createServer();
let taken = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  taken = (other.address() as AddressInfo).port;
});
afterAll(() => void other.close());

const start = (wish: boolean) =>
  startHttpServer({
    port: { number: taken, wish },
    routePrefix: "api",
    routes: [],
    ...{ key: "key", keyHint: "" },
    isAnonymous: () => false,
    serve: () => Promise.reject(new Error("never called")),
    onFailure: () => undefined,
  });

it("a requested port that is in use is an error that names it", async () => {
  await expect(start(false)).rejects.toThrow(String(taken));
});

it("a port that is only a wish gives way to a free one", async () => {
  const listener = await start(true);
  expect(listener.port).not.toBe(taken);
  expect((await fetch(`http://127.0.0.1:${listener.port}/`)).status).toBe(404);
  await listener.stop();
});
