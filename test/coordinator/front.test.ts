import { describe, expect, test } from "vitest";
import { frontOf } from "../../src/coordinator/decide/resend.ts";
import { limits } from "../../src/model/limits.ts";
import type { State } from "../../src/model/state.ts";
import { computing, part, runNotes } from "../support/runFixtures.ts";
import { silentMs, startMs, step } from "./deciding.ts";

/** Two packs of a second are computed at once. */
const known = { rate: 2, durationsMs: Array(10).fill(1_000) };
const unknown = { rate: 0, durationsMs: [] };

/** A run whose packs were sent together, and of which these have ended since; none is presumed begun. */
function sent({ afterMs = 0, packs = 20, ended = [] as readonly number[] } = {}): State {
  const first = step({ ...computing(packs), batches: [] }, {}, runNotes(), afterMs).state;
  const found = { parts: ended.map((index) => part(index)) };
  return { ...step(first, found, runNotes(), afterMs, { frontMs: 0 }).state, ...known };
}
const upTo = (pack: number): number[] => Array.from({ length: pack }, (_, index) => index);
const urgent = upTo(limits.urgentFirstPacks);

describe("the front of runs that share the workers", () => {
  const [a, b] = [sent({ ended: urgent }), sent({ afterMs: 5_000, ended: urgent })];

  test("is where the packs end that workers have taken, in the order of their sends over all runs", () => {
    // Two packs of each run at once and 15 % more: the fifth pack of those that wait.
    expect(frontOf([a, b])).toBe(startMs);
    expect(frontOf([sent({ ended: upTo(17) }), b])).toBe(startMs + 5_000);
  });

  test("passes the packs in the urgent queue first, whenever they were sent", () => {
    expect(frontOf([a, sent({ afterMs: 5_000 })])).toBeLessThan(startMs);
    expect(frontOf([a, sent({ afterMs: 5_000, packs: 4 })])).toBe(startMs);
  });

  test("is beyond all packs where workers have taken them all", () => {
    const ending = sent({ ended: upTo(18) });
    expect(frontOf([ending, ending])).toBe(Number.POSITIVE_INFINITY);
  });

  test("is not known for a run alone, beside paused ones, or before the first outcome of any", () => {
    expect(frontOf([a])).toBeUndefined();
    expect(frontOf([a, { ...b, paused: true }])).toBeUndefined();
    expect(frontOf([a, b].map((state) => ({ ...state, ...unknown })))).toBeUndefined();
    expect(frontOf([{ ...a, ...unknown }, b])).toBeDefined();
  });
});

describe("a pack beside other runs", () => {
  /** Which packs are resent in the polls of these seconds, while the front is there. */
  const resent = (state: State, frontMs: number | undefined, toS: number): number[] => {
    const notes = runNotes();
    const packs: number[] = [];
    for (let [now, second] = [state, 0]; second <= toS; second += 1) {
      const draft = step(now, {}, notes, second * 1_000, { frontMs });
      packs.push(...draft.packs.filter(({ send }) => send > 1).map(({ pack }) => pack));
      now = draft.state;
    }
    return packs;
  };
  const state = sent({ ended: urgent });

  test("is no straggler while packs of the others that were sent before wait too", () => {
    expect(resent(state, undefined, 60)).toContain(limits.urgentFirstPacks);
    expect(resent(state, startMs, 60)).toEqual([]);
    expect(resent(state, startMs + 1, 60)).toContain(limits.urgentFirstPacks);
  });

  test("of which no other has an outcome yet counts from when the front has passed it, and not from its send", () => {
    expect(resent({ ...state, ...unknown }, undefined, 60)).not.toEqual([]);
    expect(resent({ ...state, ...unknown }, startMs, 60)).toEqual([]);
    expect(resent({ ...state, ...unknown }, startMs + 1, 60)).not.toEqual([]);
  });

  test("is begun all the same once more of the later ones have ended than come out of order", () => {
    const without = (ended: number) => sent({ ended: upTo(9 + ended).filter((pack) => pack !== 8) });
    expect(resent(without(limits.outOfOrderPacks), startMs, 60)).toEqual([]);
    expect(resent(without(limits.outOfOrderPacks + 1), startMs, 60)).toContain(8);
  });

  test("is held back by them for no longer than their messages can be hidden", () => {
    expect(resent(state, startMs, silentMs / 1_000)).toEqual([]);
    expect(resent(state, startMs, silentMs / 1_000 + 60)).toContain(limits.urgentFirstPacks);
  });
});
