import fc from "fast-check";
import { expect, test } from "vitest";
import { sealShards } from "../../src/engine/leader/decide/combine.ts";
import { layoutOf } from "../../src/engine/leader/decide/draft.ts";
import { fanOut } from "../../src/engine/leader/decide/fanOut.ts";
import { beginGeneration, beginTurn } from "../../src/engine/leader/decide/restart.ts";
import { tally, unfinishedPacks } from "../../src/engine/leader/decide/track.ts";
import { emptyBitmap, encodeBitmap, fullBitmap, setBit } from "../../src/engine/model/bitmap.ts";
import { shardOf, shardsOf } from "../../src/engine/model/packs.ts";
import { spentInGeneration, spentOf } from "../../src/engine/model/spent.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, marker, part, parts, runNotes } from "../support/runFixtures.ts";
import { draftOf, step } from "./deciding.ts";

const bits = (size: number, members: readonly number[]): string => {
  const set = emptyBitmap(size);
  for (const one of members) setBit(set, one);
  return encodeBitmap(set);
};

/** 400 packs in 20 shards of 20, closed: shard 3 has a gap, 5 was never folded, from 10 on nothing was sent. */
function closed(): State {
  const state = computing(400);
  for (let shard = 0; shard < 10; shard += 1) {
    if (shard === 3) state.sealed[shard] = { members: bits(20, [0, 1, 2]), gen: 1, node: true };
    else if (shard === 5) state.sealed[shard] = { gen: 1, node: false };
    else if (shard === 8) state.open[shard] = { done: bits(20, [0, 7]), failed: bits(20, [1]) };
    else state.sealed[shard] = { gen: 1, node: true };
  }
  state.cursor = 190;
  state.phase = "cancelled";
  tally(state);
  return state;
}

test("a generation keeps whole shards with their node and opens every other one again", () => {
  const state = beginGeneration(closed(), { ...marker, generation: 2 }, 5_000_000);
  expect(Object.keys(state.sealed).map(Number)).toEqual([0, 1, 2, 4, 6, 7, 9]);
  expect(Object.keys(state.open).map(Number)).toEqual([3, 5, 8]);
  expect(Object.values(state.open).every((open) => open.recount)).toBe(true);
  expect(state).toMatchObject({ generation: 2, phase: "computing", cursor: 60, packsFailed: 0 });
  // Seven whole shards, three packs of shard 3, shard 5 in full, two packs of shard 8.
  expect(state.packsDone).toBe(7 * 20 + 3 + 20 + 2);
});

test("each generation has its own time and cost, and the run has their sum", () => {
  const led = { planning: 1_000, computing: 60_000, finishing: 0, polls: 40 };
  const ended = {
    ...closed(),
    led,
    computeMs: 90_000,
    packsComputed: 165,
    finishedMs: 4_060_000,
    createdMs: 4_000_000,
  };
  const before = spentOf(ended);
  const state = beginGeneration(ended, { ...marker, generation: 2 }, 5_000_000);
  expect(state).toMatchObject({ packsComputed: 0, computeMs: 0, led: { computing: 0, polls: 0 } });
  expect(state.earlier).toEqual([{ generation: 1, tookMs: 60_000, ...before }]);
  const own = spentInGeneration(state);
  expect(own.cost.dollars).toBeLessThan(before.cost.dollars / 2);
  expect(spentOf(state).cost.dollars).toBeCloseTo(before.cost.dollars + own.cost.dollars, 6);
  expect(spentOf(state).calls.write).toBe(before.calls.write + own.calls.write);
  let many: State = ended;
  for (let generation = 2; generation < 40; generation += 1) {
    const next = beginGeneration(many, { ...marker, generation }, 5_000_000);
    many = { ...ended, ...next, finishedMs: 5_010_000, phase: "failed" };
  }
  expect(many.earlier).toHaveLength(16);
  expect(many.earlier?.reduce((sum, { tookMs }) => sum + tookMs, 0)).toBe(60_000 + 37 * 10_000);
});

test("a retry computes exactly the packs without a partial, and what came late is not computed again", () => {
  let state = beginGeneration(closed(), { ...marker, generation: 2 }, 5_000_000);
  const there = new Set<number>();
  for (let shard = 0; shard < 10; shard += 1)
    for (let pack = shard * 20; pack < shard * 20 + 20; pack += 1) {
      const missing = (shard === 3 && pack > 62) || (shard === 8 && pack !== 160 && pack !== 167);
      if (!missing) there.add(pack);
    }
  // A worker of the first generation wrote two more after the end, one of them beyond the recorded cursor.
  there.add(70).add(205);
  const notes = runNotes();
  const sent: number[] = [];
  for (let turn = 0; turn < 40 && state.cursor < 400; turn += 1) {
    const listed = new Set(
      Object.keys(state.open)
        .map(Number)
        .filter((shard) => state.open[shard]?.recount || shard * 20 < state.cursor),
    );
    const found = [...there].filter((pack) => listed.has(shardOf(layoutOf(state), pack)));
    const draft = step(
      state,
      { marker: { ...marker, generation: 2 }, parts: found.map((one) => part(one)), shards: listed },
      notes,
    );
    for (const { pack, send } of draft.packs) {
      expect(send).toBe(1);
      sent.push(pack);
      there.add(pack);
    }
    state = draft.state;
  }
  const all = Array.from({ length: 400 }, (_, pack) => pack);
  const before = new Set([...Array(10).keys()].flatMap((shard) => all.slice(shard * 20, shard * 20 + 20)));
  const expected = all.filter((pack) => {
    const shard = Math.floor(pack / 20);
    if (pack === 70 || pack === 205) return false;
    if (!before.has(pack)) return true;
    return (shard === 3 && pack > 62) || (shard === 8 && pack !== 160 && pack !== 167);
  });
  expect(sent).toEqual(expected);
});

test("a recounted shard holds what its list holds, also when a partial is gone", () => {
  const state = beginGeneration(closed(), { ...marker, generation: 2 }, 5_000_000);
  const draft = step(state, { parts: parts(100, 119), shards: new Set([5]) });
  expect(draft.state.open[5]?.done).toBe(bits(20, [...Array(19).keys()]));
});

test("a node above the shards is kept only while every shard below it is", () => {
  const state: State = { ...computing(8), phase: "failed", cursor: 8 };
  state.layout = { chunks: 8, packSize: 1, shardSize: 1, fanIn: 2, packMs: 1 };
  for (let shard = 0; shard < 8; shard += 1) state.sealed[shard] = { gen: 1, node: true };
  for (const name of ["node/2/00000", "node/2/00001", "node/2/00002", "node/2/00003"])
    state.groups[name] = { gen: 1, node: true };
  for (const name of ["node/3/00000", "node/3/00001"]) state.groups[name] = { gen: 1, node: true };
  state.sealed[5] = { members: bits(1, []), gen: 1, node: true };
  const next = beginGeneration(state, { ...marker, generation: 2 }, 5_000_000);
  expect(Object.keys(next.groups)).toEqual(["node/2/00000", "node/2/00001", "node/2/00003", "node/3/00000"]);
});

test("a new turn takes a send number above every send before, and begins at the first shard that is open", () => {
  const state = step(computing(60)).state;
  state.resent[3] = { send: 4, sentMs: 0, losses: 1, awaitedFrom: 1 };
  beginTurn(state);
  expect(state).toMatchObject({ cursorSend: 5, cursor: 0, resent: {}, batches: [] });
  expect(state.open[0]?.recount).toBe(true);
});

test("what ended a process is isolated in the next turn too, and urgent", () => {
  const { state } = step(computing(60));
  state.resent[40] = { send: 4, sentMs: 7, losses: 1, awaitedFrom: 3, isolated: true };
  state.resent[41] = { send: 2, sentMs: 7, losses: 0, awaitedFrom: 1 };
  beginTurn(state);
  expect(state.resent).toEqual({ 40: { send: 5, sentMs: 0, losses: 0, awaitedFrom: 5, isolated: true } });
  for (const open of Object.values(state.open)) delete open.recount;
  state.inFlight = 0;
  const draft = draftOf(state);
  draft.notes.window = 100;
  fanOut(draft);
  const sent = draft.packs.filter(({ pack }) => pack >= 40 && pack <= 41);
  expect(sent).toMatchObject([
    { pack: 40, send: 5, urgent: true, isolated: true },
    { pack: 41, send: 5, urgent: false },
  ]);
});

test("a new turn lists the shards of packs that an earlier leader may have sent without recording it", () => {
  const state = computing(40);
  state.layout = { chunks: 40, packSize: 1, shardSize: 4, fanIn: 2, packMs: 1 };
  Object.assign(state, { cursor: 6, possiblySentUpTo: 13, open: { 0: { done: "" }, 1: { done: "" } } });
  beginTurn(state);
  expect(Object.keys(state.open).map(Number)).toEqual([0, 1, 2, 3]);
  expect(Object.values(state.open).every(({ recount }) => recount === true)).toBe(true);
  expect(state).toMatchObject({ cursor: 0, possiblySentUpTo: 0 });
});

test("what the bitmaps say is what is counted, whatever was done to them", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 700 }),
      fc.integer({ min: 1, max: 7 }),
      fc.infiniteStream(fc.constantFrom("done", "failed", "open")),
      fc.nat(),
      (chunks, packSize, outcomes, cut) => {
        const state = computing(chunks, packSize);
        const layout = layoutOf(state);
        const packs = Math.ceil(chunks / packSize);
        state.cursor = cut % (packs + 1);
        const size = (pack: number) => Math.min(packSize, chunks - pack * packSize);
        const want = { packsDone: 0, packsFailed: 0, chunksDone: 0, chunksFailed: 0 };
        for (let shard = 0; shard < shardsOf(layout); shard += 1) {
          const from = shard * layout.shardSize;
          const to = Math.min(from + layout.shardSize, packs);
          const done: number[] = [];
          const failed: number[] = [];
          for (let pack = from; pack < Math.min(to, state.cursor); pack += 1) {
            const outcome = outcomes.next().value;
            if (outcome === "open") continue;
            (outcome === "done" ? done : failed).push(pack - from);
            want[outcome === "done" ? "packsDone" : "packsFailed"] += 1;
            want[outcome === "done" ? "chunksDone" : "chunksFailed"] += size(pack);
          }
          state.open[shard] = { done: bits(to - from, done), failed: bits(to - from, failed) };
        }
        tally(state);
        expect(state).toMatchObject({ ...want, inFlight: unfinishedPacks(state).length });
        // Sealing moves bitmaps and changes no count.
        sealShards({ ...draftOf(state), state });
        tally(state);
        expect(state).toMatchObject(want);
      },
    ),
  );
});

test("a full set has exactly its members", () => {
  for (const size of [1, 7, 8, 9, 20])
    expect(encodeBitmap(fullBitmap(size))).toBe(bits(size, [...Array(size).keys()]));
});
