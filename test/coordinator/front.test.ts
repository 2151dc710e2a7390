import { describe, expect, test } from "vitest";
import { frontOf } from "../../src/coordinator/decide/resend.ts";
import { limits } from "../../src/model/limits.ts";
import type { State } from "../../src/model/state.ts";
import { computing, part, runNotes } from "../support/runFixtures.ts";
import { silentMs, startMs, step } from "./deciding.ts";

/** Two packs of a second are computed at once. */
const known = { rate: 2, durationsMs: Array(10).fill(1_000) };
const hoursMs = 3 * 3_600_000;
const unknown = { rate: 0, durationsMs: [] };

/** A run whose packs were sent together, and of which these have ended since; none is presumed begun. */
function sent({ afterMs = 0, packs = 20, ended = [] as readonly number[] } = {}): State {
  const first = step({ ...computing(packs), batches: [] }, {}, runNotes(), afterMs).state;
  const found = { parts: ended.map((index) => part(index)) };
  return {
    ...step(first, found, runNotes(), afterMs, { front: { atMs: 0, drainMs: Number.POSITIVE_INFINITY } })
      .state,
    ...known,
  };
}
const upTo = (pack: number): number[] => Array.from({ length: pack }, (_, index) => index);
const urgent = upTo(limits.urgentFirstPacks);

const [a, b] = [sent({ ended: urgent }), sent({ afterMs: 5_000, ended: urgent })];

describe("the front of runs that share the workers", () => {
  test("is where the packs end that workers have taken, in the order of their sends over all runs", () => {
    // Two packs of each run at once and 15 % more: the fifth pack of those that wait.
    expect(frontOf([a, b])?.atMs).toBe(startMs);
    expect(frontOf([sent({ ended: upTo(17) }), b])?.atMs).toBe(startMs + 5_000);
  });

  test("passes the packs in the urgent queue first, whenever they were sent", () => {
    expect(frontOf([a, sent({ afterMs: 5_000 })])?.atMs).toBeLessThan(startMs);
    expect(frontOf([a, sent({ afterMs: 5_000, packs: 4 })])?.atMs).toBe(startMs);
  });

  test("is beyond all packs where workers have taken them all", () => {
    const ending = sent({ ended: upTo(18) });
    expect(frontOf([ending, ending])?.atMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("counts packs by the batches in which they were sent, as many of each as have not ended", () => {
    const state = sent({ packs: 40, ended: [...urgent, 10, 20, 21, 30] });
    const batches = [12, 25, 40].map((upTo, second) => ({ upTo, atMs: startMs + second * 1_000 }));
    const rest = { ...sent({ packs: 4 }), ...unknown };
    // Of the other run 4 packs are before the 3, 11 and 14 that are left of this one; workers take 15 % more than the rate says.
    const never = Number.POSITIVE_INFINITY;
    const cases = [
      [3, -limits.hostHidesMs],
      [4, 0],
      [6, 1_000],
      [15, 1_000],
      [16, 2_000],
      [27, 2_000],
      [28, never],
    ] as const;
    for (const [rate, afterMs] of cases)
      expect([rate, frontOf([{ ...state, batches, rate }, rest])?.atMs]).toEqual([rate, startMs + afterMs]);
  });

  test("is not known for a run alone, beside paused ones and ones whose code no instance has, or before the first outcome of any", () => {
    expect(frontOf([a])).toBeUndefined();
    expect(frontOf([a, { ...b, paused: true }])).toBeUndefined();
    const otherCode = { wanted: "sum@2", theirs: ["sum@1"], sinceMs: startMs };
    expect(frontOf([a, { ...b, otherCode }])).toBeUndefined();
    expect(frontOf([a, b, { ...b, otherCode }])).toEqual(frontOf([a, b]));
    expect(frontOf([a, b].map((state) => ({ ...state, ...unknown })))).toBeUndefined();
    expect(frontOf([{ ...a, ...unknown }, b])).toBeDefined();
  });
});

describe("a pack beside other runs", () => {
  /** Which packs are resent in the polls of these seconds, while the front is there. */
  const resent = (state: State, atMs: number | undefined, toS: number, drainMs = hoursMs): number[] => {
    const front = atMs === undefined ? undefined : { atMs, drainMs };
    const notes = runNotes();
    const packs: number[] = [];
    for (let [now, second] = [state, 0]; second <= toS; second += 1) {
      const draft = step(now, {}, notes, second * 1_000, { front });
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

  test("that the front has passed is begun, though the rate of its own run fell when its workers died", () => {
    const alone = { ...state, rate: 0 };
    expect(new Set(resent(alone, Number.POSITIVE_INFINITY, 10)).size).toBe(limits.duplicatesMin);
    expect(resent(alone, startMs, 10)).toEqual([]);
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

  test("is held back by a stream of new runs for no longer than some times that in which all packs in flight end", () => {
    expect(frontOf([a, b])?.drainMs).toBe(24_000 / 4);
    const heldS = (limits.stragglerFirstMs + limits.drainTimesHeld * 6_000) / 1_000;
    expect(resent(state, startMs, heldS, 6_000)).toEqual([]);
    expect(resent(state, startMs, heldS + 60, 6_000)).toContain(limits.urgentFirstPacks);
  });
});
