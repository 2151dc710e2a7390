import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startAppInProcess } from "../../packages/cli/check/memoryRun.ts";
import { type Azurite, startAzurite } from "../../packages/cli/local/azurite.ts";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import type { Client } from "../../src/engine/client/client.ts";
import { command } from "../../src/engine/client/commands/command.ts";
import { ensureContainersAndQueues } from "../../src/engine/client/containersAndQueues.ts";
import { findManifest, openResult } from "../../src/engine/client/result.ts";
import { runs } from "../../src/engine/client/runs.ts";
import { status } from "../../src/engine/client/status.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { parseFailure, runBlobs, workName } from "../../src/engine/model/runBlobs.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";
import { systemClock as clock, systemRandom as random } from "../../src/engine/storage/system.ts";
import { chain, chainCalculations, serialChain } from "../support/chain.ts";
import { inlineCode } from "../worker/workerWorld.ts";

const pageSize = 5;
/** Every list comes in pages of five, so that whoever takes a first page for the whole is found out. */
function inSmallPages(storage: Storage): Storage {
  const { blobs } = storage;
  const list: typeof blobs.list = (container, prefix, options) =>
    blobs.list(container, prefix, { ...options, pageSize });
  const listFolders: typeof blobs.listFolders = (container, prefix, options) =>
    blobs.listFolders(container, prefix, { ...options, pageSize });
  return { ...storage, blobs: { ...blobs, list, listFolders } };
}

/** Deep enough for three levels of nodes. */
const tree = { directPacksMax: 4, shardPacksMax: 12, fanIn: 3 };
const names = namesOf("paging");
let azurite: Azurite;
let folder: string;
let client: Client;
let app: ReturnType<typeof startAppInProcess>;

beforeAll(async () => {
  azurite = await startAzurite();
  folder = await mkdtemp(join(tmpdir(), "leasefold-paging-"));
  const storage = inSmallPages(connectStorage({ connectionString: azurite.connectionString }));
  client = { storage, names, clock, random, calculations: chainCalculations };
  await ensureContainersAndQueues(client);
  app = startAppInProcess(
    client,
    { tree, userCode: inlineCode(chain), versionOf: chainCalculations.versionOf, packLimitMs: 60_000 },
    { atOnce: 4, pollMs: 100, loop: { loopMs: 500, fastLoopMs: 50 } },
  );
});
afterAll(async () => {
  await app?.stop();
  await azurite?.stop();
  await rm(folder, { recursive: true, force: true });
});

const untilEnded = (run: string, generation: number) =>
  expect
    .poll(
      async () => {
        const view = await status(client, run);
        return view.active ? "works" : view.generation;
      },
      { interval: 100 },
    )
    .toBe(generation);

async function resultOf(run: string): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of (await openResult(client, await findManifest(client, run))).body) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function namesBelow(prefix: string): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.storage.blobs.list(names.runs, prefix, { cursor });
    expect(page.blobs.length).toBeLessThanOrEqual(pageSize);
    found.push(...page.blobs.map((blob) => blob.name));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

test("in pages of five, failures, retry, deep folds, the clean-up and a delete are as in large ones", async () => {
  const chunks = 130;
  const broken = Array.from({ length: 13 }, (_, place) => place * 10);
  const params = { chunks, broken: broken.join(","), mendedBy: join(folder, "mended") };
  const tolerate = { chunks: broken.length };
  const request = { calculation: "chain", params, packSize: 1, tolerate, retryAfterS: [0] };
  const { run, uid } = await submit(client, request);
  await untilEnded(run, 1);
  expect(await status(client, run)).toMatchObject({
    word: "complete-with-gaps",
    chunks: { done: 117, failed: 13 },
  });
  expect((await findManifest(client, run)).missing).toEqual(broken.map((from) => ({ from, to: from + 1 })));
  const at = runBlobs(run, uid);
  expect(await namesBelow(at.parts)).toHaveLength(117);
  // A pack that was sent twice has two records, and each may have a mark of its first attempt beside it.
  const failed = (await namesBelow(at.failures)).flatMap((name) => parseFailure(name) ?? []);
  expect(new Set(failed.map(({ work }) => workName(work))).size).toBe(broken.length);

  for (const chunk of broken) await writeFile(join(folder, `mended.${chunk}`), "");
  await command(client, run, { kind: "retry" });
  await untilEnded(run, 2);
  expect(await status(client, run)).toMatchObject({ word: "complete", chunks: { done: chunks, failed: 0 } });
  expect(await resultOf(run)).toBe(await serialChain(chunks));
  await expect.poll(() => namesBelow(at.parts)).toEqual([]);
  await expect.poll(() => namesBelow(at.nodes)).toEqual([]);

  await command(client, run, { kind: "delete" });
  await expect.poll(() => namesBelow(`${run}/`)).toEqual([]);
});

test("more runs than a page holds are all led to their end, and all listed", async () => {
  const ids = Array.from({ length: 2 * pageSize + 1 }, (_, place) => `many-${place}`);
  const request = { calculation: "chain", params: { chunks: 3 }, packSize: 1 };
  await Promise.all(ids.map((id) => submit(client, { ...request, id })));
  for (const id of ids) await untilEnded(id, 1);
  const { runs: listed } = await runs(client);
  expect(listed.map((one) => one.run).sort()).toEqual([...ids].sort());
  expect(new Set(listed.map((one) => one.word))).toEqual(new Set(["complete"]));
});
