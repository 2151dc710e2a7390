import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { failures } from "../../src/engine/client/failures.ts";
import { leader } from "../../src/engine/client/leader.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { type RealApp, startRealApp } from "../support/realApp.ts";

/** Runs whose code never ends, or ends its process, in real processes under a small time limit. */
const limitS = 3;
const files = ["stubborn", "stopping"].map((name) =>
  fileURLToPath(new URL(`../fixtures/${name}.calculation.ts`, import.meta.url)),
);
let app: RealApp;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-liveness-"));
  const env = { LEASEFOLD_PACK_LIMIT_S: String(limitS) };
  app = await startRealApp({ instances: 2, calculations: files, env });
});
afterAll(async () => {
  await app?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Ids of the processes that began the bad chunk, one for each attempt. */
const attemptsIn = async (attempts: string): Promise<string[]> =>
  (await readFile(attempts, "utf8").catch(() => "")).split("\n").flatMap((line) => line.split(" ")[0] || []);

test("a chunk that never ends fails its run after two attempts at the time limit", async () => {
  const attempts = join(folder, "blocks");
  const params = { chunks: 12, bad: 5, does: "blocks", attempts };
  const { run } = await submit(app.client, { calculation: "stubborn", params, packSize: 1 });
  const view = await app.until(run, (one) => !one.active);
  expect(view).toMatchObject({
    phase: "failed",
    error: { message: expect.stringMatching(/time limit of 3 s/) },
  });
  const made = (await attemptsIn(attempts)).length;
  expect(made).toBeGreaterThanOrEqual(2);
  expect(made).toBeLessThanOrEqual(4);
});

test("slow packs on few threads are computed once each, and a paused run has no leader", async () => {
  const attempts = join(folder, "slow");
  const params = { chunks: 24, ms: 1_500, bad: 9, attempts };
  const { run } = await submit(app.client, { calculation: "stubborn", params, packSize: 1 });
  await app.until(run, (view) => (view.packs?.done ?? 0) >= 4);
  await command(app.client, run, { kind: "pause" });
  const led = () => leader(app.client);
  await expect.poll(led, { interval: 500 }).toMatchObject({ kind: "nobody" });
  const resting = await led();
  await sleep(4_000);
  expect(await led()).toMatchObject({ kind: "nobody", term: "term" in resting ? resting.term : 0 });
  await command(app.client, run, { kind: "resume" });
  const view = await app.until(run, (one) => !one.active);
  expect(view).toMatchObject({ phase: "complete", chunks: { total: 24, done: 24 } });
  expect(await attemptsIn(attempts)).toHaveLength(1);
});

test("a cancel ends code that runs within five seconds, and with keep the run has the result of what is done", async () => {
  const attempts = join(folder, "kept");
  const params = { chunks: 40, ms: 2_000, bad: 39, attempts };
  const { run } = await submit(app.client, { calculation: "stubborn", params, packSize: 1 });
  await app.until(run, (view) => (view.packs?.done ?? 0) >= 6);
  await command(app.client, run, { kind: "cancel", keep: true });
  const view = await app.until(run, (one) => !one.active);
  expect(view.phase).toBe("complete");
  const { total, folded, count } = JSON.parse(await app.result(run)) as Record<string, number>;
  expect([count, total]).toEqual([40, folded]);
  expect(folded).toBeLessThan(40);
});

test("a chunk that never ends is all that a tolerant run loses of its pack", async () => {
  const params = { chunks: 12, bad: 5, does: "blocks", attempts: join(folder, "blocks alone") };
  const request = { calculation: "stubborn", params, packSize: 4, tolerate: { chunks: 1 } };
  const { run } = await submit(app.client, request);
  const view = await app.until(run, (one) => !one.active, 3 * limitS * 1_000 + 120_000);
  expect(view.phase).toBe("complete");
  expect(JSON.parse(await app.result(run))).toMatchObject({ total: 11, folded: 11 });
  const { failures: told } = await failures(app.client, run);
  expect(new Set(told.map(({ code }) => code))).toEqual(new Set(["time-limit"]));
  expect(told.map(({ chunks }) => chunks)).toContainEqual({ from: 5, to: 6 });
});

test("a chunk that kills its process costs a tolerant run its pack, after at most six deaths, and the run beside it completes", async () => {
  const attempts = join(folder, "kills");
  const bad = { chunks: 6, bad: 2, does: "kills", attempts };
  const request = { calculation: "stubborn", params: bad, packSize: 3, tolerate: { chunks: 3 } };
  const { run } = await submit(app.client, request);
  await expect.poll(async () => (await attemptsIn(attempts)).length).toBeGreaterThan(0);
  const beside = await submit(app.client, {
    calculation: "stubborn",
    params: { chunks: 30, ms: 100 },
    packSize: 1,
  });
  await app.until(beside.run, (view) => view.phase === "complete");
  const view = await app.until(run, (one) => !one.active);
  expect(view.phase).toBe("complete");
  expect(JSON.parse(await app.result(run))).toMatchObject({ total: 3, folded: 3 });
  const { failures: told } = await failures(app.client, run);
  // The message of the pack that died beside it comes back as well, and says nothing against that.
  expect(told.findLast(({ chunks }) => chunks?.from === 0)).toMatchObject({
    chunks: { from: 0, to: 3 },
    message: expect.stringMatching(
      /^the process (of node-\d ended while it computed nothing else|that had it ended before it could write anything): /,
    ),
  });
  expect((await attemptsIn(attempts)).length).toBeLessThanOrEqual(6);
});

test.each([
  ["blocks", "the time limit of 3 s", 4],
  ["kills", "ended its process 3 times, isolated", 6],
])(
  "a stop that %s fails its run within a bound, the run beside it stops, and its retry stops once it is mended",
  async (does, why, attemptsMost) => {
    const attempts = join(folder, `stop ${does}`);
    const params = { chunks: 60, enough: 30, bad: 12, does, attempts };
    const { run } = await submit(app.client, { calculation: "stopping", params });
    const whole = { chunks: 60, enough: 30 };
    const beside = await submit(app.client, { calculation: "stopping", params: whole, packSize: 1 });
    const stopped = await app.until(beside.run, (one) => !one.active);
    expect(stopped).toMatchObject({ phase: "complete", stop: { of: 60, after: 32 } });
    const view = await app.until(run, (one) => !one.active);
    expect(view).toMatchObject({ phase: "failed", error: { code: "stop-failed" } });
    expect(view.error?.message).toContain(why);
    const made = await attemptsIn(attempts);
    expect(made.length).toBeGreaterThan(0);
    expect(made.length).toBeLessThanOrEqual(attemptsMost);
    await writeFile(`${attempts}.mended`, "");
    await command(app.client, run, { kind: "retry" });
    await app.until(run, (one) => one.generation === 2 && !one.active);
    expect(await app.result(run)).toBe(await app.result(beside.run));
  },
  240_000,
);
