import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Azurite, startAzurite } from "../../packages/cli/local/azurite.ts";
import { builtProgram, until } from "../support/builtProgram.ts";

/** Processes of `leasefold work`: with instances of the app beside them, and with none at all. */
const { folder, leasefold, start, startUp, down } = builtProgram();
let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.stop());
afterEach(down);

async function member(connection: string, ...args: readonly string[]) {
  const started = start("work", "--connection", connection, "--threads", "1", ...args);
  await until("it works", async () => started.out().includes("Ctrl-C stops it"));
  const [name = ""] = /^\S+(?= computes)/m.exec(started.out()) ?? [];
  return { ...started, name };
}

/** Counts to `n` in chunks of a tenth of a second, and waits between for nobody. */
async function writeSlow(): Promise<string> {
  const file = join(folder(), "slow.mjs");
  await writeFile(
    file,
    `import { defineCalculation, z } from "leasefold";
    export default defineCalculation({
      name: "slow", summary: "counts slowly",
      params: z.strictObject({ n: z.coerce.number().int() }),
      plan: ({ n }) => n,
      compute: () => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100); return 1; },
      merge: (a, b) => a + b,
      zero: () => 0,
    });`,
  );
  return file;
}

test("without any app members lead, join, leave and die during a run, and it ends with the right answer", async () => {
  const { connectionString: storage } = azurite;
  const file = await writeSlow();
  const on = ["--namespace", "alone"];
  // The one that leads first has other work: only others compute, so the run shows that they did.
  const leads = await member(storage, ...on, "--lead", "--calculation", "primes");
  const options = ["--n", "200", "--pack-size", "5", "--id", "r"];
  const submitted = await leasefold("submit", file, ...options, ...on, "--connection", storage);
  expect(submitted).toMatchObject({ code: 0 });
  const works = [...on, "--calculation", file];
  const killed = await member(storage, ...works);
  const stopped = await member(storage, ...works, "--lead");
  const status = async () =>
    JSON.parse((await leasefold("status", "r", "--json", ...on, "--connection", storage)).out);
  const done = (packs: number) =>
    until("packs are done", async () => (await status()).packs?.done >= packs, {
      everyMs: 1_000,
    });
  await done(6);
  killed.process.kill("SIGKILL");
  // Longer than a busy machine takes to replace a dead leader, while the queue may be empty.
  const joined = await member(storage, ...works, "--lead", "--idle", "30s");
  stopped.process.kill("SIGTERM");
  expect(await stopped.ended).toEqual({ code: 143 });
  leads.process.kill("SIGKILL");
  expect(await joined.ended).toEqual({ code: 0 });
  expect(joined.out()).toContain("no work any more: stopping …");
  const result = await leasefold("result", "r", ...on, "--connection", storage);
  expect(result).toMatchObject({ err: "", out: expect.stringMatching(/^\s*200\s*$/) });
  const { word, ledBy } = await status();
  expect({ word, ledBy }).toMatchObject({ word: "complete" });
});

test("a member computes beside the instances of an app, only what it was told to", async () => {
  const { local } = await startUp("--instances", "1", "--calculation", await writeSlow());
  const other = await member(local.connectionString, "--calculation", "primes", "--health", "18473");
  expect((await fetch("http://127.0.0.1:18473/")).status).toBe(200);
  expect((await leasefold("submit", "slow", "--n", "20", "--pack-size", "5", "--wait")).out).toContain("20");
  expect((await leasefold("submit", "primes", "--to", "1e8", "--wait")).out).toContain("5761455");
  expect(other.out()).not.toMatch(/error|warning|leads in term/);
  other.process.kill("SIGINT");
  expect(await other.ended).toEqual({ code: 130 });
});
