import { request as httpRequest, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MemoryStorage, memoryStorage } from "../../../../src/engine/storage/memory/memoryStorage.ts";
import { type EmbeddedHost, startEmbeddedHost } from "../../../../src/host/embeddedHost.ts";
import type { InstanceMessage } from "../../../../src/host/instanceMessages.ts";
import { type ManualClock, manualClock, plainRandom } from "./manualClock.ts";

/** A whole host in this process: the real library, the fixture app, in-memory storage, a clock that we move. */
const appDir = fileURLToPath(new URL("../../../../test/fixtures/apps/trio", import.meta.url));
const messages: InstanceMessage[] = [];
let clock: ManualClock;
let storage: MemoryStorage;
let host: EmbeddedHost;

const logged = () => messages.flatMap((one) => (one.kind === "log" ? [one.message] : []));
const lineOf = (beginning: string) => logged().find((line) => line.startsWith(beginning)) ?? "";
const url = (path: string) => `http://127.0.0.1:${host.http?.port}/api/${path}`;

beforeAll(async () => {
  clock = manualClock();
  const random = plainRandom();
  storage = memoryStorage({ clock, random });
  await storage.queues.ensureQueue("jobs");
  host = await startEmbeddedHost({
    appDir,
    httpPort: { number: 0, wish: false },
    functionKey: "secret",
    env: { QUEUE: "jobs", TICK_SCHEDULE: "*/5 * * * * *" },
    ...{ clock, random, storage },
    report: (message) => messages.push(message),
  });
});
afterAll(async () => {
  const stopped = host.stop(0);
  await clock.advance(0);
  await stopped;
});

describe("the timer function of an app", () => {
  it("runs with the library's own timer object", async () => {
    await clock.advance(5_000);
    expect(lineOf("tick")).toBe(
      'tick {"schedule":{"adjustForDST":true},"scheduleStatus":null,"isPastDue":false}',
    );
    expect(logged()).toContain("tick ended");
    expect(messages).toContainEqual(expect.objectContaining({ kind: "ended", function: "tick", ok: true }));
  });
});

describe("the queue function of an app", () => {
  it("gets its message and the trigger metadata as the library converts them", async () => {
    await storage.queues.send("jobs", '{"do":"ok","id":"mine"}');
    await clock.advance(2_500);
    const metadata = JSON.parse(/\{.*\}$/.exec(lineOf("work ok"))?.[0] ?? "{}");
    expect(metadata).toMatchObject({
      queueTrigger: { do: "ok", id: "mine" },
      id: "mine",
      do: "ok",
      dequeueCount: 1,
      insertionTime: expect.stringMatching(/^2026-01-01T00:00:\d\d/),
    });
  });

  it("fails its message by throwing, and the poison function gets it after the last delivery", async () => {
    await storage.queues.send("jobs", '{"do":"fail"}');
    await clock.advance(10_000);
    expect(logged()).toContain("work failed with asked to fail");
    expect(logged()).toContain('poisoned {"do":"fail"}');
    expect(await storage.queues.peek("jobs-poison", 1)).toEqual([]);
  });

  it("counts as running until it ends, as do the host's own calls", async () => {
    await storage.queues.send("jobs", '{"do":"sleep","ms":60}');
    await clock.advance(2_100);
    while (host.stats().running > 0) await new Promise((resolve) => setImmediate(resolve));
    await storage.queues.send("jobs", '{"do":"hang"}');
    await clock.advance(4_500);
    expect(host.stats().running).toBe(1);
    expect(host.stats().hostCalls.queue).toBeGreaterThan(10);
  });
});

describe("the HTTP functions of an app", () => {
  it("get method, query, headers and route parameters", async () => {
    const response = await fetch(url("hello/ada/good%20day?x=1&x=2&y=z"), {
      headers: { "x-test": "yes", "x-functions-key": "secret" },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({
      method: "GET",
      params: { name: "ada", greeting: "good day" },
      query: { x: "1,2", y: "z" },
      header: "yes",
    });
  });

  it("send and receive bytes", async () => {
    const bytes = Uint8Array.from({ length: 1_000 }, (_, index) => index % 256);
    const response = await fetch(url("echo"), { method: "POST", body: bytes });
    expect(response.status).toBe(201);
    expect(response.headers.get("x-bytes")).toBe("yes");
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
  });

  it("may answer with a stream", async () => {
    expect(await (await fetch(url("stream"))).text()).toBe("one two three");
  });

  it("answer 204 for nothing and 500 for an error, which is in the log", async () => {
    expect((await fetch(url("nothing"))).status).toBe(204);
    expect((await fetch(url("throws"))).status).toBe(500);
    expect(lineOf("Error: thrown by the handler")).toContain("trio");
  });

  it("are 404 under another path or method", async () => {
    const statuses = [url("none"), url("echo"), url("hello/ada"), url("../other")].map(
      async (one) => (await fetch(one)).status,
    );
    expect(await Promise.all(statuses)).toEqual([404, 404, 404, 404]);
  });

  it("answer 413 to a body above 8 MB", async () => {
    const answered = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = httpRequest(url("echo"), { method: "POST" }, resolve);
      request.on("error", reject);
      request.end(Buffer.alloc(8 * 1024 * 1024 + 1));
    });
    expect(answered.headers["content-type"]).toBe("application/problem+json");
    expect(await json(answered)).toEqual({
      ...{ type: "urn:leasefold:error:body-too-large", title: "Payload Too Large" },
      ...{ status: 413, code: "body-too-large", detail: "the body has more than 8388608 bytes" },
    });
  });

  it("require the key with each request, unless they are anonymous", async () => {
    const ask = async (key?: string) => {
      const headers: Record<string, string> = key === undefined ? {} : { "x-functions-key": key };
      return (await fetch(url("hello/ada/hi"), { headers })).status;
    };
    expect([await ask(), await ask(""), await ask("Secret"), await ask("secret")]).toEqual([
      401, 401, 401, 200,
    ]);
    const refused = await fetch(url("hello/ada/hi"));
    expect(await refused.json()).toMatchObject({ status: 401, code: "bad-key" });
    expect((await fetch(url("nothing"))).status).toBe(204);
  });

  it("are not served to a page of another origin or under another host name, anonymous ones included", async () => {
    const own = `127.0.0.1:${host.http?.port}`;
    const ask = (headers: Record<string, string>, path = "/api/nothing") =>
      new Promise<number | undefined>((resolve, reject) => {
        const port = host.http?.port ?? 0;
        const asked = httpRequest({ host: "127.0.0.1", port, path, headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        asked.once("error", reject).end();
      });
    expect(await ask({ host: own, origin: `http://${own}`, "sec-fetch-site": "same-origin" })).toBe(204);
    expect(await ask({ host: "evil.example" })).toBe(421);
    expect(await ask({ host: own, origin: "https://evil.example" })).toBe(403);
    expect(await ask({ host: own, "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await ask({ host: own }, "http://evil.example/api/nothing")).toBe(400);
  });
});
