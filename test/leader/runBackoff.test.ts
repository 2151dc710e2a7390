import { describe, expect, test } from "vitest";
import { RunBackoff } from "../../src/engine/leader/term.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { specBlob } from "../../src/engine/model/runBlobs.ts";
import { computing, planOf } from "../support/runFixtures.ts";
import { leadInMemory } from "./leadInMemory.ts";

const run = { id: "r", etag: "1" };
const minute = limits.backoffToldEveryMs;

describe("a run whose poll fails", () => {
  test("a run whose poll fails waits for twice as long each time, at most half a minute", () => {
    const backoff = new RunBackoff();
    let [nowMs, pauses] = [0, [] as number[]];
    expect(backoff.waits(run, nowMs)).toBe(false);
    for (let time = 0; time < 9; time += 1) {
      backoff.add(run, nowMs);
      const fromMs = nowMs;
      while (backoff.waits(run, nowMs)) nowMs += 100;
      pauses = [...pauses, nowMs - fromMs];
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  test("a run whose poll fails is polled at once after a command, and waits for the shortest pause again once a poll succeeded", () => {
    const backoff = new RunBackoff();
    for (let time = 0; time < 5; time += 1) backoff.add(run, 0);
    expect(backoff.waits({ ...run, etag: "2" }, 1)).toBe(false);
    expect(backoff.waits({ ...run, id: "other" }, 1)).toBe(false);
    expect(backoff.waits(run, 7_999)).toBe(true);
    backoff.clear(run);
    expect(backoff.waits(run, 1)).toBe(false);
    backoff.add(run, 10);
    expect(backoff.waits(run, 10 + limits.backoffMs)).toBe(false);
  });

  test("a run whose poll fails is logged the first time, and then once a minute", () => {
    const backoff = new RunBackoff();
    const told = Array.from({ length: 400 }, (_, second) => backoff.add(run, second * 500));
    const times = told.flatMap((tell, index) => (tell ? [index * 500] : []));
    expect(times).toEqual([0, minute, 2 * minute, 3 * minute]);
  });
});

describe("a leader", () => {
  const slowly = { loopMs: 500, fastLoopMs: 100 };
  async function withUnreadableRun() {
    const account = leadInMemory();
    await account.addRun("bad", planOf(10));
    await account.addRun("good", planOf(10));
    const { read } = account.storage.blobs;
    const tries: number[] = [];
    let away = true;
    account.storage.blobs.read = (container, name, options) => {
      if (name !== specBlob("bad") || !away) return read(container, name, options);
      tries.push(account.world.nowMs());
      return Promise.reject(new StorageError("denied", "AuthorizationFailure", 403, "no"));
    };
    const skipped = () => account.log.filter(({ event }) => event === "run-skipped").length;
    const heal = () => {
      away = false;
    };
    return { account, tries, skipped, heal };
  }

  test("a leader logs a run that it cannot read once a minute, polls it ever more seldom, and leads the others", async () => {
    const { account, tries, skipped } = await withUnreadableRun();
    await account.lead(300_000, slowly);
    // Pauses of half a minute may delay a line.
    expect(skipped()).toBeGreaterThanOrEqual(4);
    expect(skipped()).toBeLessThanOrEqual(6);
    expect(tries.length).toBeLessThanOrEqual(7 + 300 / 30);
    const gaps = tries.slice(1).map((atMs, index) => atMs - (tries[index] ?? 0));
    expect(gaps.at(0)).toBeLessThan(1_100);
    expect(gaps.at(-1)).toBeGreaterThanOrEqual(30_000);
    expect((await account.stateOf("good")).cursor).toBe(10);
  });

  test("a leader polls a run that it could not read again by itself, and at once when a command comes", async () => {
    const { account, heal } = await withUnreadableRun();
    const clock = account.world.clock();
    clock.after(200_000, heal);
    clock.after(201_000, () => void account.mark("bad", { cap: 7, command: 1 }));
    await account.lead(203_000, slowly);
    expect(await account.stateOf("bad")).toMatchObject({ cap: 7, command: 1 });
  });

  test("a run near its end that cannot be polled is polled again when its backoff ends, and does not keep the leader fast", async () => {
    const account = leadInMemory();
    const { storage, names } = account;
    const batches = [{ upTo: 10, atMs: account.world.nowMs() + 86_400_000 }];
    await account.addRun("r", planOf(10), {
      state: { ...computing(10), batches, cursor: 10, open: { 0: { done: "" } }, rate: 100 },
    });
    const { list } = storage.blobs;
    let lists = 0;
    const tries: number[] = [];
    storage.blobs.list = (container, ...rest) => {
      if (container === names.active) lists += 1;
      if (container !== names.runs) return list(container, ...rest);
      tries.push(account.world.nowMs());
      return Promise.reject(new StorageError("denied", "AuthorizationFailure", 403, "no"));
    };
    await account.lead(600_000);
    const times = [...new Set(tries)];
    const gaps = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
    expect(
      Math.max(...gaps.slice(0, 3).map((gap, index) => gap / (limits.backoffMs * 2 ** index))),
    ).toBeLessThan(1.2);
    expect(lists).toBeGreaterThan(300);
    // One more for each try of the run.
    expect(lists).toBeLessThan(300 + 40);
  });
});
