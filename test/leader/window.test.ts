import { describe, expect, test } from "vitest";
import { layoutOf, type Share } from "../../src/engine/leader/decide/draft.ts";
import { isUrgent, shareOut, updateWindow } from "../../src/engine/leader/decide/fanOut.ts";
import { packMessage } from "../../src/engine/leader/decide/messages.ts";
import { pauseBetween } from "../../src/engine/leader/decide/pace.ts";
import { groupsOf } from "../../src/engine/leader/decide/want.ts";
import { turnKey } from "../../src/engine/leader/seen.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, marker, parts, runNotes } from "../support/runFixtures.ts";
import { alone, observedAt, step } from "./deciding.ts";

const running = (packs: number, rate: number, meanMs: number, change: Partial<State> = {}): State => ({
  ...computing(packs),
  rate,
  durationsMs: rate === 0 ? [] : Array(20).fill(meanMs),
  packsDone: rate === 0 ? 0 : 20,
  ...change,
});

const among = (runs: number, packsAtOnce: number, waitMs?: number): Share => ({ runs, packsAtOnce, waitMs });

test("a run alone shares nothing and has two packs per worker and eight seconds of work", () => {
  const state = running(100_000, 200, 1_000, { inFlight: 700 });
  const share = shareOut([state], 0)(state.run);
  expect(share).toEqual({ ...alone, waitMs: 9_000 });
  const notes = { ...runNotes(), window: 1_000 };
  updateWindow(state, notes, share);
  expect(notes.window).toBe(200 * 10);
});

test("a new leader sends as many packs as a first one, and what the rate asks for where that is more", () => {
  const windowOf = (rate: number) => {
    const notes = runNotes();
    updateWindow(running(100_000, rate, 100), notes, alone);
    return notes.window;
  };
  expect([5, 200].map(windowOf)).toEqual([limits.windowFirst, 1_640]);
});

test("a plan that counts on many workers has two packs for each in flight from the start", () => {
  const windowOf = (workers: number) => {
    const state = running(100_000, 0, 0);
    const notes = runNotes();
    updateWindow({ ...state, layout: { ...layoutOf(state), packMs: 2_000, workers } }, notes, alone);
    return notes.window;
  };
  expect([1, 100, 1_000].map(windowOf)).toEqual([limits.windowFirst, limits.windowFirst, 2_000]);
});

test.each([
  [20, 2, undefined],
  [8, 1, undefined],
  [5, 1, 5],
])(
  "where a thread computes 8 chunks of a pack at the same time, a cap of %d lets %d packs be in flight",
  (cap, packs, atOnceMax) => {
    const state = computing(100);
    const layout = { ...layoutOf(state), chunks: 1_600, packSize: 16, atOnce: 8 };
    const draft = step({ ...state, layout }, { marker: { ...marker, cap } });
    expect([draft.state.inFlight, draft.packs.length]).toEqual([packs, packs]);
    for (const send of draft.packs)
      expect(packMessage(draft.state, send)).toMatchObject({ kind: "compute", atOnceMax });
  },
);

/** What each of these has of the workers, in packs at once. */
function sharesOf(...states: readonly State[]) {
  const named = states.map((state, index) => ({ ...state, run: `run-${index}` }));
  return named.map(({ run }) => shareOut(named, 0)(run).packsAtOnce);
}

test("two runs have half of the workers each, whatever share they had before", () => {
  const big = running(100_000, 180, 1_000);
  const young = running(100_000, 20, 1_000);
  expect(sharesOf(big, young)).toEqual([100, 100]);
});

test("what a run cannot use goes to the others", () => {
  const big = running(100_000, 200, 1_000);
  const capped = running(100_000, 0, 0, { cap: 10 });
  const short = running(30, 0, 0);
  expect(sharesOf(big, capped, short)).toEqual([160, 10, 30]);
});

test("a run that computes nothing takes no share, and has one from its first packs on", () => {
  const big = running(100_000, 200, 1_000);
  expect(sharesOf(big, { ...running(9, 5, 10), phase: "finishing" })).toEqual([undefined, 100]);
  expect(sharesOf(big, { ...running(99, 5, 10), paused: true })).toEqual([undefined, 100]);
  const planned: State = { ...running(99, 0, 0), phase: "planning" };
  expect(sharesOf(big, planned)).toEqual([undefined, 100]);
  // Nothing tells of the workers that this one leaves idle.
  expect(sharesOf({ ...big, cap: 200 }, planned)).toEqual([undefined, undefined]);
});

test("a run whose packs wait for their next attempt has what the others of its window can use", () => {
  const waits = { works: 990, untilMs: 1, lastMs: 1, work: "", code: "", message: "" };
  const waiting = running(100_000, 0, 1_000, { inFlight: 1_000, waits });
  expect(sharesOf(running(100_000, 200, 1_000), waiting)).toEqual([190, 10]);
});

test("a pack waits as long in every run that shares, whatever its own packs take", () => {
  const [long, short] = [25_000, 1_000].map((meanMs) => {
    const notes = { ...runNotes(), window: 100_000 };
    updateWindow(running(100_000, 1, meanMs), notes, among(2, 10, 21_000));
    return notes.window;
  });
  expect([long, short]).toEqual([(10 * (25 + 21)) / 25, 10 * (1 + 21)].map(Math.ceil));
});

test("runs that take turns have work for twice the time of a turn, of which half has passed on average", () => {
  const states = [running(100_000, 100, 1_000), { ...running(100_000, 100, 3_000), run: "other" }];
  const waitMsAt = (polledMs: number) => shareOut(states, 0, polledMs)("other").waitMs;
  expect([0, 2_000, 20_000].map(waitMsAt)).toEqual([10_000, 10_000, 82_000]);
});

test("among others the first window is no more than its share by the planned time, also when a term begins", () => {
  const windowOf = (state: State, share: Share) => {
    const notes = runNotes();
    updateWindow(state, notes, share);
    return notes.window;
  };
  const young = running(100_000, 0, 0);
  const planned = (packMs: number): State => ({ ...young, layout: { ...layoutOf(young), packMs } });
  expect(windowOf(planned(25_000), among(2, 10, 8_100))).toBe(14);
  expect(windowOf(planned(100), among(2, 10, 8_100))).toBe(limits.windowFirst / 2);
  expect(windowOf(running(100_000, 1, 10_000), { ...alone, runs: 2 })).toBe(28);
});

test("many runs have parts of a worker each", () => {
  const shares = sharesOf(...Array.from({ length: 100 }, () => running(1_000, 1, 20)));
  for (const share of shares) expect(share).toBeCloseTo(0.02);
});

test("runs that begin together share the first window, also those that are planned or not read yet", () => {
  const windowOf = (others: readonly State[], unread: number) => {
    const state = { ...running(100_000, 0, 0), run: "one" };
    const notes = runNotes();
    updateWindow(state, notes, shareOut([state, ...others], unread)("one"));
    return notes.window;
  };
  const planned: State = { ...running(1, 0, 0), phase: "planning" };
  const paused = running(100_000, 0, 0, { paused: true });
  expect(windowOf([], 0)).toBe(limits.windowFirst);
  expect(windowOf([planned, paused], 0)).toBe(limits.windowFirst / 2);
  expect(windowOf([planned], 6)).toBe(limits.windowFirst / 8);
  expect(windowOf([], 999)).toBe(limits.windowMin);
});

test("among others it holds at least eight packs, and doubles only while the queues are dry", () => {
  const windowsOf = (meanMs: number, drained: boolean) => {
    const notes = { ...runNotes(), window: 40, drained };
    updateWindow(running(100_000, 0.1, meanMs, { inFlight: 0 }), notes, among(50, 0.001));
    return notes.window;
  };
  expect(windowsOf(1_000, false)).toBe(limits.windowMin);
  expect(windowsOf(1_000, true)).toBe(80);
});

test("the same share of the workers is more packs for the run with the shorter ones, as far as they can be told apart", () => {
  const windows = [0, 0.02, limits.packCallsMs, 100, 1_000].map((meanMs) => {
    const notes = { ...runNotes(), window: 100_000 };
    updateWindow(running(100_000, 1, meanMs), notes, among(2, 10));
    return notes.window;
  });
  expect(windows).toEqual([4_020, 4_020, 4_020, 820, 100]);
  expect(sharesOf(running(1_000, 10, 0), running(1_000, 30, 0.04))).toEqual([0.4, 0.4]);
});

test("behind others a young run has its share of the urgent queue; alone only its first eight packs", () => {
  const state = running(1_000, 0, 0);
  expect(isUrgent(state, 7, alone)).toBe(true);
  expect(isUrgent(state, 8, alone)).toBe(false);
  expect(isUrgent({ ...state, inFlight: 9 }, 9, among(2, 10))).toBe(true);
  expect(isUrgent({ ...state, inFlight: 10 }, 10, among(2, 10))).toBe(false);
  expect(isUrgent({ ...state, inFlight: 0 }, 256, among(2, 10))).toBe(false);
});

const settings = { loopMs: 2_000, fastLoopMs: 100 };
const pause = (state: State) => pauseBetween([{ working: state, notes: runNotes() }], settings, 60_000);

test("in full swing the leader polls seldom, and before the workers run dry where the cap is near", () => {
  expect(pause(running(100_000, 200, 1_000, { inFlight: 1_400 }))).toBe(2_000);
  // 2,000 in flight, 1,000 of them computed at once: a second until the queue is empty.
  expect(pause(running(100_000, 1_000, 1_000, { inFlight: 2_000 }))).toBe(500);
  expect(pause(running(100_000, 1_000, 1_000, { inFlight: 1_100, cap: 1_100 }))).toBe(200);
  expect(pause(running(100_000, 100, 1_000, { inFlight: 100, cap: 100 }))).toBe(500);
  expect(pause(running(100_000, 0.1, 20_000, { inFlight: 2, cap: 2 }))).toBe(500);
});

test("a young run is polled four times a loop while packs are left to send, then in steps of what is left of it", () => {
  const young = (state: State) => pauseBetween([{ working: state, notes: runNotes() }], settings, 5_000);
  const sent = (packsDone: number) =>
    running(100, 5, 400, { inFlight: 100 - packsDone, cursor: 100, packsDone });
  expect(young(running(1_000, 5, 400, { inFlight: 256, packsDone: 20, cursor: 276 }))).toBe(500);
  expect([10, 40, 60, 90].map((packsDone) => young(sent(packsDone)))).toEqual([2_000, 1_500, 1_000, 500]);
  expect(young(sent(96))).toBe(settings.fastLoopMs);
});

test("while one task is awaited, a plan or a finish, the pauses grow with the time that it has taken, until they are the long one", () => {
  const states = (["planning", "finishing"] as const).map((phase) => ({ ...running(100, 0, 0), phase }));
  for (const state of states) {
    const after = (ms: number) => pauseBetween([{ working: state, notes: runNotes() }], settings, ms);
    expect([0, 500, 800, 4_000, 9_000, 10_001].map(after)).toEqual([100, 100, 100, 500, 1_125, 2_000]);
  }
});

test("until the rate is known a young run is polled by the time of its packs, a small one often", () => {
  const learning = (packs: number, durationsMs: number[], notes = {}) => {
    const ended = { packsDone: durationsMs.length, durationsMs, rate: 0 };
    const state = {
      ...running(packs, 0, 1_600, { inFlight: packs - durationsMs.length, cursor: packs }),
      ...ended,
    };
    const layout = { ...layoutOf(state), packMs: 1_600 };
    return pauseBetween(
      [{ working: { ...state, layout }, notes: { ...runNotes(), ...notes } }],
      settings,
      5_000,
    );
  };
  expect(learning(100, [])).toBe(400);
  expect([800, 1_600, 4_000].map((ms) => learning(100, [ms, ms]))).toEqual([200, 400, 1_000]);
  expect(learning(100, [40])).toBe(settings.fastLoopMs);
  expect(learning(10, [1_600, 1_600])).toBe(settings.fastLoopMs);
  expect(learning(100, [1_600, 1_600], { starved: true })).toBe(settings.fastLoopMs);
});

test("at the end of a run the leader polls when the next pack in flight counts as lost, and not more often than four times a loop", () => {
  const ending = running(100, 0.5, 2_000, { inFlight: 2, packsDone: 98, cursor: 100 });
  const pauses = [60_000, 1_300, 20].map((lostInMs) =>
    pauseBetween([{ working: ending, notes: { ...runNotes(), lostInMs } }], settings, 60_000),
  );
  expect(pauses).toEqual([2_000, 1_300, 500]);
});

test("neighbouring shards are listed together where that saves calls and their names are not too many", () => {
  const ahead = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
  expect(groupsOf([7], 32)).toEqual([{ shard: 7, digits: 0 }]);
  expect(groupsOf([7, 8], 32).map(({ digits }) => digits)).toEqual([0, 0]);
  expect(groupsOf(ahead(0, 32), 20)).toEqual([{ shard: 0, digits: 2 }]);
  expect(groupsOf(ahead(95, 112), 100)).toEqual([
    { shard: 90, digits: 1 },
    { shard: 100, digits: 1 },
    { shard: 110, digits: 1 },
  ]);
  expect(groupsOf([998, 999, 1000], 1000).map(({ digits }) => digits)).toEqual([0, 0, 0]);
});

describe("the window", () => {
  test("starts at 256, is never more than the cap, and grows at most twofold a poll", () => {
    expect(step(computing(1000)).packs).toHaveLength(256);
    expect(step(computing(1000), { marker: { ...marker, cap: 10 } }).packs).toHaveLength(10);
    const notes = runNotes();
    const sent = step(computing(2000), {}, notes).state;
    const fast = { ...sent, rate: 10_000 };
    const draft = step(fast, { parts: parts(0, 256, 10) }, notes, 0);
    expect(draft.packs).toHaveLength(500);
    expect(notes.window).toBe(512);
  });

  test("doubles where the workers took more than half of it since the last poll, whatever the rate says", () => {
    const notes = runNotes();
    const sent = step(computing(2000), {}, notes).state;
    step({ ...sent, rate: 1 }, { parts: parts(0, 100) }, notes, 0);
    expect([notes.window, notes.starved]).toEqual([230, false]);
    notes.window = 256;
    step({ ...sent, rate: 1 }, { parts: parts(0, 128) }, notes, 0);
    expect([notes.window, notes.starved]).toEqual([512, true]);
  });

  test("doubles while the queues are drained, whatever the rate says, and to the cap at most", () => {
    const cap = { marker: { ...marker, cap: 700 } };
    const notes = runNotes();
    let { state } = step(computing(2000), cap, notes);
    const poll = (afterMs: number, waits?: number) => {
      const packs = waits === undefined ? {} : { firstPack: new Map([[turnKey(state), waits]]) };
      const observed = observedAt(afterMs, { packs });
      const draft = step({ ...state, rate: 1 }, cap, notes, afterMs, { observed });
      state = draft.state;
      return [draft.packs.length, notes.starved];
    };
    expect(poll(1_000, 255)).toEqual([0, false]);
    expect(poll(2_000)).toEqual([256, true]);
    expect(poll(3_000, 300)).toEqual([0, false]);
    expect(poll(4_000)).toEqual([700 - 512, true]);
    expect(poll(5_000)).toEqual([0, false]);
  });

  test("never falls under eight", () => {
    const notes = runNotes();
    const sent = step(computing(1000), {}, notes).state;
    const slow = { ...sent, rate: 0.001, durationsMs: Array(10).fill(1000) };
    for (let poll = 0; poll < 50; poll += 1) step(slow, { parts: parts(0, 64) }, notes, 0);
    expect(notes.window).toBe(8);
  });
});
