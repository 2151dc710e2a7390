import { describe, expect, test } from "vitest";
import { lockCells, lockNeeds, ratioRows, skipWord, workCells, workerNeeds } from "../bench/peers/plan.ts";
import { chunksOf, computeTask, foldParts, tasksOf } from "../bench/peers/work.ts";
import { serialChain } from "../support/chain.ts";

const usual = { full: false, quick: false };

describe("the plan of the peers' bench", () => {
  test("every cell has Leasefold first, so that there is something to compare with", () => {
    expect(Object.keys(workerNeeds)[0]).toBe("Leasefold");
    for (const size of [usual, { full: true, quick: false }, { full: false, quick: true }]) {
      expect(lockCells(size)[0]?.kind).toBe("leasefold");
      expect(workCells(size).map(({ name }) => name)).toEqual(["chunks", "packs", "sieve"]);
    }
  });

  test("the kills of a usual run wait for at most two minutes of locks that nobody holds", () => {
    for (const { ttlS, kills } of lockCells(usual)) expect(ttlS * kills).toBeLessThanOrEqual(120);
  });

  test("a peer is skipped with a word for each thing that is not installed, and with none where all is", () => {
    expect(skipWord(workerNeeds.Celery, () => false)).toBe(
      "skipped: no redis-server, no Python with celery and redis",
    );
    expect(skipWord(lockNeeds.etcd, (need) => "program" in need)).toBe("skipped: no npm package etcd3");
    expect(skipWord(workerNeeds.Celery, () => true)).toBeUndefined();
    expect(skipWord(workerNeeds.Piscina, () => false)).toBeUndefined();
  });
});

describe("the table of the peers' bench", () => {
  test("has the median of each over Leasefold's, and the word of those that were skipped", () => {
    const { rows, figures } = ratioRows("kills", [
      { name: "Leasefold", seconds: [5, 3, 4] },
      { name: "etcd, 15 s", seconds: [10, 13] },
      { name: "Redlock", seconds: "skipped: no redis-server" },
    ]);
    expect(rows.map((row) => row["over Leasefold"])).toEqual([1, 2.5, "skipped: no redis-server"]);
    expect(rows[1]).toMatchObject({ who: "etcd, 15 s", n: 2, "median s": 10, "most s": 13 });
    expect(figures).toEqual({ "kills-leasefold-ratio": 1, "kills-etcd-15-s-ratio": 2.5 });
  });

  test("is refused where Leasefold has no figures", () => {
    const measured = [{ name: "Leasefold", seconds: "failed: no storage" }];
    expect(() => ratioRows("chunks", measured)).toThrow("chunks: there is nothing to compare with, failed");
  });
});

describe("the work of the peers", () => {
  test("chained tasks give what Leasefold's calculation gives, for any size of a task", async () => {
    const work = { kind: "chain", chunks: 23 } as const;
    const { times, plus } = JSON.parse(await serialChain(work.chunks));
    for (const size of [1, 5, 23, 100]) {
      expect(foldParts(work, tasksOf(work, size).map(computeTask))).toEqual([times, plus]);
    }
  });

  test("tasks of a sieve count each prime once", () => {
    const work = { kind: "sieve", to: 1e8 } as const;
    const tasks = tasksOf(work, 3);
    expect(tasks.at(-1)?.to).toBe(chunksOf(work));
    expect(foldParts(work, tasks.map(computeTask))).toEqual([5_761_455]);
  });

  test("a task without a part is an error, not a smaller answer", () => {
    const work = { kind: "chain", chunks: 3 } as const;
    const [first, , last] = tasksOf(work, 1).map(computeTask);
    expect(() => foldParts(work, [first, undefined, last])).toThrow("task 1 has no part");
  });
});
