import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { request } from "node:http";
import { AccountSASPermissions, BlobServiceClient } from "@azure/storage-blob";
import { QueueServiceClient } from "@azure/storage-queue";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../test/client/clientWorld.ts";
import { freshContainer, freshQueue, realAccount } from "../../../../test/contract/accounts.ts";
import { type Azurite, startAzurite } from "../../local/azurite.ts";
import { connectionStringOf, publishedAccount } from "../../local/storageAccount.ts";

/** What a web page or another user of this machine can try on the storage of embedded instances. */
let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.stop());

const statusOf = (port: number, path: string, headers: Record<string, string>) =>
  new Promise<number | undefined>((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.once("error", reject).end();
  });

describe("the storage of embedded instances", () => {
  it("refuses whoever signs with the key that Microsoft publishes for the emulator", async () => {
    const { blobPort, queuePort } = azurite;
    const { key } = publishedAccount;
    const { name } = /AccountName=(?<name>[^;]+)/.exec(azurite.connectionString)?.groups ?? {};
    for (const account of [publishedAccount, { name: name ?? "", key }]) {
      const forged = connectionStringOf(account, blobPort, queuePort);
      const blobs = BlobServiceClient.fromConnectionString(forged, { retryOptions: { maxTries: 1 } });
      expect(await failureOf(blobs.getContainerClient("forged").create())).toMatchObject({
        statusCode: expect.toSatisfy((status: number) => status === 403 || status === 404),
      });
      const queues = QueueServiceClient.fromConnectionString(forged, { retryOptions: { maxTries: 1 } });
      expect(await failureOf(queues.getQueueClient("forged").create())).toMatchObject({
        statusCode: expect.toSatisfy((status: number) => status === 403 || status === 404),
      });
    }
  });

  it("takes no message from a page that signs a simple cross-site POST with the published key", async () => {
    const queue = await freshQueue(realAccount(azurite.connectionString));
    const { blobPort, queuePort, connectionString } = azurite;
    const [name = ""] = /(?<=AccountName=)[^;]+/.exec(connectionString) ?? [];
    for (const account of [publishedAccount, { name, key: publishedAccount.key }]) {
      const forged = QueueServiceClient.fromConnectionString(
        connectionStringOf(account, blobPort, queuePort),
      );
      const all = AccountSASPermissions.parse("rwdlacup");
      const { search } = new URL(forged.generateAccountSasUrl(undefined, all, "sco"));
      const answer = await fetch(`${forged.url}${queue}/messages${search}`, {
        method: "POST",
        headers: { "content-type": "text/plain", origin: "https://evil.example" },
        body: "<QueueMessage><MessageText>{}</MessageText></QueueMessage>",
      });
      expect(answer.status).toBeGreaterThanOrEqual(400);
    }
    expect(await realAccount(connectionString).storage.queues.peek(queue, 1)).toEqual([]);
  });

  it("draws another account and another key with each start in memory", async () => {
    const other = await startAzurite();
    await other.stop();
    const secrets = (text: string) => /AccountName=([^;]+);AccountKey=([^;]+)/.exec(text)?.slice(1) ?? [];
    const [mine, others] = [secrets(azurite.connectionString), secrets(other.connectionString)];
    expect(mine).toHaveLength(2);
    expect(others.filter((one) => mine.includes(one))).toEqual([]);
  });

  it("takes no account from a host name, as a rebound name of an attacker would be", async () => {
    const service = BlobServiceClient.fromConnectionString(azurite.connectionString);
    const container = await freshContainer(realAccount(azurite.connectionString));
    const all = AccountSASPermissions.parse("rwdlac");
    const { search, host } = new URL(service.generateAccountSasUrl(undefined, all, "sco"));
    const list = `${container}${search}&restype=container&comp=list`;
    const name = service.accountName;
    expect(await statusOf(azurite.blobPort, `/${name}/${list}`, { host })).toBe(200);
    const rebound = await statusOf(azurite.blobPort, `/${list}`, { host: `${name}.evil.example` });
    expect(rebound).toBeGreaterThanOrEqual(400);
  });

  it.runIf(process.platform === "linux")(
    "listens on two ports of this machine, and on none for tables",
    () => {
      expect(listening(azurite.pid)).toEqual(
        [azurite.blobPort, azurite.queuePort].map((port) => `127.0.0.1:${port}`).sort(),
      );
    },
  );
});

/** The addresses that a process listens on (proc_pid_net(5)). */
function listening(pid: number): readonly string[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /socket:\[(\d+)\]/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      } catch {
        return undefined;
      }
    }),
  );
  const rows = ["tcp", "tcp6"].flatMap((name) =>
    readFileSync(`/proc/${pid}/net/${name}`, "utf8").split("\n"),
  );
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === "0A" && sockets.has(inode))
    .map(([, local = ""]) => {
      const [address = "", port = ""] = local.split(":");
      const isLoopback = address === "0100007F";
      return `${isLoopback ? "127.0.0.1" : address}:${Number.parseInt(port, 16)}`;
    })
    .sort();
}
