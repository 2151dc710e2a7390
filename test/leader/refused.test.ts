import { describe, expect, it, test } from "vitest";
import type { Draft } from "../../src/engine/leader/decide/draft.ts";
import { trackRefused } from "../../src/engine/leader/decide/refused.ts";
import { newRunNotes, type RunNotes } from "../../src/engine/leader/notes.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { firstState, type State } from "../../src/engine/model/state.ts";
import { computing, part } from "../support/runFixtures.ts";
import { draftOf, heartbeatOf, observedAt, startMs, step } from "./deciding.ts";

const first = firstState({ run: "r", uid: "u", generation: 1, cap: 10, nowMs: 0 });
const planning: State = { ...first, code: "sum@1" };
const note = (atMs: number, theirs: string | undefined = "sum@2", generation = 1) => ({
  ...{ generation, needed: "sum@1", theirs, atMs },
});
const limitMs = 60_000;

/** Decides on what instances with other code have said. */
function track(state: State, notes: RunNotes, nowMs: number, otherCode?: ReturnType<typeof note>[]): Draft {
  const draft = draftOf(state, notes, nowMs, limitMs);
  trackRefused(draft, otherCode === undefined ? {} : { otherCode });
  Object.assign(notes, draft.notes);
  return draft;
}

/** Each poll's notes are of that moment. */
function polls(state: State, timesMs: readonly number[]): Draft {
  const notes = newRunNotes(0);
  let draft: Draft | undefined;
  for (const nowMs of timesMs) draft = track(draft?.state ?? state, notes, nowMs, [note(nowMs)]);
  if (draft === undefined) throw new Error("no poll");
  return draft;
}

describe("a run whose work is enqueued again by instances with other code", () => {
  it("says at once what it waits for", () => {
    const { state, noted, ending } = polls(planning, [1_000]);
    expect(state.otherCode).toEqual({ needed: "sum@1", theirs: ["sum@2"], sinceMs: 1_000 });
    expect({ noted, ending }).toEqual({ noted: true, ending: undefined });
  });

  it("fails with what to do when nothing has ended for the limit, also under a new leader", () => {
    const endMs = 1_000 + limits.identityWaitMs + limitMs;
    expect(polls(planning, [1_000, endMs]).ending).toBeUndefined();
    const waiting = polls(planning, [1_000]).state;
    expect(polls(waiting, [endMs + 1]).ending).toMatchObject({
      phase: "failed",
      error: {
        code: "other-code",
        message: expect.stringMatching(/^no instance has sum 1; they have sum 2.*another run/),
      },
    });
  });

  it("takes it back with any outcome, with a heartbeat, while it is paused, and when the notes end", () => {
    const waiting = polls(planning, [1_000]).state;
    const seenThen = (change: Partial<State>, atMs = 2_000, computedMs?: number) => {
      const notes = newRunNotes(0);
      track(waiting, notes, 1_500);
      if (computedMs !== undefined) notes.computedMs = computedMs;
      return track({ ...waiting, ...change }, notes, atMs, [note(2_000)]).state.otherCode;
    };
    expect(seenThen({})).toBeDefined();
    expect(seenThen({ paused: true })).toBeUndefined();
    expect(seenThen({}, 2_000, 1_900)).toBeUndefined();
    expect(seenThen({}, 2_001 + limits.identityNoteTrustMs)).toBeUndefined();
    const layout = { chunks: 4, packSize: 1, shardSize: 4, fanIn: 2, packMs: 1_000 };
    expect(seenThen({ phase: "computing", layout })).toBeUndefined();
  });

  it("is not said for notes from before an outcome: since then the right code was there", () => {
    const layout = { chunks: 40, packSize: 1, shardSize: 40, fanIn: 2, packMs: 1_000 };
    const computing: State = { ...planning, phase: "computing", layout };
    const notes = newRunNotes(0);
    track(computing, notes, 1_000, [note(1_000)]);
    const onward = { ...computing, packsDone: 1 };
    const endedMs = 1_001 + limits.identityNoteBeforeMs;
    expect(track(onward, notes, endedMs, [note(1_000)]).state.otherCode).toBeUndefined();
    const saidAt = (noteMs: number) =>
      track(onward, notes, endedMs + 20_000, [note(noteMs)]).state.otherCode !== undefined;
    expect(saidAt(1_000)).toBe(false);
    // The last instances with the right code end their work while others come with another one.
    expect(saidAt(1_001)).toBe(true);
  });

  it("is not said for notes of a generation before", () => {
    expect(polls({ ...planning, generation: 2 }, [1_000]).state.otherCode).toBeUndefined();
  });
});

test("a run of which a live process had work within 15 s does not wait for its code", () => {
  const state: State = { ...computing(10), code: "sum@1", cursor: 10, open: { 0: { done: "" } } };
  const waitsFor = (live: boolean, afterMs: number) => {
    const notes = newRunNotes(0);
    const heartbeats = [heartbeatOf({ kind: "pack", shard: 0, pack: 0 }, { live })];
    const told = step(state, {}, notes, 20_000, { observed: observedAt(20_000, { heartbeats }) }).state;
    return step(told, { otherCode: [note(startMs + afterMs)] }, notes, afterMs).state.otherCode?.needed;
  };
  expect(waitsFor(true, 34_999)).toBeUndefined();
  expect(waitsFor(true, 35_000)).toBe("sum@1");
  expect(waitsFor(false, 23_000)).toBe("sum@1");
});

test.each([
  ["does not fail it where something has ended since", [part(0)], undefined],
  ["fails it where nothing has ended since", [], "other-code"],
])("a new leader of a run that waited for its code long enough %s", (_, parts, code) => {
  const otherCode = { needed: "sum@1", theirs: ["sum@2"], sinceMs: startMs - 3_600_000 };
  const state: State = { ...computing(10), code: "sum@1", otherCode, cursor: 10, open: { 0: { done: "" } } };
  const shards = new Set([0]);
  const draft = step(state, { parts, shards, otherCode: [note(startMs)] });
  expect(draft.ending?.error?.code).toBe(code);
});
