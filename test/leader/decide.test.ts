import { expect, test } from "vitest";
import { decide } from "../../src/engine/leader/decide/decide.ts";
import { newSendNotes } from "../../src/engine/leader/notes.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, marker, packFailure, parts, runNotes, seen } from "../support/runFixtures.ts";
import { alone, first, observedAt, startMs, step } from "./deciding.ts";

test("a pack listed twice counts once", () => {
  const sent = step(computing(3)).state;
  const once = step(sent, { parts: parts(0, 2) }).state;
  const twice = step(once, { parts: parts(0, 2) }).state;
  expect([twice.packsDone, twice.chunksDone]).toEqual([2, 2]);
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
