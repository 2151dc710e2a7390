import { describe, expect, test } from "vitest";
import { decide } from "../../src/engine/leader/decide/decide.ts";
import { newSendNotes } from "../../src/engine/leader/notes.ts";
import type { State } from "../../src/engine/model/state.ts";
import {
  computing,
  manifest,
  marker,
  packFailure,
  part,
  parts,
  planOf,
  runNotes,
  seen,
} from "../support/runFixtures.ts";
import { allSent, alone, first, observedAt, startMs, step, tasksOf } from "./deciding.ts";

describe("the journey of a run", () => {
  test("a new run is planned: recorded first, sent after the write", () => {
    const draft = step(first());
    expect(draft.state.tasks).toEqual({ plan: { send: 1, sentMs: startMs, losses: 0, awaitedFrom: 1 } });
    expect(tasksOf(draft)).toEqual([{ kind: "plan", send: 1 }]);
    expect(draft.packs).toEqual([]);
    expect(draft.decided).toBe(true);
  });

  test("a plan that is asked for is not asked for again", () => {
    const asked = allSent(step(first()).state);
    const draft = step(asked);
    expect([tasksOf(draft), draft.decided]).toEqual([[], false]);
  });

  test("with its plan a run computes, and the first packs go to the urgent queue", () => {
    const draft = step(step(first()).state, { plan: planOf(20) });
    expect(draft.state.phase).toBe("computing");
    expect(draft.packs.map((one) => one.pack)).toEqual([...Array(20).keys()]);
    expect(draft.packs.filter((one) => one.urgent)).toHaveLength(8);
    expect(draft.state.cursor).toBe(20);
  });

  test("a run of no chunks is finished at once", () => {
    const draft = step(step(first()).state, { plan: planOf(0) });
    expect(draft.state.phase).toBe("finishing");
    expect(tasksOf(draft)).toEqual([{ kind: "finish", send: 1 }]);
  });

  test("a small run is finished from its packs once all are there", () => {
    const sent = step(computing(3)).state;
    expect(step(sent, { parts: parts(0, 2) }).state.phase).toBe("computing");
    const draft = step(sent, { parts: parts(0, 3) });
    expect(draft.state.phase).toBe("finishing");
    expect(draft.state.sealed).toEqual({ 0: { gen: 1, node: false } });
    expect(tasksOf(draft)).toEqual([{ kind: "finish", send: 1 }]);
  });

  test("a larger run combines each sealed shard, and finishes when every node is there", () => {
    let state = { ...computing(400), cap: 2000, rate: 1000 };
    // 400 packs make 20 shards of 20; the window needs a few polls to send them all.
    const notes = runNotes();
    for (let at = 0; state.cursor < 400; at += 1) {
      state = { ...step(state, { parts: parts(0, state.cursor) }, notes, at * 1000).state, rate: 1000 };
    }
    const sealed = step(state, { parts: parts(0, 400) }, notes, 60_000);
    expect(Object.keys(sealed.state.sealed)).toHaveLength(20);
    expect(sealed.state.open).toEqual({});
    const combined = [...Array(20).keys()].map((index) => ({ level: 1, ...part(index, 5) }));
    expect(step(sealed.state, { nodes: combined.slice(1) }).state.phase).toBe("computing");
    const draft = step(sealed.state, { nodes: combined });
    expect(draft.state.phase).toBe("finishing");
    expect(tasksOf(draft)).toEqual([{ kind: "finish", send: 1 }]);
  });

  test("the manifest ends the run as complete", () => {
    const finishing = step(step(computing(1)).state, { parts: parts(0, 1) }).state;
    expect(step(finishing).ending).toBeUndefined();
    expect(step(finishing, { manifest }).ending).toEqual({ phase: "complete" });
  });

  test("a pack listed twice counts once", () => {
    const sent = step(computing(3)).state;
    const once = step(sent, { parts: parts(0, 2) }).state;
    const twice = step(once, { parts: parts(0, 2) }).state;
    expect([twice.packsDone, twice.chunksDone]).toEqual([2, 2]);
  });
});

describe("commands", () => {
  const cancelled = { ...marker, want: "cancelled" as const, command: 1 };

  test("a cancel while computing ends the run", () => {
    const draft = step(step(computing(3)).state, { marker: cancelled });
    expect(draft.ending).toEqual({ phase: "cancelled" });
    expect(draft.state).toMatchObject({ command: 1, answer: "done" });
  });

  test("a cancel after finishing was recorded is too late", () => {
    const finishing = step(step(computing(1)).state, { parts: parts(0, 1) }).state;
    const draft = step(finishing, { marker: cancelled });
    expect(draft.ending).toBeUndefined();
    expect(draft.state).toMatchObject({ phase: "finishing", command: 1, answer: "too-late" });
  });

  test("a pause after finishing was recorded is too late", () => {
    const finishing = step(step(computing(1)).state, { parts: parts(0, 1) }).state;
    const draft = step(finishing, { marker: { ...marker, want: "paused", turn: 1, command: 1 } });
    expect(draft.state).toMatchObject({ phase: "finishing", command: 1, answer: "too-late" });
  });

  test("a lower cap holds back what is sent next", () => {
    const draft = step(computing(100), { marker: { ...marker, cap: 5, command: 1 } });
    expect(draft.packs).toHaveLength(5);
  });

  test("a paused run sends nothing; resumed, every unfinished sent pack is resent under the new turn", () => {
    const sent = step(computing(10)).state;
    const paused = step(sent, {
      marker: { ...marker, want: "paused", turn: 1, command: 1 },
      parts: parts(0, 2),
    });
    expect([paused.packs, tasksOf(paused)]).toEqual([[], []]);
    const resumed = step(paused.state, { marker: { ...marker, turn: 2, command: 2 }, parts: parts(0, 2) });
    expect(resumed.packs.map((one) => one.pack)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    expect(resumed.packs.every((one) => one.send === 2)).toBe(true);
    expect(resumed.state.turn).toBe(2);
  });

  test("a pause and resume between two polls is seen by its turn", () => {
    const sent = step(computing(3)).state;
    const draft = step(sent, { marker: { ...marker, turn: 2, command: 2 } });
    expect(draft.packs.map((one) => one.pack)).toEqual([0, 1, 2]);
  });
});

test("a decision changes nothing of what it is given", () => {
  const frozen = <T>(value: T): T => {
    if (typeof value === "object" && value !== null && !Object.isFrozen(value))
      Object.values(Object.freeze(value)).forEach(frozen);
    return value;
  };
  const sent = step(computing(20)).state;
  const plain = { limitMs: 60_000, observed: observedAt(60_000) };
  for (const [state, found] of [
    [first(), {}],
    [computing(20), {}],
    [sent, { parts: parts(0, 14), failures: [packFailure(15, 1, "error", { code: "time-limit" })] }],
    [sent, { marker: { ...marker, want: "paused", turn: 1, command: 1 } }],
    [{ ...sent, keep: true }, { parts: parts(0, 3) }],
    [step(sent, { parts: parts(0, 20) }).state, {}],
  ] as const) {
    const working = frozen(structuredClone<State>(state));
    const notes = frozen({
      ...runNotes(),
      rateSample: { atMs: 0, gained: 3 },
      seenMs: new Map([["0/16", 1]]),
    });
    const known = { working, notes, sendNotes: frozen(newSendNotes(0)) };
    const before = structuredClone(known);
    const at = { nowMs: startMs + 60_000, localMs: 60_000, share: alone, ...plain };
    const draft = decide(known, frozen(seen(found)), at);
    expect(known).toEqual(before);
    expect(draft.notes).not.toBe(notes);
  }
});
