import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { BlobServiceClient, AccountSASPermissions as ForBlobs } from "@azure/storage-blob";
import { AccountSASPermissions as ForQueues, QueueServiceClient } from "@azure/storage-queue";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectStorage } from "../../../../src/azure/connectStorage.ts";
import { systemClock } from "../../../../src/engine/storage/system.ts";
import { cpuSecondsOf } from "../../../../test/bench/cpu.ts";
import { type Azurite, startAzurite } from "../../local/azurite.ts";
import { connectionStringOf, newAccount } from "../../local/storageAccount.ts";

/** The emulator with functions of its own, beside the one in which `azuriteSpeed.ts` replaces some. */
const account = newAccount();
let plain: { readonly process: ChildProcess; readonly connectionString: string };
let ours: Azurite;

beforeAll(async () => {
  ours = await startAzurite({ account });
  const manifest = createRequire(import.meta.url).resolve("azurite/package.json");
  const script = join(dirname(manifest), "dist/src/azurite.js");
  const ports = ["--blobPort", "0", "--queuePort", "0", "--tablePort", "0"];
  const flags = ["--silent", "--disableTelemetry", "--skipApiVersionCheck", "--disableProductStyleUrl"];
  const program = ["--import", new URL("../../local/azuriteLess.ts", import.meta.url).href, script];
  const emulator = spawn(process.execPath, [...program, ...ports, ...flags, "--inMemoryPersistence"], {
    env: { ...process.env, AZURITE_ACCOUNTS: `${account.name}:${account.key}` },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  const portOf = (service: string) =>
    Number(new RegExp(`${service} service is successfully listening at \\S+:(\\d+)`).exec(printed)?.[1]);
  while (!portOf("Queue")) printed += String(await once(emulator.stdout, "data"));
  plain = {
    process: emulator,
    connectionString: connectionStringOf(account, portOf("Blob"), portOf("Queue")),
  };
});

afterAll(async () => {
  plain?.process.kill("SIGKILL");
  await ours?.stop();
});

type Request = readonly [method: string, path: string, body?: string, headers?: Record<string, string>];
const blob = { "x-ms-blob-type": "BlockBlob", "content-type": "a/b; c=1" };
const message = (text: string) => `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`;
const meta = { "x-ms-meta-One": "1 & <2>", "x-ms-meta-data": "e30" };
const blobRequests: readonly Request[] = [
  ["PUT", "box?restype=container"],
  ["PUT", "box?restype=container"],
  ...["a/1", "a/2", "a/10", "b&<c>'d\"", "grün/☃", "plain"].map(
    (name): Request => ["PUT", `box/${encodeURIComponent(name)}`, `of ${name}`, { ...blob, ...meta }],
  ),
  ["PUT", "box/plain", "again", { ...blob, "if-none-match": "*" }],
  ["PUT", "box/plain", "more", blob],
  ["GET", "box?restype=container&comp=list"],
  ["GET", "box?restype=container&comp=list&include=metadata,tags&prefix=a/"],
  ["GET", "box?restype=container&comp=list&delimiter=/"],
  ["GET", "box?restype=container&comp=list&maxresults=2"],
  ["GET", "box?restype=container&comp=list&maxresults=2&marker=a/10"],
  ["GET", "box?restype=container&comp=list&prefix=nothing%26"],
  ...["1", "10", "1/2", "1/(x)+", "1/.*", "a/1\uffff", "a0", "a."].map(
    (name): Request => ["PUT", `box/${encodeURIComponent(name)}`, "{}", blob],
  ),
  ...["1", "1/", "1/(", "1/.", "a/", "a/1", "/", "a", "%2F%2F"].flatMap((prefix): Request[] => [
    ["GET", `box?restype=container&comp=list&prefix=${prefix}`],
    ["GET", `box?restype=container&comp=list&delimiter=/&prefix=${prefix}`],
  ]),
  ["GET", "box?restype=container&comp=list&prefix=a/&maxresults=1&marker=a/1"],
  ["GET", "missing?restype=container&comp=list"],
  ["GET", "box/plain"],
  ["HEAD", "box/a%2F1"],
  ["GET", "box/missing"],
  ["PUT", "box/blocks?comp=block&blockid=MDE%3D", "one"],
  ["PUT", "box/blocks?comp=block&blockid=MDI%3D", "two"],
  ["GET", "box/blocks?comp=blocklist&blocklisttype=all"],
  ["PUT", "box/blocks?comp=blocklist", "<BlockList><Latest>MDI=</Latest><Latest>MDE=</Latest></BlockList>"],
  ["GET", "box/blocks"],
  ["DELETE", "box/a%2F2"],
  ["GET", "box?restype=container&comp=list&include=metadata"],
  ["GET", "?comp=list&include=metadata"],
  ["GET", "?restype=service&comp=properties"],
  ["PATCH", "box/plain"],
];
const queueRequests: readonly Request[] = [
  ["PUT", "q-one", "", meta],
  ["PUT", "q-two"],
  ["GET", "?comp=list&include=metadata"],
  ...["{}", "a &amp; &lt;b&gt;", "grün ☃", " ", "4", "5"].map(
    (text): Request => ["POST", "q-one/messages", message(text)],
  ),
  ["POST", "q-two/messages?messagettl=1", message("expires")],
  ["POST", "q-one/messages?visibilitytimeout=60&messagettl=-1", message("hidden")],
  ["GET", "q-one/messages?peekonly=true&numofmessages=32"],
  ["GET", "q-one/messages?numofmessages=2&visibilitytimeout=60"],
  ["GET", "q-one/messages?numofmessages=3&visibilitytimeout=1"],
  ["DELETE", "q-one/messages/none?popreceipt=none"],
  ["GET", "q-two?comp=metadata"],
  ["WAIT", "1500"],
  ["GET", "q-one/messages?numofmessages=32"],
  ["GET", "q-two/messages?numofmessages=32"],
  ["GET", "q-two?comp=metadata"],
  ["DELETE", "q-one/messages"],
  ["GET", "q-one/messages?peekonly=true"],
  ["GET", "missing/messages"],
];

/** What is another each time: times, ids, receipts, ETags and ports. */
const volatile = [
  /\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT/g,
  /\d{4}-\d\d-\d\dT[\d:.]+Z/g,
  /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g,
  /(?<=<PopReceipt>)[^<]+/g,
  /"?0x[\dA-F]{15,}"?/g,
  /127\.0\.0\.1:\d+/g,
];

async function answersOf(connectionString: string): Promise<string[]> {
  const endpoints = [
    BlobServiceClient.fromConnectionString(connectionString).generateAccountSasUrl(
      undefined,
      ForBlobs.parse("rwdlacup"),
      "sco",
    ),
    QueueServiceClient.fromConnectionString(connectionString).generateAccountSasUrl(
      undefined,
      ForQueues.parse("rwdlacup"),
      "sco",
    ),
  ];
  const answers: string[] = [];
  const ask = async (endpoint: string, [method, path, body, headers = {}]: Request): Promise<void> => {
    if (method === "WAIT") return systemClock.sleep(Number(path));
    const [place, sas] = endpoint.split("?");
    const url = `${place}/${path}${path.includes("?") ? "&" : "?"}${sas}`;
    const sent = {
      method,
      headers: { "x-ms-version": "2023-11-03", ...headers },
      ...(body !== undefined && { body }),
    };
    const answer = await fetch(url, sent);
    const told = [...answer.headers].filter(([name]) => name !== "content-length");
    const text = `${method} ${path} ${answer.status} ${JSON.stringify(told)} ${await answer.text()}`;
    answers.push(volatile.reduce((kept, one) => kept.replace(one, "*"), text));
  };
  for (const [at, requests] of [blobRequests, queueRequests].entries())
    for (const one of requests) await ask(endpoints[at] ?? "", one);
  return answers;
}

describe("the emulator with functions that do less work", () => {
  it("gives the very answers of the emulator as it is installed", async () => {
    const [mine, theirs] = await Promise.all([ours, plain].map((one) => answersOf(one.connectionString)));
    expect(mine).toEqual(theirs);
    // Most of what is asked succeeds, so that more than errors is compared.
    const succeeded = theirs?.filter((one) => / 2\d\d /.test(one)) ?? [];
    expect(succeeded.length).toBeGreaterThan(0.7 * (blobRequests.length + queueRequests.length));
  });

  it("takes less CPU for messages that wait among others, and for lists", async () => {
    const spent = async (connectionString: string, pid: number): Promise<number> => {
      const { blobs, queues } = connectStorage({ connectionString });
      await blobs.ensureContainer("many");
      await queues.ensureQueue("many");
      const some = Array.from({ length: 200 }, (_, index) => index);
      for (const index of some) await blobs.create("many", `part-${index}`, "{}");
      for (let sent = 0; sent < 1_000; sent += some.length)
        await Promise.all(some.map(() => queues.send("many", "{}")));
      const before = cpuSecondsOf(pid);
      for (const index of some) {
        const [one] = await queues.receive("many", { max: 1, visibilityS: 60 });
        if (one !== undefined) await queues.remove("many", one.id, one.popReceipt);
        if (index % 10 === 0) await blobs.list("many", "part-");
      }
      return cpuSecondsOf(pid) - before;
    };
    const theirs = await spent(plain.connectionString, plain.process.pid ?? 0);
    const mine = await spent(ours.connectionString, ours.pid);
    expect(mine).toBeLessThan(0.5 * theirs);
  });

  it("takes less CPU for lists of a folder beside many others", async () => {
    const spent = async (connectionString: string, pid: number): Promise<number> => {
      const { blobs } = connectStorage({ connectionString });
      await blobs.ensureContainer("folders");
      const names = Array.from({ length: 8_000 }, (_, index) => `run-${index}/part`);
      for (let from = 0; from < names.length; from += 50)
        await Promise.all(names.slice(from, from + 50).map((name) => blobs.create("folders", name, "{}")));
      const before = cpuSecondsOf(pid);
      for (let count = 0; count < 300; count += 1) await blobs.list("folders", "run-7/");
      return cpuSecondsOf(pid) - before;
    };
    const theirs = await spent(plain.connectionString, plain.process.pid ?? 0);
    const mine = await spent(ours.connectionString, ours.pid);
    expect(mine).toBeLessThan(0.5 * theirs);
  });
});
