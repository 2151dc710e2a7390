import fc from "fast-check";
import { expect, it } from "vitest";
import { packMapOf, packsPerCellOf } from "../../../src/engine/client/inspection/packMap.ts";
import { tally } from "../../../src/engine/leader/decide/track.ts";
import { emptyBitmap, encodeBitmap, setBit } from "../../../src/engine/model/bitmap.ts";
import { packsOf, packsOfShard, shardSizeFor, shardsOf, sizeOf } from "../../../src/engine/model/packs.ts";
import { firstState, type State } from "../../../src/engine/model/state.ts";

const key = { run: "r1", uid: "u1" };
const first = (): State => firstState({ ...key, generation: 1, cap: 2_000, nowMs: 0 });
const layoutOf = (packs: number, shardSize = shardSizeFor(packs)) => ({
  ...{ chunks: packs * 3 - 1, packSize: 3, shardSize, fanIn: 1_000, packMs: 1 },
});
const sum = (cells: readonly number[]): number => cells.reduce((all, one) => all + one, 0);

/** A bitmap of the packs of a shard that the rule picks. */
function bitmapOf(size: number, picks: (index: number) => boolean): string {
  const bits = emptyBitmap(size);
  for (let index = 0; index < size; index += 1) if (picks(index)) setBit(bits, index);
  return encodeBitmap(bits);
}

/** A state in which each pack has drawn its outcome, as the leader stores it. */
const states = fc
  .record({
    packs: fc.integer({ min: 1, max: 9_000 }),
    shardSize: fc.integer({ min: 1, max: 700 }),
    seed: fc.integer({ min: 0, max: 1e9 }),
    sealedShare: fc.double({ min: 0, max: 1, noNaN: true }),
    cursorShare: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ packs, shardSize, seed, sealedShare, cursorShare }): State => {
    const layout = layoutOf(packs, shardSize);
    const draw = (number: number): number => ((number * 2654435761 + seed) >>> 8) % 100;
    const state: State = { ...first(), layout, phase: "computing", cursor: Math.round(cursorShare * packs) };
    for (let shard = 0; shard < shardsOf(layout); shard += 1) {
      const { from, to } = packsOfShard(layout, shard);
      const size = to - from;
      const done = bitmapOf(size, (index) => draw(from + index) < 60);
      if (to <= sealedShare * packs) state.sealed[shard] = { gen: 1, node: true, members: done };
      else if (from < state.cursor)
        state.open[shard] = { done, failed: bitmapOf(size, (index) => draw(from + index) >= 90) };
    }
    tally(state);
    return state;
  });

it("a map counts each pack once, as the leader's own counts do, whatever the layout is", () => {
  fc.assert(
    fc.property(states, (state) => {
      const { cells, packs, packsPerCell } = packMapOf(key, state);
      const cellsWanted = Math.ceil(packs / packsPerCell);
      expect(cellsWanted).toBeLessThanOrEqual(2_000);
      expect(Object.values(cells).map(({ length }) => length)).toEqual(Array(5).fill(cellsWanted));
      expect([sum(cells.done), sum(cells.failed), sum(cells.inFlight)]).toEqual([
        ...[state.packsDone, state.packsFailed, state.inFlight],
      ]);
      for (let cell = 0; cell < cellsWanted; cell += 1) {
        const size = Math.min(packsPerCell, packs - cell * packsPerCell);
        const held = [cells.done, cells.failed, cells.inFlight].map((one) => one[cell] ?? 0);
        expect(sum(held)).toBeLessThanOrEqual(size);
      }
    }),
    { numRuns: 60 },
  );
});

it("a pack is in the cell of its number", () => {
  const layout = layoutOf(300, 256);
  const done = bitmapOf(256, (index) => index === 7 || index === 255);
  const failed = bitmapOf(256, (index) => index === 9);
  const resent = {
    8: { send: 2, sentMs: 0, losses: 1, awaitedFrom: 1 },
    7: { send: 2, sentMs: 0, losses: 1, awaitedFrom: 1 },
  };
  const open = { 0: { done, failed }, 1: { done: bitmapOf(44, (index) => index === 43) } };
  const state: State = { ...first(), layout, phase: "computing", cursor: 11, open, resent };
  const { packsPerCell, cells } = packMapOf(key, state);
  const filled = (of: readonly number[]) => of.flatMap((packs, cell) => (packs > 0 ? [cell] : []));
  expect(packsPerCell).toBe(1);
  expect(filled(cells.done)).toEqual([7, 255, 299]);
  expect(filled(cells.failed)).toEqual([9]);
  expect(filled(cells.inFlight)).toEqual([0, 1, 2, 3, 4, 5, 6, 8, 10]);
  expect(filled(cells.resent)).toEqual([8]);
  expect(sum(packMapOf(key, { ...state, phase: "failed" }).cells.inFlight)).toBe(0);
});

it("cells keep to shards, unless only far larger ones could", () => {
  for (const packs of [1, 256, 257, 2_000, 2_001, 4_001, 50_000, 1_000_000, 10_000_000]) {
    const shardSize = shardSizeFor(packs);
    const cell = packsPerCellOf(packs, shardSize);
    expect(Math.ceil(packs / cell)).toBeLessThanOrEqual(2_000);
    expect([packs, cell % shardSize === 0 || shardSize % cell === 0]).toEqual([packs, true]);
  }
  expect(packsPerCellOf(5_000, 251)).toBe(3);
  expect(packsPerCellOf(1_000_000, 499)).toBe(998);
});

it("a run of a million packs has at most 2,000 cells, and a run without a plan none", () => {
  const layout = layoutOf(1_000_000);
  const sealed = Object.fromEntries(
    Array.from({ length: shardsOf(layout) - 1 }, (_, shard) => [shard, { gen: 1, node: true }]),
  );
  const map = packMapOf(key, { ...first(), layout, phase: "computing", cursor: 1_000_000, sealed });
  expect(map.packs).toBe(packsOf(layout));
  expect(map.cells.done.length).toBeLessThanOrEqual(2_000);
  expect(sum(map.cells.done)).toBe(1_000_000 - sizeOf(packsOfShard(layout, shardsOf(layout) - 1)));
  for (const state of [first(), undefined])
    expect(packMapOf(key, state)).toEqual({
      ...{ ...key, generation: 1, packs: 0, shardSize: 0, packsPerCell: 1 },
      cells: { done: [], failed: [], givenUp: [], inFlight: [], resent: [] },
    });
});
