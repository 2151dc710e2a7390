import { describe, expect, test } from "vitest";
import { TroubledRuns } from "../../src/coordinator/perform/trouble.ts";
import { StorageError } from "../../src/model/errors.ts";
import { limits } from "../../src/model/limits.ts";
import { specBlob } from "../../src/model/runBlobs.ts";
import { planOf } from "../support/runFixtures.ts";
import { leadOnTwin } from "./leadOnTwin.ts";

const run = { name: "r", etag: "1" };
const minute = limits.troubleToldEveryMs;

describe("a run that meets trouble", () => {
  test("waits for twice as long each time, at most half a minute", () => {
    const troubled = new TroubledRuns();
    let [nowMs, pauses] = [0, [] as number[]];
    expect(troubled.waits(run, nowMs)).toBe(false);
    for (let time = 0; time < 9; time += 1) {
      troubled.add(run, nowMs);
      const fromMs = nowMs;
      while (troubled.waits(run, nowMs)) nowMs += 100;
      pauses = [...pauses, nowMs - fromMs];
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  test("is tried at once after a command, and from the shortest pause on once it was over", () => {
    const troubled = new TroubledRuns();
    for (let time = 0; time < 5; time += 1) troubled.add(run, 0);
    expect(troubled.waits({ ...run, etag: "2" }, 1)).toBe(false);
    expect(troubled.waits({ ...run, name: "other" }, 1)).toBe(false);
    expect(troubled.waits(run, 7_999)).toBe(true);
    troubled.over(run);
    expect(troubled.waits(run, 1)).toBe(false);
    troubled.add(run, 10);
    expect(troubled.waits(run, 10 + limits.troublePauseMs)).toBe(false);
  });

  test("is told the first time, and then once a minute", () => {
    const troubled = new TroubledRuns();
    const told = Array.from({ length: 400 }, (_, second) => troubled.add(run, second * 500));
    const times = told.flatMap((tell, place) => (tell ? [place * 500] : []));
    expect(times).toEqual([0, minute, 2 * minute, 3 * minute]);
  });
});

describe("a leader", () => {
  const slowly = { loopMs: 500, fastLoopMs: 100 };
  async function withTrouble() {
    const twin = leadOnTwin();
    await twin.put("bad", planOf(10));
    await twin.put("good", planOf(10));
    const { read } = twin.storage.blobs;
    const tries: number[] = [];
    let away = true;
    twin.storage.blobs.read = (container, name, options) => {
      if (name !== specBlob("bad") || !away) return read(container, name, options);
      tries.push(twin.world.nowMs());
      return Promise.reject(new StorageError("denied", "AuthorizationFailure", 403, "no"));
    };
    const skipped = () => twin.log.filter(({ event }) => event === "run-skipped").length;
    const heal = () => {
      away = false;
    };
    return { twin, tries, skipped, heal };
  }

  test("tells of a run that it cannot read once a minute, tries it ever more seldom, and leads the others", async () => {
    const { twin, tries, skipped } = await withTrouble();
    await twin.lead(300_000, slowly);
    // Pauses of half a minute may put a line off.
    expect(skipped()).toBeGreaterThanOrEqual(4);
    expect(skipped()).toBeLessThanOrEqual(6);
    expect(tries.length).toBeLessThanOrEqual(7 + 300 / 30);
    const gaps = tries.slice(1).map((atMs, place) => atMs - (tries[place] ?? 0));
    expect(gaps.at(0)).toBeLessThan(1_100);
    expect(gaps.at(-1)).toBeGreaterThanOrEqual(30_000);
    expect((await twin.stateOf("good")).cursor).toBe(10);
  });

  test("takes such a run up again by itself, and at once when a command comes", async () => {
    const { twin, heal } = await withTrouble();
    const clock = twin.world.clock();
    clock.after(200_000, heal);
    clock.after(201_000, () => void twin.mark("bad", { cap: 7, command: 1 }));
    await twin.lead(203_000, slowly);
    expect(await twin.stateOf("bad")).toMatchObject({ cap: 7, command: 1 });
  });
});
