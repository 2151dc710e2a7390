import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { storageHostIn } from "../../src/azure/dataStorage.ts";
import { ConfigError } from "../../src/engine/model/errors.ts";

const credential = { getToken: async () => null };

describe("connecting to storage", () => {
  it("takes the connection string of the emulator", () => {
    expect(connectStorage({ connectionString: "UseDevelopmentStorage=true" })).toHaveProperty("blobs");
  });

  it("takes service addresses and an identity", () => {
    const blobServiceUri = "https://x.blob.core.windows.net";
    const queueServiceUri = "https://x.queue.core.windows.net";
    expect(connectStorage({ blobServiceUri, queueServiceUri, credential })).toHaveProperty("queues");
  });

  it.each([
    ["a shared access signature", "SharedAccessSignature=sv=2025-07-05&sig=eA%3D%3D", /^2025-07-05$/],
    ["a key, which signs the version that the SDK names", "AccountName=x;AccountKey=eA==", /^2026-/],
  ])("asks for one version of the API with %s", async (_what, secret, version) => {
    const asked: unknown[] = [];
    const server = createServer(({ headers }, response) => {
      asked.push(headers["x-ms-version"]);
      response.writeHead(404).end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
    const ends = `BlobEndpoint=${at};QueueEndpoint=${at}`;
    const storage = connectStorage({ connectionString: `DefaultEndpointsProtocol=http;${ends};${secret}` });
    await storage.blobs.head("c", "b").catch(() => {});
    await storage.queues.peek("queue", 1).catch(() => {});
    server.close();
    expect(asked).toHaveLength(2);
    for (const one of asked) expect(one).toMatch(version);
  });

  it.each([301, 302, 303, 307, 308])(
    "follows no redirect with status %i, which could lead to any host",
    async (status) => {
      const reached: string[] = [];
      const elsewhere = createServer(({ url }, response) => {
        reached.push(String(url));
        response.writeHead(404).end();
      }).listen(0, "127.0.0.1");
      await once(elsewhere, "listening");
      let asked = 0;
      const server = createServer(({ url }, response) => {
        asked += 1;
        const location = `http://localhost:${(elsewhere.address() as AddressInfo).port}${url}`;
        response.writeHead(status, { location }).end();
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
      const signed = "SharedAccessSignature=sv=2025-07-05&sig=eA%3D%3D";
      const storage = connectStorage({
        connectionString: `BlobEndpoint=${at};QueueEndpoint=${at};${signed}`,
      });
      const { blobs, queues } = storage;
      const calls = [
        ...[blobs.head("c", "b"), blobs.read("c", "b"), blobs.list("c", ""), blobs.create("c", "b", "x")],
        ...[queues.peek("queue", 1), queues.send("queue", "x"), storage.about?.facts()],
      ];
      const answers = await Promise.allSettled(calls);
      server.close();
      elsewhere.close();
      expect(answers.map((one) => one.status)).toEqual(calls.map(() => "rejected"));
      expect([asked, reached]).toEqual([calls.length, []]);
    },
  );

  it.each(["", "nonsense", "UseDevelopmentStorage=false", "AccountName=x;AccountKey=abc=="])(
    "says before the first call that a connection string is wrong: %s",
    (connectionString) => {
      expect(() => connectStorage({ connectionString })).toThrow(ConfigError);
    },
  );

  const blobServiceUri = "https://x.blob.core.windows.net";
  const queueServiceUri = "https://x.queue.core.windows.net";

  it.each([
    ["http://x.blob.core.windows.net", queueServiceUri, "an identity needs https"],
    ["nope", queueServiceUri, "it is no address"],
    ["https://x.queue.core.windows.net", queueServiceUri, "x.queue.core.windows.net is no blob endpoint"],
    ["https://blob.core.windows.net.example.org", queueServiceUri, "is no blob endpoint"],
    ["https://xblob.core.windows.net", queueServiceUri, "is no blob endpoint"],
    ["https://example.org/x.blob.core.windows.net", queueServiceUri, "example.org is no blob endpoint"],
    ["https://x.blob.core.windows.net@example.org", queueServiceUri, "with a user name"],
    [blobServiceUri, "https://example.org", "example.org is no queue endpoint"],
    [blobServiceUri, "http://x.queue.core.windows.net", "an identity needs https"],
  ])("gives no token to %s and %s", (blob, queue, why) => {
    const connection = { blobServiceUri: blob, queueServiceUri: queue, credential };
    expect(() => connectStorage(connection)).toThrow(ConfigError);
    expect(() => connectStorage(connection)).toThrow(why);
  });

  it.each(["core.windows.net", "core.usgovcloudapi.net", "core.chinacloudapi.cn", "z01.storage.azure.net"])(
    "gives a token to accounts under %s",
    (suffix) => {
      const uri = (service: string) =>
        suffix.startsWith("z01")
          ? `https://x.z01.${service}.storage.azure.net/`
          : `https://x.${service}.${suffix}/`;
      const uris = { blobServiceUri: uri("blob"), queueServiceUri: uri("queue") };
      expect(connectStorage({ ...uris, credential })).toHaveProperty("blobs");
    },
  );

  it("gives a token to hosts of a suffix from the command line, and to none that only contains it", () => {
    const uris = (host: string) => ({
      blobServiceUri: `https://${host}`,
      queueServiceUri: `https://${host}`,
    });
    const storageHost = "local.azurestack.external";
    const connect = (host: string) => connectStorage({ ...uris(host), credential, storageHost });
    expect(connect(`a.blob.${storageHost}`)).toHaveProperty("blobs");
    expect(connect(storageHost)).toHaveProperty("blobs");
    for (const host of [`x${storageHost}`, `${storageHost}.example.org`])
      expect(() => connect(host)).toThrow("no blob endpoint");
  });

  it.each([
    [["node", "app", "--storage-host", "a.b"], "a.b"],
    [["node", "app", "--storage-host=a.b", "--other", "x"], "a.b"],
    [["node", "app", "--storage-hosts=a.b"], undefined],
    [["node", "app"], undefined],
  ])("reads the suffix from %j", (argv, suffix) => {
    expect(storageHostIn(argv)).toBe(suffix);
  });
});
