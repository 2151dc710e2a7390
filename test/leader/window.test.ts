import { describe, expect, test } from "vitest";
import { layoutOf, type Share } from "../../src/engine/leader/decide/draft.ts";
import { isUrgent, updateWindow } from "../../src/engine/leader/decide/fanOut.ts";
import { packMessage } from "../../src/engine/leader/decide/messages.ts";
import { pauseBetween } from "../../src/engine/leader/decide/pace.ts";
import { groupsOf } from "../../src/engine/leader/decide/pollCalls.ts";
import { shareOut } from "../../src/engine/leader/decide/shares.ts";
import type { RunNotes } from "../../src/engine/leader/notes.ts";
import { turnKey } from "../../src/engine/leader/seen.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { Priority } from "../../src/engine/model/priority.ts";
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

const among = (runs: number, packsAtOnce: number, waitMs = 8_000): Share => ({
  ...{ ...alone, runs, beside: true },
  ...{ packsAtOnce, waitMs },
});

const shared = (states: readonly State[], unread = 0, polledMs = 0, told?: ReadonlyMap<string, number>) =>
  shareOut(
    states.map((working) => ({ working, spec: {} })),
    { unread, polledMs, told },
  );
const judgeWindow = (state: State, notes: RunNotes, share: Share, localMs = 0) =>
  updateWindow(state, notes, share, localMs);

test("a run alone shares nothing and has two packs per worker and eight seconds of work", () => {
  const state = running(100_000, 200, 1_000, { inFlight: 700 });
  const share = shared([state])(state.run);
  expect(share).toEqual({ ...alone, waitMs: 9_000 });
  const notes = { ...runNotes(), window: 1_000 };
  judgeWindow(state, notes, share);
  expect(notes.window).toBe(200 * 10);
});

test("a new leader sends as many packs as a first one, and what the rate asks for where that is more", () => {
  const windowOf = (rate: number) => {
    const notes = runNotes();
    judgeWindow(running(100_000, rate, 100), notes, alone);
    return notes.window;
  };
  expect([5, 200].map(windowOf)).toEqual([limits.windowFirst, 1_640]);
});

test("a plan that counts on many workers has two packs for each in flight from the start", () => {
  const windowOf = (workers: number) => {
    const state = running(100_000, 0, 0);
    const notes = runNotes();
    judgeWindow({ ...state, layout: { ...layoutOf(state), packMs: 2_000, workers } }, notes, alone);
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
  return named.map(({ run }) => shared(named)(run).packsAtOnce);
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
    judgeWindow(running(100_000, 1, meanMs), notes, among(2, 10, 21_000));
    return notes.window;
  });
  expect([long, short]).toEqual([(10 * (25 + 21)) / 25, 10 * (1 + 21)].map(Math.ceil));
});

test("runs that take turns have work for twice the time of a turn, of which half has passed on average", () => {
  const states = [running(100_000, 100, 1_000), { ...running(100_000, 100, 3_000), run: "other" }];
  const waitMsAt = (polledMs: number) => shared(states, 0, polledMs)("other").waitMs;
  expect([0, 2_000, 20_000].map(waitMsAt)).toEqual([10_000, 10_000, 82_000]);
});

test("among others the first window is no more than its share by the planned time, also when a term begins", () => {
  const windowOf = (state: State, share: Share) => {
    const notes = runNotes();
    judgeWindow(state, notes, share);
    return notes.window;
  };
  const young = running(100_000, 0, 0);
  const planned = (packMs: number): State => ({ ...young, layout: { ...layoutOf(young), packMs } });
  expect(windowOf(planned(1_000), among(2, 2, 8_100))).toBe(2 + Math.ceil(2 * 8.1));
  expect(windowOf(planned(100), among(2, 100, 8_100))).toBe(limits.windowFirst / 2);
  expect(windowOf(running(100_000, 1, 1_000), { ...alone, runs: 2 })).toBe(10);
});

test("many runs have parts of a worker each", () => {
  const shares = sharesOf(...Array.from({ length: 100 }, () => running(1_000, 1, 20)));
  for (const share of shares) expect(share).toBeCloseTo(0.02);
});

test("runs that begin together share the first window, also those that are planned or not read yet", () => {
  const windowOf = (others: readonly State[], unread: number) => {
    const state = { ...running(100_000, 0, 0), run: "one" };
    const notes = runNotes();
    judgeWindow(state, notes, shared([state, ...others], unread)("one"));
    return notes.window;
  };
  const planned: State = { ...running(1, 0, 0), phase: "planning" };
  const paused = running(100_000, 0, 0, { paused: true });
  expect(windowOf([], 0)).toBe(limits.windowFirst);
  expect(windowOf([], 6)).toBe(Math.ceil(limits.windowFirst / 7));
  expect(windowOf([], 999)).toBe(limits.windowMin);
  // Until the workers tell how many there are, no more than a minute of work for one.
  const besideMs = limits.windowFirstBesideMs / layoutOf(planned).packMs;
  expect(windowOf([planned, paused], 0)).toBe(besideMs / 2);
  expect(windowOf([planned], 6)).toBe(Math.ceil(besideMs / 8));
});

test("runs that share have eight packs together beyond what is computed, and double only while the queues are dry", () => {
  const windowsOf = (meanMs: number, drained: boolean) => {
    const notes = { ...runNotes(), window: 40, drained };
    judgeWindow(running(100_000, 0.1, meanMs, { inFlight: 0 }), notes, among(4, 0.5, 1));
    return notes.window;
  };
  expect(windowsOf(1_000, false)).toBe(Math.ceil(0.5 + 8 / 4));
  expect(windowsOf(1_000, true)).toBe(80);
});

test("the same share of the workers is more packs for the run with the shorter ones, as far as they can be told apart", () => {
  const windows = [0, 0.02, limits.packCallsMs, 100, 1_000].map((meanMs) => {
    const notes = { ...runNotes(), window: 100_000 };
    judgeWindow(running(100_000, 1, meanMs), notes, among(2, 10));
    return notes.window;
  });
  expect(windows).toEqual([4_010, 4_010, 4_010, 810, 90]);
  expect(sharesOf(running(1_000, 10, 0), running(1_000, 30, 0.04))).toEqual([0.4, 0.4]);
});

test("alone the first eight packs are urgent, of long ones fewer; beside others as many as its share, and all where it overtakes", () => {
  const state = running(1_000, 0, 0);
  const long = { ...state, layout: { ...layoutOf(state), packMs: 60_000 } };
  const urgent = (one: State, share: Share, packs = 20) =>
    Array.from({ length: packs }, (_, pack) => isUrgent({ ...one, inFlight: pack }, pack, share)).filter(
      Boolean,
    ).length;
  expect([urgent(state, alone), urgent(long, alone)]).toEqual([8, 1]);
  expect(urgent(state, { ...alone, runs: 4 })).toBe(2);
  expect(urgent(state, among(2, 10))).toBe(10);
  expect(urgent(state, { ...among(2, 3), overtakes: true })).toBe(20);
  expect(urgent(state, among(2, 1_000), 999)).toBe(limits.overtakingMax);
});

describe("while more is queued than shares allow", () => {
  const planned = (run: string, packMs: number, change: Partial<State> = {}): State => {
    const state = running(1_000, 0, 0, change);
    return { ...state, run, uid: run, layout: { ...layoutOf(state), packMs } };
  };
  const hogs = planned("hogs", 4_000, { inFlight: 256 });
  const told = new Map([["hogs", 16]]);

  test("a run that came later overtakes, from when workers tell how many packs they compute", () => {
    const later = planned("later", 4_000);
    const shareOf = shared([hogs, later], 0, 0, told);
    expect(shareOf("later")).toMatchObject({ packsAtOnce: 8, overtakes: true });
    const fair = { ...hogs, inFlight: 30 };
    expect(shared([fair, later], 0, 0, told)("later")).toMatchObject({ packsAtOnce: 8, overtakes: false });
  });

  test("one that is planned has its share in the loop in which it begins", () => {
    const coming: State = { ...planned("coming", 4_000), phase: "planning" };
    expect(shared([hogs, coming], 0, 0, told)("coming")).toMatchObject({ packsAtOnce: 8, overtakes: true });
  });

  test("each run that has sent something counts for one worker while nothing tells of them", () => {
    const shareOf = shared([hogs, planned("later", 4_000)]);
    expect(shareOf("later")).toMatchObject({ packsAtOnce: 0.5, overtakes: true });
  });

  test("a run overtakes whose share computes all of it sooner than the queue is passed", () => {
    const fair = { ...hogs, inFlight: 30 };
    const small = { ...planned("small", 100), layout: { ...layoutOf(hogs), chunks: 10, packMs: 100 } };
    expect(shared([fair, small], 0, 0, told)("small").overtakes).toBe(true);
  });

  test("it sends what its share computes as time goes by, and at most half as much waits", () => {
    let state = planned("later", 4_000);
    const notes = runNotes();
    const share: Share = { ...among(2, 4, 12_000), overtakes: true };
    const sendsAt = (localMs: number, ended = 0): number => {
      state = { ...state, inFlight: state.inFlight - ended };
      judgeWindow(state, notes, share, localMs);
      notes.polledMs = localMs;
      const sends = Math.max(0, notes.window - state.inFlight);
      notes.credit = (notes.credit ?? 0) - sends;
      state = { ...state, inFlight: state.inFlight + sends };
      return sends;
    };
    expect(sendsAt(0)).toBe(4);
    expect([1_000, 2_000, 3_000, 4_000].map((at) => sendsAt(at))).toEqual([1, 1, 1, 1]);
    // Four are computed, and the others wait for a worker.
    expect([5_000, 6_000].map((at) => sendsAt(at))).toEqual([0, 0]);
    expect(sendsAt(7_000, 4)).toBe(3);
    // Once it queues again, it begins anew.
    judgeWindow(state, notes, { ...share, overtakes: false }, 8_000);
    expect(notes.credit).toBeUndefined();
  });

  test("what overtakes is judged as a message of its own, since the queue does not show it", () => {
    const share: Share = { ...among(2, 2, 12_000), overtakes: true };
    const { state, packs } = step(planned("later", 4_000), {}, runNotes(), 0, { share });
    expect(packs.map(({ urgent, repeat }) => [urgent, repeat])).toEqual([
      [true, false],
      [true, false],
    ]);
    expect(Object.keys(state.resent)).toEqual(["0", "1"]);
  });

  test("a new leader sends nothing of long packs before it has read the other runs", () => {
    const windowOf = (packMs: number) => {
      const notes = runNotes();
      judgeWindow(planned("later", packMs, { inFlight: 2 }), notes, { ...alone, runs: 2 });
      return notes.window;
    };
    expect([4_000, 100].map(windowOf)).toEqual([2, limits.windowFirst / 2]);
  });
});

test("runs have the workers by their priorities", () => {
  const asked: readonly (Priority | undefined)[] = ["high", undefined, "low"];
  const runs = asked.map((priority, index) => ({
    working: { ...running(100_000, 7, 1_000), run: `run-${index}` },
    spec: { priority },
  }));
  expect(runs.map(({ working }) => shareOut(runs)(working.run).packsAtOnce)).toEqual([16, 4, 1]);
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
