import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { workers } from "../../src/engine/client/inspection/workers.ts";
import { leader } from "../../src/engine/client/leader.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { type RealApp, startRealApp } from "../support/realApp.ts";

/** Blocks its thread for so long per chunk and adds squares; lies outside of the repository, as a user's would. */
const source = `
import { defineCalculation, z } from "leasefold";
export default defineCalculation({
  name: "slow-squares",
  summary: "adds squares, slowly",
  params: z.strictObject({ chunks: z.coerce.number(), ms: z.coerce.number() }),
  plan: ({ chunks }) => chunks,
  compute({ index, params }) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, params.ms);
    return index * index;
  },
  merge: (a, b) => a + b,
  zero: () => 0,
});
`;
const squares = (count: number): number =>
  Array.from({ length: count }, (_, index) => index * index).reduce((a, b) => a + b, 0);

let folder: string;
let app: RealApp;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
  const file = join(folder, "slow.mjs");
  await writeFile(file, source);
  app = await startRealApp({ instances: 3, calculations: [file] });
});
afterAll(async () => {
  await app?.stop();
  await rm(folder, { recursive: true, force: true });
});

const waiting = { timeout: 20_000, interval: 50 };

async function leadingIndex(): Promise<number> {
  for (;;) {
    const view = await leader(app.client);
    const index =
      view.kind === "leading" ? app.instances.instances.findIndex((one) => one.name === view.holder) : -1;
    if (index >= 0) return index;
  }
}

test("the leader is killed in the middle of a run: another takes over and the result is exact", async () => {
  const { run } = await submit(app.client, {
    calculation: "slow-squares",
    params: { chunks: 120, ms: 100 },
    packSize: 2,
  });
  await app.until(run, (view) => (view.packs?.done ?? 0) >= 15);
  const victim = await leadingIndex();
  const before = await leader(app.client);
  await app.instances.instances[victim]?.kill();
  await app.until(run, (view) => view.terms.length > 1);
  await app.instances.instances[victim]?.restart();
  const view = await app.until(run, (one) => !one.active);
  expect(view).toMatchObject({ phase: "complete", chunks: { total: 120, done: 120, failed: 0 } });
  expect(JSON.parse(await app.result(run))).toBe(squares(120));
  const holders = view.terms.map((term) => term.holder);
  expect(new Set(holders).size).toBe(holders.length);
  expect(before.kind).toBe("leading");
});

test("a worker is killed in the middle of its pack: the pack is resent and the result is exact", async () => {
  const { run } = await submit(app.client, {
    calculation: "slow-squares",
    params: { chunks: 24, ms: 500 },
    packSize: 1,
  });
  await app.until(run, (view) => (view.packs?.done ?? 0) >= 3);
  const victim = (await leadingIndex()) === 0 ? 1 : 0;
  await app.instances.instances[victim]?.kill();
  const view = await app.until(run, (one) => !one.active);
  await app.instances.instances[victim]?.restart();
  expect(view).toMatchObject({ phase: "complete", chunks: { total: 24, done: 24, failed: 0 } });
  expect(JSON.parse(await app.result(run))).toBe(squares(24));
  // The host would have hidden the dead worker's message for ten minutes.
  expect(view.packs?.again ?? 0).toBeGreaterThan(0);
});

test("who computes what is seen while it lasts, and how an instance died at once; a planned stop leaves no sign", async () => {
  const params = { chunks: 40, ms: 4_000 };
  const { run } = await submit(app.client, { calculation: "slow-squares", params, packSize: 2 });
  const told = async () => (await workers(app.client)).workers;
  const computing = await vi.waitFor(async () => {
    const found = await told();
    const [one] = found.filter(({ computes }) => computes.some(({ chunk }) => chunk !== undefined));
    expect(one).toMatchObject({
      state: "live",
      computes: [{ run, work: expect.stringMatching(/^pack \d+$/) }],
    });
    return one;
  }, waiting);
  const work = computing?.computes.find(({ chunk }) => chunk !== undefined);
  expect(work?.chunks).toMatchObject({ from: 2 * (work?.pack ?? -1) });
  expect([0, 1]).toContain((work?.chunk ?? -1) - (work?.chunks?.from ?? 0));

  const victim = app.instances.instances.find(({ name }) => name === computing?.instance);
  await victim?.kill();
  const dead = { boot: computing?.boot, state: "ended", ended: "signal SIGKILL" };
  await vi.waitFor(async () => expect(await told()).toContainEqual(expect.objectContaining(dead)), waiting);
  const other = await vi.waitFor(async () => {
    const [live] = (await told()).filter(({ state }) => state === "live");
    expect(live).toBeDefined();
    return live;
  }, waiting);
  await app.instances.instances.find(({ name }) => name === other?.instance)?.restart();
  expect((await told()).map(({ boot }) => boot)).not.toContain(other?.boot);
  await victim?.restart();
  await command(app.client, run, { kind: "delete" });
});

test("an instance that freezes for longer than its lease changes nothing when it wakes", async () => {
  const { run } = await submit(app.client, {
    calculation: "slow-squares",
    params: { chunks: 200, ms: 100 },
    packSize: 2,
  });
  await app.until(run, (view) => (view.packs?.done ?? 0) >= 10);
  const victim = await leadingIndex();
  const pid = app.instances.instances[victim]?.pid as number;
  process.kill(pid, "SIGSTOP");
  await app.until(run, (view) => view.terms.length > 1);
  process.kill(pid, "SIGCONT");
  const view = await app.until(run, (one) => !one.active);
  expect(view).toMatchObject({ phase: "complete", chunks: { total: 200, done: 200 } });
  expect(JSON.parse(await app.result(run))).toBe(squares(200));
});
