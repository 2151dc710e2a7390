import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { signed, tellersOf } from "../../src/app/functions/webhooks.ts";
import type { EndedRun } from "../../src/engine/model/endedRun.ts";
import { readSettings } from "../../src/engine/model/settings.ts";
import type { QueueStore } from "../../src/engine/storage/queuePort.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const other = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const word = { type: "run.failed", timestamp: "", data: { id: "u1-2", run: "r" } } as unknown as EndedRun;
const noQueue = {} as QueueStore;
const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listen(answer: RequestListener, host = "127.0.0.1"): Promise<number> {
  const server = createServer(answer).listen(0, host);
  servers.push(server);
  await new Promise((resolve) => server.once("listening", resolve));
  return (server.address() as AddressInfo).port;
}

const settingsOf = (env: Record<string, string>) =>
  readSettings({ LEASEFOLD_WEBHOOK_SECRET: secret, ...env });
const tell = async (url: string, allow = "http,private") => {
  const all = tellersOf(settingsOf({ LEASEFOLD_WEBHOOKS: url, LEASEFOLD_WEBHOOK_ALLOW: allow }), noQueue);
  return [...(all?.values() ?? [])][0]?.tell(word);
};

test("a signature is that of the libraries of Standard Webhooks, and each secret signs", () => {
  const body = '{"test": 2432232314}';
  const headers = signed("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body, [secret]);
  expect(headers["webhook-signature"]).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  const two = signed("m", 1, body, [secret, other])["webhook-signature"].split(" ");
  expect(two).toEqual([secret, other].map((one) => signed("m", 1, body, [one])["webhook-signature"]));
});

test("an endpoint gets the word under a signed id, and its body is not read", async () => {
  let got: IncomingMessage["headers"] = {};
  let body = "";
  const port = await listen(async (request, response) => {
    got = request.headers;
    for await (const piece of request) body += piece;
    response.writeHead(202);
    // It never ends.
    response.write("x".repeat(10_000));
  });
  await expect(tell(`http://127.0.0.1:${port}/hook`)).resolves.toBe(true);
  expect(JSON.parse(body)).toEqual(word);
  const atS = Number(got["webhook-timestamp"]);
  expect(Math.abs(Date.now() / 1_000 - atS)).toBeLessThan(60);
  expect(got).toMatchObject({ ...signed("u1-2", atS, body, [secret]), "content-type": "application/json" });
});

test("a redirect is not followed, and is a refusal as any other answer but 2xx and 410", async () => {
  const asked: (string | undefined)[] = [];
  const port = await listen(({ url }, response) => {
    asked.push(url);
    response.writeHead(Number(url?.slice(1)), { location: "/200" }).end();
  });
  for (const status of [301, 307, 400, 429, 500])
    await expect(tell(`http://127.0.0.1:${port}/${status}`)).rejects.toThrow(`it answered ${status}`);
  await expect(tell(`http://127.0.0.1:${port}/410`)).resolves.toBe(false);
  expect(asked).toEqual(["/301", "/307", "/400", "/429", "/500", "/410"]);
});

describe("an address that is private", () => {
  test.each(["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0"])(
    "is not connected to by %s",
    async (host) => {
      let asked = 0;
      const port = await listen((_request, response) => {
        asked += 1;
        response.end();
      });
      await expect(tell(`http://${host}:${port}/`, "http")).rejects.toThrow("its address is private");
      expect(asked).toBe(0);
    },
  );

  test.each([
    ...[
      "10.1.2.3",
      "172.31.0.1",
      "192.168.1.1",
      "169.254.169.254",
      "168.63.129.16",
      "100.64.0.1",
      "224.0.0.1",
    ],
    ...["[::1]", "[::]", "[fe80::1]", "[fd00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::ffff:a00:1]"],
  ])("is refused as %s", async (host) => {
    await expect(tell(`http://${host}:9/`, "http")).rejects.toThrow("its address is private");
  });
});

test("http, a user in the address and a missing secret are refused at the start, without telling the address", () => {
  const refuse = (env: Record<string, string>) => () => tellersOf(readSettings(env), noQueue);
  const LEASEFOLD_WEBHOOK_SECRET = secret;
  expect(refuse({ LEASEFOLD_WEBHOOKS: "http://a.example/k", LEASEFOLD_WEBHOOK_SECRET })).toThrow(
    "LEASEFOLD_WEBHOOKS: address 1 does not begin with https://",
  );
  expect(refuse({ LEASEFOLD_WEBHOOKS: "https://u:p@a.example", LEASEFOLD_WEBHOOK_SECRET })).toThrow(
    "has a user",
  );
  expect(refuse({ LEASEFOLD_WEBHOOKS: "https://a.example" })).toThrow("LEASEFOLD_WEBHOOK_SECRET: is missing");
  expect(tellersOf(readSettings({}), noQueue)).toBeUndefined();
});

test("no text in a setting of webhooks makes another error than one that names the setting and no secret", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.webUrl({ validSchemes: ["http", "https", "ftp"], withQueryParameters: true }),
    fc.string().map((some) => `whsec_${some}`),
    fc.string().map((some) => `https://${some}`),
  );
  fc.assert(
    fc.property(text, text, text, (urls, key, allow) => {
      const env = { LEASEFOLD_WEBHOOKS: urls, LEASEFOLD_WEBHOOK_SECRET: key, LEASEFOLD_WEBHOOK_ALLOW: allow };
      try {
        tellersOf(readSettings(env), noQueue);
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        expect(code).toBe("bad-setting");
        if (key.length > 12) expect(message).not.toContain(key);
        if (urls.length > 12) expect(message).not.toContain(urls);
      }
    }),
  );
});
