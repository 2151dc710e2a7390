import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countBits, decodeBitmap, emptyBitmap, encodeBitmap, setBit } from "../../src/engine/model/bitmap.ts";
import { differenceFrom, isVouched } from "../../src/engine/model/manifestFits.ts";
import {
  chunksOfPack,
  indexesOf,
  joined,
  packsOf,
  packsOfShard,
  shardsOf,
  sizeOf,
} from "../../src/engine/model/packs.ts";
import type { Manifest } from "../../src/engine/model/run.ts";
import type { State } from "../../src/engine/model/state.ts";
import { manifest as anyManifest, computing } from "../support/runFixtures.ts";

/** A state whose shards are sealed, with these packs missing, and the manifest that a worker makes of it. */
function finishing(
  chunks: number,
  packSize: number,
  shardSize: number,
  missingPacks: readonly number[] = [],
  /** Those whose partials lack their first chunk. */
  gappedPacks: readonly number[] = [],
) {
  const layout = { chunks, packSize, shardSize, fanIn: 1_000, packMs: 1 };
  const gone = new Set(missingPacks);
  const state: State = {
    ...computing(chunks, packSize),
    ...{ layout, phase: "finishing", cursor: packsOf(layout) },
    terms: [{ term: 3, holder: "a", atMs: 1 }],
  };
  const gaps = new Set(gappedPacks.filter((pack) => pack < packsOf(layout) && !gone.has(pack)));
  const isGapped = (pack: number): boolean => gaps.has(pack) && sizeOf(chunksOfPack(layout, pack)) > 1;
  for (let shard = 0; shard < shardsOf(layout); shard += 1) {
    const packs = packsOfShard(layout, shard);
    const bits = emptyBitmap(sizeOf(packs));
    for (let pack = packs.from; pack < packs.to; pack += 1)
      if (!gone.has(pack)) setBit(bits, pack - packs.from);
    const members = countBits(bits) === sizeOf(packs) ? {} : { members: encodeBitmap(bits) };
    const lacking = indexesOf(packs).filter(isGapped).length;
    state.sealed[shard] = { ...members, ...(lacking > 0 && { gaps: lacking }), gen: 1, node: true };
  }
  const missing = joined(
    indexesOf({ from: 0, to: packsOf(layout) }).flatMap((pack) => {
      const { from, to } = chunksOfPack(layout, pack);
      return gone.has(pack) ? [{ from, to }] : isGapped(pack) ? [{ from, to: from + 1 }] : [];
    }),
  );
  const manifest: Manifest = {
    ...anyManifest,
    ...{ chunks, packs: packsOf(layout), missing, complete: missing.length === 0 },
    folded: chunks - missing.reduce((sum, range) => sum + sizeOf(range), 0),
    terms: [{ term: 3, holder: "a" }],
  };
  return { state, manifest };
}

test("what a worker folds of the members that the leader recorded fits, whatever the layout and its gaps", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 300 }),
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.integer({ min: 0, max: 300 })),
      fc.array(fc.integer({ min: 0, max: 300 })),
      (chunks, packSize, shardSize, gone, gapped) => {
        const { state, manifest } = finishing(chunks, packSize, shardSize, gone, gapped);
        expect(differenceFrom(state, manifest)).toBeUndefined();
      },
    ),
  );
});

test("gaps that lie in other shards, or are more than the partials of one lack, do not fit", () => {
  const { state, manifest } = finishing(40, 4, 4, [], [2, 7]);
  const other = (...gaps: number[]): Manifest => ({
    ...manifest,
    missing: gaps.map((chunk) => ({ from: chunk, to: chunk + 1 })),
    folded: 40 - gaps.length,
  });
  expect(differenceFrom(state, other(8, 28))).toBeUndefined();
  expect(differenceFrom(state, other(9, 31))).toBeUndefined();
  expect(differenceFrom(state, other(8, 32))).toMatch(/^missing is/);
  expect(differenceFrom(state, other(8, 10, 28))).toMatch(
    /^missing is 2 chunks in packs of shard 0, the leader has 1$/,
  );
  expect(differenceFrom(state, { ...other(8, 10, 28), folded: 38 })).toMatch(/^missing is/);
  expect(differenceFrom(state, { ...other(), folded: 38 })).toMatch(/^missing is/);
  const endless = { from: 8, to: Number.MAX_SAFE_INTEGER };
  expect(differenceFrom(state, { ...manifest, missing: [endless] })).toMatch(/^missing is/);
});

test("a fold of any other members does not fit", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 1, max: 20 }),
      fc.uniqueArray(fc.integer({ min: 0, max: 27 }), { maxLength: 5 }),
      fc.uniqueArray(fc.integer({ min: 0, max: 27 }), { maxLength: 5 }),
      (chunks, packSize, shardSize, gone, forged) => {
        const packs = Math.ceil(chunks / packSize);
        const [mine, theirs] = [gone, forged].map((some) => some.filter((pack) => pack < packs).sort());
        fc.pre(JSON.stringify(mine) !== JSON.stringify(theirs));
        const { state } = finishing(chunks, packSize, shardSize, mine);
        const { manifest } = finishing(chunks, packSize, shardSize, theirs);
        expect(differenceFrom(state, manifest)).toMatch(/is .*, the leader has /);
      },
    ),
  );
});

describe("a manifest does not fit", () => {
  const { state: sealed, manifest } = finishing(100, 3, 10, [2]);
  const state = { ...sealed, code: "sum@1" };

  test.each([
    ["folded", { folded: 98 }],
    ["complete", { complete: true }],
    ["missing", { missing: [] }],
    ["missing", { missing: [{ from: 9, to: 12 }] }],
    ["chunks", { chunks: 99 }],
    ["packs", { packs: 33 }],
    ["generation", { generation: 2 }],
    ["run", { run: "other" }],
    ["uid", { uid: "other" }],
    ["blob", { blob: "other/u/001/1-1-abcdefgh/result.json" }],
    ["blob", { blob: "r/u/001/1-1-else/result.json" }],
    ["term", { terms: [{ term: 3, holder: "stranger" }] }],
    ["term", { terms: [{ term: 4, holder: "a" }] }],
    ["it was computed by", { code: ["sum@1", "sum@2"] }],
  ] satisfies readonly (readonly [string, Partial<Manifest>])[])(
    "and the difference names %s where it is other than the leader's",
    (field, change) => {
      expect(differenceFrom(state, { ...manifest, ...change })).toMatch(new RegExp(`^${field}[, ]`));
    },
  );

  test("but for terms before an earlier state was lost, and code that the run mixes", () => {
    const earlier = { ...manifest, terms: [{ term: 1, holder: "b" }, ...manifest.terms] };
    expect(differenceFrom(state, earlier)).toBe("term 1 of b did not lead it");
    expect(differenceFrom({ ...state, lost: true }, earlier)).toBeUndefined();
    const mixed = { ...manifest, code: ["sum@1", "sum@2"] };
    expect(differenceFrom({ ...state, mix: ["sum@2"] }, mixed)).toBeUndefined();
  });

  test("while a shard is open, or before there is a plan", () => {
    const { 3: _open, ...sealed } = state.sealed;
    expect(differenceFrom({ ...state, sealed }, manifest)).toBe("1 of 4 shards are open");
    expect(differenceFrom({ ...state, layout: undefined }, manifest)).toBe("the run has no plan");
  });

  test("and a long difference is cut", () => {
    const { state: full } = finishing(5_000, 1, 300);
    const { manifest: holes } = finishing(
      5_000,
      1,
      300,
      Array.from({ length: 2_500 }, (_, index) => 2 * index),
    );
    expect(differenceFrom(full, { ...holes, folded: 5_000, complete: true })?.length).toBeLessThan(250);
  });
});

describe("a manifest is vouched for", () => {
  const { state, manifest } = finishing(100, 3, 10);
  const forged = { ...manifest, folded: 1 };

  test("where it fits, or where its generation is complete or an older one", () => {
    expect(isVouched(state, manifest)).toBe(true);
    expect(isVouched(state, forged)).toBe(false);
    expect(isVouched({ ...state, phase: "complete" }, forged)).toBe(true);
    expect(isVouched({ ...state, generation: 2 }, forged)).toBe(true);
  });

  test("but not where the leader refused it, nor for a generation that has not begun", () => {
    const refused = [1];
    expect(isVouched({ ...state, refused, phase: "failed" }, manifest)).toBe(false);
    expect(isVouched({ ...state, refused, generation: 2, phase: "complete" }, manifest)).toBe(false);
    expect(isVouched(state, { ...manifest, generation: 2 })).toBe(false);
  });
});

test("bitmaps of members may be longer than their shard; what lies beyond it does not count", () => {
  const { state, manifest } = finishing(9, 1, 10, [8]);
  const members = state.sealed[0]?.members ?? "";
  expect(countBits(decodeBitmap(members, 9))).toBe(8);
  state.sealed[0] = { gen: 1, node: false, members: encodeBitmap(new Uint8Array([255, 0, 255])) };
  expect(differenceFrom(state, manifest)).toBeUndefined();
});
