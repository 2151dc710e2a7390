import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { giveUpRest } from "../../src/engine/leader/decide/command.ts";
import { beginGeneration } from "../../src/engine/leader/decide/restart.ts";
import { decodeBitmap, emptyBitmap, encodeBitmap, hasBit, setBit } from "../../src/engine/model/bitmap.ts";
import { givenUpOf, outcomesOf } from "../../src/engine/model/outcomes.ts";
import { packsOf, shardsOf } from "../../src/engine/model/packs.ts";
import type { State } from "../../src/engine/model/state.ts";
import {
  computing,
  contentTypeOf,
  marker,
  packFailure,
  part,
  parts,
  runNotes,
  spec,
} from "../support/runFixtures.ts";
import { draftOf, first, startMs, step, tasksOf } from "./deciding.ts";

const cancelled = { ...marker, want: "cancelled", keep: "1", command: 1 } as const;
const gappedMembers = Buffer.from([0b0101]).toString("base64url");

describe("a cancel that keeps what is done", () => {
  test("gives up the packs without a partial and finishes with the others", () => {
    const sent = step(computing(4)).state;
    const draft = step(sent, { marker: cancelled, parts: [part(0), part(2)] });
    expect(draft.ending).toBeUndefined();
    expect(draft.packs).toEqual([]);
    expect(draft.state).toMatchObject({
      ...{ phase: "finishing", keep: true, answer: "done", command: 1 },
      ...{ packsDone: 2, packsFailed: 2, chunksFailed: 2, inFlight: 0 },
      sealed: { 0: { members: gappedMembers, gen: 1, node: false } },
    });
    expect(tasksOf(draft)).toEqual([{ kind: "finish", send: 1 }]);
  });

  test("tolerates what failed before, whatever the run tolerates", () => {
    const sent = step(computing(4)).state;
    const failures = [packFailure(1)];
    const draft = step(sent, { marker: cancelled, failures, parts: [part(0), part(2)] });
    expect([draft.ending, draft.state.phase]).toEqual([undefined, "finishing"]);
  });

  test("ends a paused run as well, which does not wait for a resume", () => {
    const pause = { ...marker, want: "paused" as const, turn: 1, command: 1 };
    const paused = step(step(computing(4)).state, { marker: pause, parts: [part(0)] }).state;
    const draft = step(paused, { marker: { ...cancelled, turn: 1, command: 2 } });
    expect(draft.state).toMatchObject({ phase: "finishing", paused: false, packsDone: 1 });
  });

  test("ends a run that has no plan yet as cancelled, since there is nothing to keep", () => {
    const draft = step(step(first()).state, { marker: cancelled });
    expect(draft.ending).toEqual({ phase: "cancelled" });
    expect(draft.state.keep).toBeUndefined();
  });

  test("is too late once finishing is recorded", () => {
    const finishing = step(step(computing(1)).state, { parts: parts(0, 1) }).state;
    const draft = step(finishing, { marker: cancelled });
    expect(draft.state).toMatchObject({ phase: "finishing", answer: "too-late" });
    expect(draft.state.keep).toBeUndefined();
  });

  test("is followed by a plain cancel for whoever does not want the result either", () => {
    const kept = step(computing(400), { marker: cancelled }).state;
    const draft = step(kept, { marker: { ...cancelled, keep: undefined, command: 2 } });
    expect(draft.ending).toEqual({ phase: "cancelled" });
  });

  test("combines every shard of a large run, of which some were never sent", () => {
    const sent = { ...step(computing(400)).state, cursor: 30, open: {} as State["open"] };
    sent.open = { 0: { done: "" }, 1: { done: "" } };
    const draft = step(sent, { marker: cancelled, parts: parts(0, 25) });
    expect(Object.keys(draft.state.sealed)).toHaveLength(shardsOf(computing(400).layout as never));
    expect(draft.state).toMatchObject({ phase: "computing", packsDone: 25, packsFailed: 375, open: {} });
    expect(tasksOf(draft)).toHaveLength(20);
  });

  test("seals a shard that must be recounted only once it is listed", () => {
    const closed: State = { ...computing(400), phase: "failed", cursor: 60 };
    closed.open = { 0: { done: "" }, 1: { done: "" }, 2: { done: "" } };
    const retried = beginGeneration(closed, { ...marker, generation: 2 }, 5_000_000);
    const withGeneration = { ...cancelled, generation: 2 };
    const early = step(retried, { marker: withGeneration, shards: new Set([0]), parts: [part(3)] });
    expect(early.state.sealed[0]?.members).toBeDefined();
    expect(early.state.open).toMatchObject({ 1: { recount: true }, 2: { recount: true } });
    const later = step(early.state, {
      marker: withGeneration,
      shards: new Set([1, 2]),
      parts: [part(25)],
    });
    expect(later.state).toMatchObject({ packsDone: 2, open: {} });
  });

  test("sends nothing again while shards wait for their recount", () => {
    const closed: State = { ...computing(400), phase: "failed", cursor: 60 };
    closed.open = { 0: { done: "" }, 1: { done: "" }, 2: { done: "" } };
    const retried = beginGeneration(closed, { ...marker, generation: 2 }, 5_000_000);
    const draft = step(retried, { marker: { ...cancelled, generation: 2 }, shards: new Set() });
    expect(draft.packs).toEqual([]);
  });

  test("replaces no send that ended without output in the very same poll", () => {
    const sent = step(computing(4)).state;
    const draft = step(sent, { marker: cancelled, failures: [packFailure(1, 1, "unreported")] });
    expect(draft.packs).toEqual([]);
  });

  test("records what had failed and what was sent by then, so that readers can tell it from what it gave up", () => {
    const sent = { ...step(computing(400)).state, cursor: 50, open: {} as State["open"] };
    // Of 20 packs each: one sealed with a gap, one with a failure, one that no page is left for, the rest never sent.
    const all = Array.from({ length: 20 }, (_, index) => index);
    const bits = (of: readonly number[]) => {
      const bitmap = emptyBitmap(20);
      for (const index of of) setBit(bitmap, index);
      return encodeBitmap(bitmap);
    };
    sent.sealed = { 0: { members: bits(all.slice(3)), gen: 1, node: true } };
    sent.open = { 1: { done: bits([0, 1]), failed: bits([7]) }, 2: { done: "" } };
    const early = step(sent, { marker: cancelled, shards: new Set([1]), parts: [part(20), part(21)] }).state;
    expect(early.open).toMatchObject({ 2: { recount: true } });
    const later = step(early, { marker: cancelled, shards: new Set([2]), parts: [part(45)] }).state;
    expect(later.gaveUp).toEqual({ cursor: 50, failed: { 0: bits([0, 1, 2]), 1: bits([7]) } });
    expect(later).toMatchObject({ packsDone: 17 + 2 + 1, packsFailed: 380, open: {} });
    expect(givenUpOf(later)).toEqual({ packs: 376, chunks: 376, unsent: 350 });
    const layout = later.layout as NonNullable<State["layout"]>;
    const outcome = (pack: number) => outcomesOf(later, layout, Math.floor(pack / 20))?.(pack);
    expect([0, 3, 20, 22, 27, 45, 46, 399].map(outcome)).toEqual([
      ...["failed", "done", "done", "givenUp", "failed", "done", "givenUp", "givenUp"],
    ]);
    const retried = beginGeneration({ ...later, phase: "complete" }, { ...marker, generation: 2 }, 5_000_000);
    expect(retried.gaveUp).toBeUndefined();
  });

  test("loses no partial that was counted and leaves no pack without an outcome", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 900 }),
        fc.integer({ min: 1, max: 4 }),
        fc.nat(),
        fc.infiniteStream(fc.boolean()),
        (chunks, packSize, cut, done) => {
          const state = computing(chunks, packSize);
          const { layout } = state;
          if (layout === undefined) throw new Error("no layout");
          const packs = packsOf(layout);
          state.cursor = cut % (packs + 1);
          for (let shard = 0; shard * layout.shardSize < state.cursor; shard += 1)
            state.open[shard] = { done: "" };
          const there = Array.from({ length: state.cursor }, (_, pack) => pack).filter(
            () => done.next().value,
          );
          const draft = step({ ...state, keep: true }, { parts: there.map((pack) => part(pack)) });
          const after = draft.state;
          expect(after.packsDone).toBe(there.length);
          expect(after.packsDone + after.packsFailed).toBe(packs);
          expect(after.inFlight).toBe(0);
          expect(Object.keys(after.open)).toEqual([]);
          for (const pack of there) {
            const shard = Math.floor(pack / layout.shardSize);
            const members = after.sealed[shard]?.members;
            const index = pack - shard * layout.shardSize;
            const size = Math.min(layout.shardSize, packs - shard * layout.shardSize);
            expect(members === undefined || hasBit(decodeBitmap(members, size), index)).toBe(true);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test("given up twice is the same as once", () => {
    const draft = draftOf({ ...step(computing(400)).state, keep: true });
    giveUpRest(draft, { shards: new Set() });
    const once = structuredClone(draft.state);
    giveUpRest(draft, { shards: new Set() });
    expect(draft.state).toEqual(once);
  });
});

describe("a deadline", () => {
  const within = (keep: boolean) => ({ ...spec, deadline: { ms: 60_000, keep } });
  const begun = () => ({ ...step(computing(4)).state, createdMs: startMs });

  test.each([true, false])("that is not past changes nothing (keep %j)", (keep) => {
    const draft = step(begun(), { spec: within(keep) }, runNotes(), 60_000);
    expect([draft.ending, draft.state.keep]).toEqual([undefined, undefined]);
  });

  test("fails the run that is past it, and says which, in the unit that people use", () => {
    const deadline = { ms: 7_200_000, keep: false };
    const draft = step(begun(), { spec: { ...spec, deadline }, parts: [part(0)] }, runNotes(), 7_200_001);
    const message = "it did not end within its deadline of 2 h";
    expect(draft.ending).toEqual({ phase: "failed", error: { code: "deadline", message } });
  });

  test("with keep has the run finish with what is done, also where it is paused", () => {
    for (const paused of [false, true]) {
      const state = { ...begun(), paused };
      const found = { spec: within(true), parts: [part(0), part(2)] };
      const draft = step(state, found, runNotes(), 60_001);
      expect(draft.ending).toBeUndefined();
      expect(draft.state).toMatchObject({ phase: "finishing", keep: true, paused: false, packsDone: 2 });
      expect(draft.state.sealed[0]?.members).toBe(gappedMembers);
    }
  });

  test("fails a run without a plan even with keep: there is nothing to finish", () => {
    const draft = step(step(first()).state, { spec: within(true) }, runNotes(), 60_001);
    expect(draft.ending?.error?.code).toBe("deadline");
  });

  test("lets a run that is finishing end", () => {
    const finishing = step(begun(), { parts: parts(0, 4) }).state;
    const draft = step(finishing, { spec: within(false) }, runNotes(), 60_001);
    expect([draft.ending, draft.state.phase]).toEqual([undefined, "finishing"]);
  });

  test("does not fail a run that a cancel with keep is finishing", () => {
    const kept = step(begun(), { marker: cancelled, shards: new Set(), spec: within(false) });
    const draft = step(kept.state, { marker: cancelled, spec: within(false) }, runNotes(), 60_001);
    expect(draft.ending).toBeUndefined();
  });

  test("counts for a retry from when the retry began", () => {
    const closed: State = { ...begun(), phase: "failed" };
    const retried = beginGeneration(closed, { ...marker, generation: 2 }, 5_000_000);
    const draft = step(
      retried,
      { spec: within(false), marker: { ...marker, generation: 2 } },
      runNotes(),
      90_000,
    );
    expect(draft.ending).toBeUndefined();
  });
});

test("a pause after the deadline of a run that keeps what is done does not hold up its end", () => {
  const within = { ...spec, deadline: { ms: 60_000, keep: true } };
  const notes = runNotes();
  const begun = { ...step(computing(400), {}, notes).state, createdMs: startMs };
  // Past its deadline: the rest is given up, and twenty shards are combined.
  const late = step(begun, { spec: within, parts: [part(0)] }, notes, 61_000).state;
  expect(late).toMatchObject({ keep: true, phase: "computing", open: {} });
  const paused = { ...marker, want: "paused" as const, turn: 1, command: 1 };
  const nodes = Object.keys(late.sealed).map((index) => ({
    level: 1,
    index: Number(index),
    contentType: contentTypeOf(),
  }));
  const after = step(late, { spec: within, marker: paused, nodes }, notes, 62_000).state;
  // All is there that a finish needs; "it counts from when a leader first sees the run, pauses included" (rule *run limits*).
  expect(Object.values(after.sealed).every(({ node }) => node)).toBe(true);
  const end = step(after, { spec: within, marker: paused }, notes, 86_400_000).state;
  expect(end.phase).toBe("finishing");
});
