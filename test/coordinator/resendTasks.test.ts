import { describe, expect, test } from "vitest";
import { limits } from "../../src/model/limits.ts";
import type { State } from "../../src/model/state.ts";
import { computing, failure, parts, runNotes } from "../support/runFixtures.ts";
import { allSent, decideOn, silentMs, startMs, step, tasksOf } from "./deciding.ts";

const finishing = (more: Partial<State> = {}): State => ({
  ...allSent(step(step(computing(1)).state, { parts: parts(0, 1) }).state),
  ...more,
});
const alive = (afterMs: number) => [
  { work: { kind: "finish" } as const, generation: 1, atMs: startMs + afterMs },
];

describe("a task that nothing is heard of", () => {
  test.each<[string, Partial<State>, number]>([
    ["half a minute where tasks of its kind are short", {}, limits.taskStragglerMsMin],
    ["thrice the longest of its kind", { taskMsMax: { finish: 25_000 } }, 75_000],
  ])(
    "is recorded and resent after %s, and after as long once more, alone, where that attempt began and died",
    (_what, more, lateMs) => {
      const notes = runNotes();
      expect(tasksOf(step(finishing(more), {}, notes, lateMs))).toEqual([]);
      const draft = step(finishing(more), {}, notes, lateMs + 1);
      expect(tasksOf(draft)).toEqual([{ kind: "finish", send: 2 }]);
      expect(draft.decided).toBe(true);
      expect(draft.state.tasks["finish"]).toMatchObject({ late: 1, since: 1 });
      const begun = { alive: alive(lateMs + 2) };
      const next = allSent(step(allSent(draft.state), begun, notes, lateMs + 2).state);
      expect(tasksOf(step(next, {}, notes, 2 * lateMs + 2))).toEqual([]);
      const died = step(next, begun, notes, 2 * lateMs + 3).state;
      expect(died.tasks["finish"]).toMatchObject({ sends: 3, late: 2, since: 1, alone: true });
      for (let afterMs = 2 * lateMs; afterMs < silentMs; afterMs += 10_000)
        expect(tasksOf(step(allSent(died), begun, notes, afterMs))).toEqual([]);
      const silent = step(allSent(died), {}, notes, 2 * lateMs + 4 + silentMs);
      expect(silent.state.tasks["finish"]).toMatchObject({ sends: 4, late: 2, since: 4 });
    },
  );

  test("is resent beside other work at first, because a plan that is alone times none of its chunks", () => {
    const notes = runNotes();
    const begun = { alive: alive(12_000) };
    const first = step(allSent(step(finishing(), begun, notes, 12_500).state), begun, notes, 42_001).state;
    expect(first.tasks["finish"]).toMatchObject({ sends: 2, late: 1 });
    expect(first.tasks["finish"]?.alone).toBeUndefined();
    const second = step(allSent(first), begun, notes, 72_002).state;
    expect(second.tasks["finish"]).toMatchObject({ sends: 3, late: 2, alone: true });
  });

  test("is not taken for dead where its attempt ended with a word, so that its note is gone", () => {
    const notes = runNotes();
    let state = finishing();
    const sends: number[] = [];
    for (let afterMs = 0; afterMs < silentMs; afterMs += 1_000) {
      const listed = afterMs < 40_000 || afterMs > 45_000 ? [] : alive(40_000);
      const draft = step(state, { alive: listed }, notes, afterMs);
      sends.push(...tasksOf(draft).map(({ send }) => send));
      state = allSent(draft.state);
    }
    expect(sends).toEqual([2]);
  });

  test("is resent once where that attempt is at work", () => {
    const notes = runNotes();
    let state = finishing();
    const sends: number[] = [];
    for (let afterMs = 0; afterMs < silentMs; afterMs += 1_000) {
      const signs = afterMs < 40_000 ? [] : alive(afterMs - 29_000);
      const draft = step(state, { alive: signs }, notes, afterMs);
      sends.push(...tasksOf(draft).map(({ send }) => send));
      state = allSent(draft.state);
    }
    expect(sends).toEqual([2]);
  });

  test("is resent twice more while no attempt is known to have begun", () => {
    const notes = runNotes();
    let state = finishing();
    const sends: number[] = [];
    for (let afterMs = 0; afterMs < silentMs; afterMs += 1_000) {
      const draft = step(state, {}, notes, afterMs);
      sends.push(...tasksOf(draft).map(({ send }) => send));
      state = allSent(draft.state);
    }
    expect(sends).toEqual([2, 3, 4]);
  });

  test("after one attempt met the time limit is resent at most twice more: four processes at the most begin it", () => {
    const notes = runNotes();
    const failures = [failure({ kind: "finish" }, 1, "error", 1, { code: "time-limit" })];
    let state = finishing();
    const sends: number[] = [];
    for (let afterMs = 0; afterMs < silentMs; afterMs += 1_000) {
      const draft = step(state, { failures }, notes, afterMs);
      sends.push(...tasksOf(draft).map(({ send }) => send));
      state = allSent(draft.state);
    }
    expect(sends).toEqual([2, 3, 4]);
  });

  test("has the time until a thread is free while packs are computed", () => {
    const more = {
      phase: "computing" as const,
      inFlight: 3,
      cursor: 400,
      durationsMs: Array(20).fill(60_000),
    };
    const tasks = { "node/1/00000": { sends: 1, atMs: startMs, late: 0, since: 1, sent: true } };
    const open = { 1: { done: "" } };
    const sealed = { 0: { gen: 1, node: false } };
    const state: State = { ...computing(400), ...more, tasks, open, sealed };
    const notes = runNotes();
    const combines = (afterMs: number) => tasksOf(step(state, {}, notes, afterMs)).length;
    expect(combines(limits.taskStragglerMsMin + 60_000)).toBe(0);
    expect(combines(limits.taskStragglerMsMin + 60_001)).toBe(1);
  });

  test("counts from its last sign of life", () => {
    const notes = runNotes();
    const state = step(finishing(), { alive: alive(600_000) }, notes, 601_000).state;
    expect(tasksOf(step(state, {}, notes, 600_000 + limits.taskStragglerMsMin))).toEqual([]);
    expect(tasksOf(step(state, {}, notes, 600_001 + limits.taskStragglerMsMin))).toHaveLength(1);
  });

  test("and is at work in a new term is not resent by a leader that has not listed the signs", () => {
    const notes = runNotes();
    expect(tasksOf(decideOn(finishing(), {}, notes, 100_000))).toEqual([]);
    expect(notes.wantsFailures).toBe(true);
    expect(tasksOf(step(finishing(), { alive: alive(95_000) }, notes, 100_000))).toEqual([]);
  });

  test("gives no sign of life by a note of another generation", () => {
    const notes = alive(30_000).map((one) => ({ ...one, generation: 2 }));
    expect(tasksOf(step(finishing(), { alive: notes }, runNotes(), 31_000))).toHaveLength(1);
  });

  test("because its attempts throw is tried by workers and is not resent before the silence", () => {
    const notes = runNotes();
    const tried = [failure({ kind: "finish" }, 1, "error", 1, { attempts: 2 })];
    const { state } = step(finishing(), { tried }, notes, 5_000);
    expect(tasksOf(step(state, {}, notes, silentMs))).toEqual([]);
    expect(tasksOf(step(state, {}, notes, silentMs + 1))).toHaveLength(1);
  });
});
