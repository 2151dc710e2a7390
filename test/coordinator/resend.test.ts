import { describe, expect, test } from "vitest";
import type { Draft, RunNotes } from "../../src/coordinator/decide/draft.ts";
import { outOfOrderMs, stragglerAfterMs } from "../../src/coordinator/decide/pace.ts";
import { poll } from "../../src/coordinator/poll/poll.ts";
import { type Seen, wantedOf } from "../../src/coordinator/poll/seen.ts";
import type { Leader } from "../../src/coordinator/term.ts";
import { limits } from "../../src/model/limits.ts";
import { namesOf } from "../../src/model/names.ts";
import type { State } from "../../src/model/state.ts";
import type { Storage } from "../../src/storage/ports.ts";
import { computing, marker, packFailure, parts, runNotes, spec } from "../support/runFixtures.ts";
import { decideOn, limitMs, silentMs, startMs, step } from "./deciding.ts";

/** Twelve packs of 100 ms, of which all but the last are done after a second: that one is presumed begun from then on. */
function lastOfTwelve(notes: RunNotes): State {
  const sent = step(computing(12), {}, notes).state;
  return step(sent, { parts: parts(0, 11, 100) }, notes, 1_000).state;
}
const lateAfterMs = 1_000 + stragglerAfterMs(lastOfTwelve(runNotes()), limitMs);
const silenceMs = silentMs + outOfOrderMs(lastOfTwelve(runNotes()));
const at = (afterMs: number) => ({ nowMs: startMs + afterMs, localMs: afterMs, limitMs });

/** The sends of each of these polls. */
function sendsOver(
  state: State,
  notes: RunNotes,
  times: readonly number[],
  found: (afterMs: number) => Partial<Seen> = () => ({}),
): [Draft["packs"][number], number][] {
  const sends: [Draft["packs"][number], number][] = [];
  let now = state;
  for (const afterMs of times) {
    const draft = step(now, found(afterMs), notes, afterMs);
    for (const one of draft.packs) sends.push([one, afterMs]);
    now = draft.state;
  }
  return sends;
}
const seconds = (from: number, to: number, by = 1) =>
  Array.from({ length: Math.floor((to - from) / by) }, (_, index) => (from + index * by) * 1_000);

describe("a straggler", () => {
  const repeat = { pack: 11, urgent: true, repeat: true, alone: false };
  const begun = { work: { kind: "pack", shard: 0, pack: 11 }, generation: 1 } as const;

  test("whose resend is at work is resent once, urgently and as a repeat, however long that takes", () => {
    const notes = runNotes();
    const sends = sendsOver(lastOfTwelve(notes), notes, seconds(1, 600), (afterMs) =>
      afterMs < 5_000 ? {} : { alive: [{ ...begun, atMs: startMs + afterMs - 29_000 }] },
    );
    expect(sends).toEqual([[{ ...repeat, send: 2 }, 4_000]]);
  });

  test("whose resend began and gives no sign of life for half a minute is resent once more, alone, and then only after the silence of that send", () => {
    const notes = runNotes();
    const sends = sendsOver(lastOfTwelve(notes), notes, seconds(1, 1_100), (afterMs) =>
      afterMs < 5_000 ? {} : { alive: [{ ...begun, atMs: startMs + 5_000 }] },
    );
    expect(sends).toEqual([
      [{ ...repeat, send: 2 }, 4_000],
      [{ ...repeat, send: 3, alone: true }, 36_000],
      [{ ...repeat, send: 4, alone: true }, 37_000 + silentMs],
    ]);
  });

  test("whose resend ended with a word, so that its note is gone, is not taken for dead", () => {
    const notes = runNotes();
    const sends = sendsOver(lastOfTwelve(notes), notes, seconds(1, 600), (afterMs) =>
      afterMs < 5_000 || afterMs > 9_000 ? {} : { alive: [{ ...begun, atMs: startMs + 5_000 }] },
    );
    expect(sends).toEqual([[{ ...repeat, send: 2 }, 4_000]]);
  });

  test("has the latest sign of all its attempts", () => {
    const notes = runNotes();
    const signs = [25_000, 5_000].map((afterMs) => ({ ...begun, atMs: startMs + afterMs }));
    const sends = sendsOver(lastOfTwelve(notes), notes, seconds(1, 50), () => ({ alive: signs }));
    expect(sends.map(([, afterMs]) => afterMs)).toEqual([4_000]);
  });

  test("is resent twice more while no attempt of a resend is known to have begun, as if each had gone to a dead instance", () => {
    const notes = runNotes();
    const sends = sendsOver(lastOfTwelve(notes), notes, seconds(1, 600));
    expect(sends).toEqual([
      [{ ...repeat, send: 2 }, 4_000],
      [{ ...repeat, send: 3 }, 7_000],
      [{ ...repeat, send: 4 }, 10_000],
    ]);
  });

  test("that was resent because its attempt met the time limit is resent at most twice more: four processes at the most begin it", () => {
    const notes = runNotes();
    const failures = [packFailure(11, 1, "error", { code: "time-limit" })];
    const sends = sendsOver(lastOfTwelve(notes), notes, seconds(2, 600), () => ({ failures }));
    expect(sends.map(([{ send }]) => send)).toEqual([2, 3, 4]);
  });

  test("is waited for along with its resend, while a silent send is not waited for any more", () => {
    const notes = runNotes();
    const late = step(lastOfTwelve(notes), {}, notes, lateAfterMs + 1).state;
    expect(late.again[11]).toMatchObject({ sends: 2, late: 1, since: 1 });
    const silent = step(late, {}, notes, lateAfterMs + 2 + silenceMs).state;
    expect(silent.again[11]).toMatchObject({ sends: 3, late: 1, since: 3 });
  });

  test("is predicted, so that the leader polls when it becomes one", () => {
    const notes = runNotes();
    step(lastOfTwelve(notes), {}, notes, lateAfterMs - 700);
    expect(notes.stragglerInMs).toBe(700);
    step(lastOfTwelve(notes), {}, notes, lateAfterMs + 1);
    expect(notes.stragglerInMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("needs no time of messages that passed it once every sent pack is presumed begun", () => {
    const notes = runNotes();
    const marks = [0, 1_000_000].map((atMs) => ({ atMs, ended: 0, computeMs: atMs }));
    const three = step({ ...computing(3), durationsMs: Array(10).fill(10_000), rate: 0.1 }, {}, notes).state;
    const sent = { ...three, progress: { ...three.progress, marks } };
    const begun = (upTo: number, afterMs: number) => ({ upTo, atMs: startMs + afterMs });
    const allowanceMs = outOfOrderMs(sent);
    expect(allowanceMs).toBeGreaterThan(10_000);
    const first = (more: Partial<State>, afterMs: number) =>
      step({ ...sent, rate: 0, ...more }, {}, notes, afterMs).packs.some(({ pack }) => pack === 0);
    expect(first({ begun: [begun(1, 0)] }, 30_000 + allowanceMs)).toBe(false);
    expect(first({ begun: [begun(1, 0)] }, 30_001 + allowanceMs)).toBe(true);
    expect(first({ begun: [begun(1, 0), begun(3, 5_000)] }, 35_000)).toBe(false);
    expect(first({ begun: [begun(1, 0), begun(3, 5_000)] }, 35_001)).toBe(true);
  });

  test("is known to a new leader by the state alone, as soon as it has listed the failures", () => {
    const state = lastOfTwelve(runNotes());
    const notes = runNotes();
    expect(decideOn(state, {}, notes, lateAfterMs + 1).packs).toEqual([]);
    expect(wantedOf(state, notes, at(lateAfterMs + 1)).failures).toBe(true);
    expect(step(state, {}, notes, lateAfterMs + 2).packs).toMatchObject([{ pack: 11, send: 2 }]);
  });

  test("whose attempt threw is tried by workers and is not resent before the silence", () => {
    const notes = runNotes();
    const tried = [packFailure(11, 1, "error", { attempts: 1 })];
    const state = step(lastOfTwelve(notes), { tried }, notes, 2_000).state;
    expect(sendsOver(state, notes, seconds(4, 900, 10))).toEqual([]);
    expect(step(state, {}, notes, 1_001 + silenceMs).packs).toHaveLength(1);
  });

  test("is not resent before failures were listed once more", () => {
    const notes = runNotes();
    const state = lastOfTwelve(notes);
    // Its worker may have written a note since this poll.
    notes.failuresMs = lateAfterMs - 100;
    notes.failuresAtMs = startMs + lateAfterMs - 100;
    expect(wantedOf(state, notes, at(lateAfterMs - 10)).failures).toBe(false);
    expect(decideOn(state, {}, notes, lateAfterMs + 50).packs).toEqual([]);
    expect(wantedOf(state, notes, at(lateAfterMs + 50)).failures).toBe(true);
    expect(step(state, {}, notes, lateAfterMs + 60).packs).toEqual([
      expect.objectContaining({ pack: 11, send: 2 }),
    ]);
  });

  test("of many is one of at most eight at a time in a small run", () => {
    const notes = runNotes();
    let state = step(computing(100), {}, notes).state;
    state = step(state, { parts: parts(0, 60, 100) }, notes, 1_000).state;
    state = { ...state, begun: [{ upTo: 100, atMs: startMs }] };
    expect(step(state, {}, notes, 10_000).packs).toHaveLength(limits.duplicatesMin);
  });
});

test("a list of failures that storage did not answer does not count", async () => {
  const notes = runNotes();
  const { state } = step(computing(12), {}, notes);
  notes.failuresMs = Number.NEGATIVE_INFINITY;
  notes.failuresAtMs = Number.NEGATIVE_INFINITY;
  const storage = { blobs: { list: () => Promise.reject(new Error("busy")) } } as unknown as Storage;
  const leader = { lost: new AbortController().signal } as Leader;
  const run = { term: { storage, names: namesOf("x"), leader }, spec, working: state, marker, notes };
  const time = { nowMs: 0, localMs: 5_000, limitMs };
  await expect(poll(run, time, { pages: { left: 9 }, pagesMax: 5 })).rejects.toThrow("busy");
  expect([notes.failuresMs, notes.failuresAtMs]).toEqual([
    Number.NEGATIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ]);
});

describe("packs that only wait in the queue", () => {
  /** A hundred packs in flight of 60 s each, of which two are computed at once. */
  const slow = (notes: RunNotes): State => ({
    ...step(computing(200), {}, notes).state,
    ...{ rate: 2 / 60, durationsMs: Array(10).fill(60_000), cursor: 100, packsDone: 0 },
  });

  test("are no stragglers, however long they wait", () => {
    const notes = runNotes();
    let state = slow(notes);
    for (let afterMs = 0; afterMs <= 900_000; afterMs += 5_000) {
      const draft = step(state, {}, notes, afterMs);
      for (const { pack } of draft.packs.filter((one) => one.send > 1)) expect(pack).toBeLessThan(2);
      state = { ...draft.state, rate: 2 / 60 };
    }
    expect(state.begun).toEqual([{ upTo: 2, atMs: startMs }]);
  });

  test("are not silent either, but for those that are presumed begun", () => {
    const notes = runNotes();
    const begun = step(slow(notes), {}, notes).state;
    const later = step({ ...begun, rate: 0.001 }, {}, notes, silentMs + 1);
    expect(later.packs.filter((one) => one.send > 1).map(({ pack }) => pack)).toEqual([0, 1]);
  });

  test("stay begun when the rate falls because workers died", () => {
    const notes = runNotes();
    const begun = step({ ...slow(notes), rate: 20 / 60 }, {}, notes).state;
    expect(begun.begun).toEqual([{ upTo: 23, atMs: startMs }]);
    expect(step({ ...begun, rate: 0.001 }, {}, notes, 5_000).state.begun).toEqual(begun.begun);
  });

  test("all count as begun long ago where the queues hold fewer messages than packs are in flight", () => {
    const capped = { ...marker, cap: 100 };
    const [enough, fewer, young] = [
      { queued: 100, afterMs: silentMs + 1 },
      { queued: 99, afterMs: silentMs + 1 },
      { queued: 99, afterMs: 1_000 },
    ].map(({ queued, afterMs }) => {
      const state = { ...slow(runNotes()), cap: 100, begun: [{ upTo: 2, atMs: startMs + afterMs }] };
      return step(state, { queued, marker: capped }, runNotes(), afterMs);
    });
    expect(enough?.packs).toEqual([]);
    // The two that were begun a moment ago have their own time, and what was just sent has its own too.
    expect(fewer?.packs.map(({ pack, send }) => [pack, send])).toEqual(
      Array.from({ length: 98 }, (_, index) => [2 + index, 2]),
    );
    expect(fewer?.state.again[2]).toMatchObject({ sends: 2, late: 0, since: 2 });
    expect(young?.packs).toEqual([]);
  });
});

describe("the count of the queues", () => {
  const idle = () => step(computing(12), {}, runNotes()).state;
  const silence = silentMs + 1;

  test("is asked for only after such a time without any outcome, and once a minute", () => {
    const notes = runNotes();
    const state = idle();
    expect(wantedOf(state, notes, at(silentMs)).queued).toBe(false);
    expect(wantedOf(state, notes, at(silence)).queued).toBe(true);
    notes.countedMs = silence;
    expect(wantedOf(state, notes, at(silence + limits.queuesEveryMs - 1)).queued).toBe(false);
    expect(wantedOf(state, notes, at(silence + limits.queuesEveryMs)).queued).toBe(true);
  });

  test("is not asked for where something ended meanwhile, or the run is paused or has nothing in flight", () => {
    const notes = runNotes();
    const ended = step(idle(), { parts: parts(0, 1) }, notes, 5_000).state;
    expect(wantedOf(ended, notes, at(silence)).queued).toBe(false);
    expect(wantedOf({ ...idle(), paused: true }, notes, at(silence)).queued).toBe(false);
    expect(wantedOf({ ...idle(), inFlight: 0 }, notes, at(silence)).queued).toBe(false);
  });
});

test.each([
  ["thrice the p95", 60_000, 20, 180_000],
  ["at least two seconds", 100, 20, 2_000],
  ["longer on few threads, where messages out of order take their time", 60_000, 2, 180_000 + 120_000],
])("a begun pack is a straggler after %s", (_what, ms, atOnce, lateMs) => {
  const marks = [
    { atMs: 0, ended: 0, computeMs: 0 },
    { atMs: 1_000_000, ended: 100, computeMs: atOnce * 1_000_000 },
  ];
  const progress = { generation: 1, turn: 0, marks };
  const state = { ...computing(500), durationsMs: Array(100).fill(ms), rate: 0, progress };
  expect(stragglerAfterMs(state, limitMs) + outOfOrderMs(state)).toBe(lateMs);
});

test("before the first outcome packs are late after thrice their planned time and half a minute, from their send", () => {
  const notes = runNotes();
  const state = step(computing(12), {}, notes).state;
  const lateMs = 3 * 500 + limits.stragglerFirstMs;
  expect(step(state, {}, notes, lateMs).packs).toEqual([]);
  expect(step(state, {}, notes, lateMs + 1).packs).toHaveLength(limits.duplicatesMin);
});

test("whatever the counts, silence longer than the host can hide a message is answered by a resend", () => {
  const resent = { sends: 4, atMs: startMs, late: 3, since: 1 };
  const again = { 0: resent, 1: resent };
  const state = { ...step(computing(2)).state, again };
  expect(step(state, {}, runNotes(), silentMs).packs.map(({ pack }) => pack)).toEqual([]);
  expect(step(state, {}, runNotes(), silentMs + 1).packs.map(({ pack }) => pack)).toEqual([0, 1]);
});
