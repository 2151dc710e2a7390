import { expect, test } from "vitest";
import type { PackMap } from "../../../src/engine/client/inspection/packMap.ts";
import {
  atWorkText,
  cellCount,
  cellOf,
  cellOfShard,
  cellText,
  gridOf,
  legendOf,
  movedBy,
  tablePage,
} from "../run/map/packMap.ts";

const small: PackMap = {
  ...{ run: "x", uid: "u", generation: 1, packs: 5, shardSize: 2, packsPerCell: 1 },
  cells: {
    done: [1, 0, 0, 0, 0],
    failed: [0, 1, 0, 0, 0],
    givenUp: [0, 0, 0, 0, 0],
    inFlight: [0, 0, 1, 1, 0],
    resent: [0, 0, 0, 1, 0],
  },
};
const large: PackMap = {
  ...{ run: "x", uid: "u", generation: 1, packs: 1_050, shardSize: 100, packsPerCell: 500 },
  cells: {
    ...{ done: [500, 120, 0], failed: [0, 3, 0], givenUp: [0, 0, 0] },
    ...{ inFlight: [0, 40, 0], resent: [0, 7, 0] },
  },
};
const early: PackMap = {
  ...large,
  cells: {
    ...{ done: [500, 120, 0], failed: [0, 3, 0], givenUp: [0, 377, 50] },
    ...{ inFlight: [0, 0, 0], resent: [0, 0, 0] },
  },
};

test("each cell tells its packs, their outcomes and its shard", () => {
  const texts = (map: PackMap) =>
    Array.from({ length: cellCount(map) }, (_, index) => cellText(cellOf(map, index)));
  expect(texts(small)).toEqual([
    "pack 0: done (shard 0)",
    "pack 1: failed (shard 0)",
    "pack 2: in flight (shard 1)",
    "pack 3: resent, in flight (shard 1)",
    "pack 4: not sent (shard 2)",
  ]);
  expect(texts(large)).toEqual([
    "packs 0–499: 500 done (shards 0–4)",
    "packs 500–999: 120 done, 3 failed, 33 in flight, 7 resent, in flight, 337 not sent (shards 5–9)",
    "packs 1000–1049: 50 not sent (shard 10)",
  ]);
  expect(texts(early).slice(1)).toEqual([
    "packs 500–999: 120 done, 3 failed, 377 given up (shards 5–9)",
    "packs 1000–1049: 50 given up (shard 10)",
  ]);
});

test("a cell tells who computes its packs and for how long, at most three of them", () => {
  const atWork = [2, 3, 501, 502, 503, 504].map((pack) => ({
    pack,
    instance: `node-${pack}`,
    sinceMs: 1_000,
  }));
  const text = (map: PackMap, index: number) => atWorkText(cellOf(map, index), atWork, 13_400);
  expect(text(small, 2)).toBe("node-2 for 12 s");
  expect(text(small, 4)).toBe("");
  expect(text(large, 1)).toBe(
    "501: node-501 for 12 s, 502: node-502 for 12 s, 503: node-503 for 12 s, and 1 more",
  );
});

test("packs of a paused run that were sent are not called in flight, because nobody finds out which are lost", () => {
  expect([2, 3].map((index) => cellText(cellOf(small, index), true))).toEqual([
    "pack 2: sent (shard 1)",
    "pack 3: resent (shard 1)",
  ]);
  const packs = { total: 5, done: 1, failed: 1, sent: 4, resent: 1 };
  const legend = legendOf(small, { active: true, paused: true, packs });
  expect(legend.map(({ text, packs: of }) => `${text} ${of}`)).toEqual([
    ...["done 1", "failed 1", "sent 1", "resent 1", "not sent 1"],
  ]);
});

test("the legend counts every pack once", () => {
  for (const map of [small, large, early])
    expect(legendOf(map).reduce((sum, { packs }) => sum + packs, 0)).toBe(map.packs);
});

test("beside a view the legend has the counts of the view, so that a map that is read later does not contradict it", () => {
  const packs = { total: 5, done: 2, failed: 1, sent: 5, resent: 1 };
  const counts = (active: boolean) =>
    Object.fromEntries(
      legendOf(small, { active, paused: false, packs }).map(({ name, packs: of }) => [name, of]),
    );
  expect(counts(true)).toEqual({ done: 2, failed: 1, inFlight: 1, resent: 1, notSent: 0 });
  expect(counts(false)).toEqual({ done: 2, failed: 1, inFlight: 1, resent: 1, notSent: 0 });
  const ended = legendOf(small, { active: true, paused: false, packs: { ...packs, done: 5, failed: 0 } });
  expect(ended.map(({ packs: of }) => of)).toEqual([5, 0, 0, 0, 0]);
});

test("a shard of the address leads to its first cell, and one that the run does not have to none", () => {
  expect([cellOfShard(small, 2), cellOfShard(large, 7), cellOfShard(small, 3)]).toEqual([4, 1, undefined]);
});

test.each([
  [1, 700],
  [145, 340],
  [2_000, 340],
  [2_000, 1_200],
])("%i cells fit %i pixels, and none is cut off", (cells, width) => {
  const { size, columns, rows } = gridOf(cells, width);
  expect(columns * size).toBeLessThanOrEqual(width);
  expect(columns * rows).toBeGreaterThanOrEqual(cells);
  expect((rows - 1) * columns).toBeLessThan(cells);
});

test("keys move within the map and stop at its ends", () => {
  expect(
    ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "Home", "End", "x"].map((key) =>
      movedBy(key, 7, 5, 12),
    ),
  ).toEqual([8, 6, 11, 2, 0, 11, undefined]);
});

test("the table has every cell on some page, and only the open ones if asked", () => {
  const all = [0, 1, 2].flatMap((page) => tablePage(small, { page, openOnly: false, size: 2 }).cells);
  expect(all.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
  const open = tablePage(small, { page: 9, openOnly: true, size: 2 });
  expect([open.page, open.pages, open.cells.map(({ index }) => index)]).toEqual([1, 2, [3]]);
});
