import { describe, expect, test } from "vitest";
import type { Draft } from "../../src/engine/leader/decide/draft.ts";
import { pollCallsOf } from "../../src/engine/leader/decide/pollCalls.ts";
import { stuckAfterMs } from "../../src/engine/leader/inFlight/judge.ts";
import { judgeInFlight } from "../../src/engine/leader/inFlight/resend.ts";
import type { Lists, RunNotes } from "../../src/engine/leader/notes.ts";
import { type SeenHeartbeat, turnKey } from "../../src/engine/leader/seen.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { Work } from "../../src/engine/model/runBlobs.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, marker, packFailure, parts, runNotes, seen } from "../support/runFixtures.ts";
import {
  draftOf,
  heartbeatOf,
  limitMs,
  listedAt,
  observedAt,
  startMs,
  step,
  type Told,
  waitingFor,
} from "./deciding.ts";

const packWork = (pack: number): Work => ({ kind: "pack", shard: 0, pack });
const work = packWork(14);
const others = [15, 16, 17, 18, 19].map(packWork);

/** Twenty packs sent at the start, of which the first `done` have ended, after so many ms each. */
function sent(notes: RunNotes, { done = 14, ms = 100 } = {}): State {
  const first = step(computing(20), {}, notes).state;
  return step(first, { parts: parts(0, done, ms) }, notes, 500).state;
}

/** Decides once; the packs after 14 wait in the queue. */
const judge = (state: State, afterMs: number, told: Told, notes = runNotes()): Draft =>
  step(state, {}, notes, afterMs, {
    observed: observedAt(afterMs, {
      packs: waitingFor(...others, ...(told.packs?.waiting === undefined ? [] : [work])),
      urgent: told.urgent ?? {},
      heartbeats: told.heartbeats ?? [],
    }),
  });

/** When pack 14 is resent while nobody tells of it, polled every 100 ms from `fromMs` on. */
function resends(state: State, notes: RunNotes, { fromMs = 1_000, toMs = 60_000, every = 100 } = {}) {
  const times: number[] = [];
  let now = state;
  for (let afterMs = fromMs; afterMs <= toMs; afterMs += every) {
    const draft = judge(now, afterMs, {}, notes);
    if (draft.packs.length > 0) times.push(afterMs);
    now = draft.state;
  }
  return times;
}

const resend = { pack: 14, send: 2, urgent: true, repeat: true };
const heartbeat = (more: Partial<SeenHeartbeat> = {}) => heartbeatOf(work, more);
const dead = (more: Partial<SeenHeartbeat> = {}) => heartbeat({ live: false, silentMs: 6_100, ...more });

describe("a pack in flight", () => {
  const nothing: Draft["packs"] = [];
  const row = waitingFor(work);
  test.each<[string, Told, readonly object[]]>([
    ["waits in the queue and is not resent", { packs: row }, nothing],
    ["waits in the urgent queue and is not resent", { urgent: row }, nothing],
    ["is computed under a live heartbeat and is not resent", { heartbeats: [heartbeat()] }, nothing],
    [
      "is held under a live heartbeat and is not resent",
      { heartbeats: [heartbeat({ begun: false })] },
      nothing,
    ],
    [
      "has a live heartbeat beside a stale one and is not resent",
      { heartbeats: [dead(), heartbeat()] },
      nothing,
    ],
    [
      "was begun under a heartbeat that is stale: resent isolated",
      { heartbeats: [dead()] },
      [{ ...resend, isolated: true }],
    ],
    [
      "was begun by a process that its supervisor saw end: resent isolated",
      { heartbeats: [dead({ silentMs: 10, ended: "SIGKILL" })] },
      [{ ...resend, isolated: true }],
    ],
    [
      "was only held under a heartbeat that is stale: resent beside other work",
      { heartbeats: [dead({ begun: false })] },
      [{ ...resend, isolated: false }],
    ],
    ["has a stale heartbeat but waits in the queue", { heartbeats: [dead()], packs: row }, nothing],
    ["has a stale heartbeat of another generation", { heartbeats: [dead({ generation: 2 })] }, nothing],
    ["has a stale heartbeat of another uid", { heartbeats: [dead({ uid: "x" })] }, nothing],
    ["was taken a moment ago", {}, nothing],
  ])("%s", (_what, told, expected) => {
    const { packs, records } = judge(sent(runNotes()), 1_000, told);
    expect(packs).toEqual(expected);
    expect(records).toEqual([]);
  });

  test.each<[string, (ageMs: number) => Told]>([
    ["waits in the queue", () => ({ packs: waitingFor(work) })],
    ["waits in a process that lives", (ageMs) => ({ heartbeats: [heartbeat({ begun: false, ageMs })] })],
    ["is computed by a process that lives", (ageMs) => ({ heartbeats: [heartbeat({ ageMs })] })],
  ])("is never resent while it %s", (_what, told) => {
    const notes = runNotes();
    let state = sent(notes);
    for (let afterMs = 1_000; afterMs <= 900_000; afterMs += 10_000) {
      const draft = judge(state, afterMs, told(afterMs), notes);
      expect([draft.packs, draft.records]).toEqual([[], []]);
      state = draft.state;
    }
    expect(state.resends).toBe(0);
  });

  test("whose process died is resent although packs before it wait: messages are not taken in order", () => {
    const state = sent(runNotes());
    const firstPack = new Map([[turnKey(state), 14]]);
    const { packs } = step(state, {}, runNotes(), 1_000, {
      observed: observedAt(1_000, {
        packs: { ...waitingFor(work, ...others.slice(1)), firstPack },
        urgent: {},
        heartbeats: [heartbeatOf(others[0] as Work, { live: false, silentMs: 6_100 })],
      }),
    });
    expect(packs).toEqual([{ ...resend, pack: 15, isolated: true }]);
  });

  test("whose process died is resent once, though the stale heartbeat stays for minutes", () => {
    const notes = runNotes();
    let state = sent(notes);
    const sends: object[] = [];
    for (let afterMs = 1_000; afterMs <= 600_000; afterMs += 1_000) {
      const told = afterMs === 1_000 ? {} : { heartbeats: [heartbeat({ send: 2, isolated: true })] };
      const draft = judge(state, afterMs, { heartbeats: [dead(), ...(told.heartbeats ?? [])] }, notes);
      sends.push(...draft.packs);
      state = draft.state;
    }
    expect(sends).toEqual([{ ...resend, isolated: true }]);
    expect(state.resent[14]).toMatchObject({ send: 2, awaitedFrom: 2, losses: 0, isolated: true });
    expect(state.resends).toBe(1);
  });

  test("that a live heartbeat has told of for longer than any attempt takes counts as one without a heartbeat", () => {
    const notes = runNotes();
    const stuckMs = stuckAfterMs({ limitMs });
    const held = (ageMs: number) => ({ heartbeats: [heartbeat({ ageMs: ageMs - 1_000, silentMs: 1_000 })] });
    let { state } = judge(sent(notes), 1_000, held(stuckMs), notes);
    for (const [afterMs, resent] of [
      [3_000, 0],
      [3_001, 1],
    ] as const) {
      const draft = judge(state, afterMs, held(stuckMs + 1), notes);
      expect(draft.packs).toHaveLength(resent);
      state = draft.state;
    }
  });
});

describe("a pack that was taken and that nobody has", () => {
  test.each([
    ["2 s at least", 100, 2_000],
    ["thrice the p95", 1_500, 4_500],
    ["10 s at most", 60_000, 10_000],
  ])("is resent after %s", (_what, ms, lostMs) => {
    const notes = runNotes();
    const { state } = judge(sent(notes, { ms }), 1_000, {}, notes);
    const early = judge(state, 1_000 + lostMs, {}, notes);
    expect(early.packs).toEqual([]);
    const { packs, state: next } = judge(early.state, 1_001 + lostMs, {}, notes);
    expect(packs).toEqual([{ ...resend, isolated: false }]);
    expect(next.resent[14]).toMatchObject({ send: 2, awaitedFrom: 2, losses: 1 });
  });

  test("is resent after 4 s where no pack has ended", () => {
    const notes = runNotes();
    const first = step(computing(20), {}, notes).state;
    const observed = (afterMs: number) => ({ observed: observedAt(afterMs) });
    const { state } = step(first, {}, notes, 1_000, observed(1_000));
    expect(step(state, {}, notes, 5_000, observed(5_000)).packs).toEqual([]);
    expect(step(state, {}, notes, 5_001, observed(5_001)).packs).toHaveLength(20);
  });

  test("waits twice as long after each loss, up to 64 times", () => {
    const notes = runNotes();
    const times = resends(sent(notes), notes, { toMs: 700_000 });
    const gaps = times.map((atMs, index) => atMs - (times[index - 1] ?? 1_000));
    // The first poll after a resend notes that it was taken, and the one after the time is over resends it.
    const doubled = [2, 4, 8, 16, 32, 64, 128, 128, 128].map((seconds) => seconds * 1_000);
    expect(gaps).toEqual(doubled.map((ms, index) => ms + (index === 0 ? 100 : 200)));
  });

  test("counts from when it was last seen, not from when it was taken", () => {
    const notes = runNotes();
    let { state } = judge(sent(notes), 1_000, {}, notes);
    ({ state } = judge(state, 2_900, { heartbeats: [heartbeat()] }, notes));
    expect(resends(state, notes, { fromMs: 3_000, toMs: 10_000 })[0]).toBe(5_000);
  });

  test("is predicted, so that the leader polls when it counts as lost", () => {
    const notes = runNotes();
    const { state } = judge(sent(notes), 1_000, {}, notes);
    judge(state, 2_300, {}, notes);
    expect(notes.lostInMs).toBe(700);
    judge(state, 2_300, { packs: waitingFor(work) }, notes);
    expect(notes.lostInMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("is not resent before failures were listed once more, which may tell how it ended", () => {
    const notes = runNotes();
    const { state } = judge(sent(notes), 1_000, {}, notes);
    const told = (afterMs: number) => ({
      observed: observedAt(afterMs, { packs: waitingFor(...others) }),
    });
    const lists = listedAt(3_000);
    const draft = step(state, { lists }, notes, 3_050, told(3_050));
    expect([draft.packs, notes.listFailures]).toEqual([[], true]);
    const known = { working: draft.state, notes, lists };
    expect(pollCallsOf(known, { localMs: 3_060 }).failures).toBe(true);
    const failures = [packFailure(14, 1, "error", { code: "time-limit" })];
    const ended = step(draft.state, { failures }, notes, 3_060, told(3_060));
    expect(ended.state.resent[14]).toMatchObject({ send: 2, awaitedFrom: 2, losses: 0 });
    expect(step(draft.state, {}, notes, 3_060, told(3_060)).state.resent[14]).toMatchObject({ losses: 1 });
  });

  test("is not resent in a loop that observes nothing, nor where its shard was not listed in this poll", () => {
    const notes = runNotes();
    const { state } = judge(sent(notes), 1_000, {}, notes);
    expect(step(state, {}, notes, 9_000).packs).toEqual([]);
    const observed = observedAt(9_000, { packs: waitingFor(...others) });
    const unlisted = step(state, { shards: new Set([1]) }, notes, 9_000, { observed });
    expect(unlisted.packs).toEqual([]);
    expect(judge(state, 9_001, {}, notes).packs).toHaveLength(1);
  });

  test("is known to a new leader by the state alone", () => {
    const { state } = judge(sent(runNotes()), 1_000, {});
    expect(judge(state, 3_001, {}, runNotes()).packs).toHaveLength(1);
  });
});

test("a pack whose heartbeat is stale is not resent before failures were listed after that heartbeat, which may tell how it ended", () => {
  const notes = runNotes();
  const state = sent(notes);
  const observed = observedAt(5_000, { heartbeats: [dead()], packs: waitingFor(...others) });
  const decide = (lists: Lists) => step(state, { lists }, notes, 5_000, { observed });
  const early = decide(listedAt(5_000 - limits.lostMsMin));
  expect([early.packs, notes.listFailures]).toEqual([[], true]);
  const listed = decide(listedAt(5_001 - limits.lostMsMin));
  expect([listed.packs, notes.listFailures]).toEqual([[{ ...resend, isolated: true }], false]);
});

describe("the last loss of a pack", () => {
  const nine = { send: 12, sentMs: startMs, awaitedFrom: 12, losses: limits.lostMax - 1 };
  const lost = {
    ...{ work, send: 12, code: "lost", final: true },
    message: "lost 10 times before any process said that it began",
  };

  test("is recorded and ends it, as the next list of failures tells", () => {
    const notes = runNotes();
    const state = { ...sent(notes), resent: { 14: { ...nine, takenMs: startMs } } };
    const draft = judge(state, 200_000, {}, notes);
    expect([draft.packs, draft.records, notes.listFailures]).toEqual([[], [lost], true]);
    const failures = [
      packFailure(14, 12, "unreported", { code: "lost", message: lost.message, final: true }),
    ];
    const { ending } = step(draft.state, { failures }, notes, 201_000);
    expect(ending?.error?.message).toBe("chunk 14: lost 10 times before any process said that it began");
  });

  test("may be that of a process that only held it, and is none where it had begun", () => {
    const state = { ...sent(runNotes()), resent: { 14: nine } };
    const held = judge(state, 1_000, { heartbeats: [dead({ send: 12, begun: false })] });
    expect([held.packs, held.records]).toEqual([[], [lost]]);
    const begun = judge(state, 1_000, { heartbeats: [dead({ send: 12 })] });
    expect([begun.packs, begun.records]).toEqual([[{ ...resend, send: 13, isolated: true }], []]);
    expect(begun.state.resent[14]).toMatchObject({ losses: 9 });
  });
});

describe("a pack whose process died while the pack was isolated in it", () => {
  const isolated = { send: 2, sentMs: startMs, awaitedFrom: 2, losses: 0, isolated: true };
  const stateOf = (notes: RunNotes) => ({ ...sent(notes), resent: { 14: isolated } });
  const died = (silentMs: number, more: Partial<SeenHeartbeat> = {}) => ({
    heartbeats: [dead({ send: 2, isolated: true, silentMs, ...more })],
  });

  test.each<[string, Told, string | undefined]>([
    [
      "is waited for until its heartbeat is silent for more than 15 s",
      died(limits.isolatedDeathMs),
      undefined,
    ],
    ["is then recorded", died(15_001), "no heartbeat for 15 s"],
    ["is recorded at once where the supervisor saw the end", died(100, { ended: "SIGKILL" }), "SIGKILL"],
  ])("%s, and not resent by that decision", (_what, told, how) => {
    const notes = runNotes();
    const { packs, records } = judge(stateOf(notes), 20_000, told, notes);
    const message = `the process of node-1 ended while it computed nothing else: ${how}`;
    const record = { work, send: 2, code: "process-ended", message, final: undefined };
    expect([packs, records]).toEqual([[], how === undefined ? [] : [record]]);
    expect(notes.listFailures).toBe(how !== undefined);
  });

  test("is resent at once where it had not begun", () => {
    const { packs, records } = judge(stateOf(runNotes()), 20_000, died(6_100, { begun: false }));
    expect([packs, records]).toEqual([[{ ...resend, send: 3, isolated: true }], []]);
  });

  test("is replaced, isolated, once the record is listed; the third such record fails it", () => {
    const notes = runNotes();
    let state: State = stateOf(notes);
    const failures: ReturnType<typeof packFailure>[] = [];
    for (const send of [2, 3, 4]) {
      const afterMs = send * 20_000;
      const draft = judge(state, afterMs, died(16_000, { send }), notes);
      expect(draft.records).toMatchObject([{ send, code: "process-ended" }]);
      failures.push(
        ...draft.records.map(({ code, message }) => packFailure(14, send, "unreported", { code, message })),
      );
      const next = step(draft.state, { failures }, notes, afterMs + 500);
      if (send < 4) {
        expect(next.packs).toEqual([{ ...resend, send: send + 1, isolated: true }]);
        state = next.state;
      } else expect(next.ending?.error?.message).toBe("chunk 14: ended its process 3 times, isolated");
    }
  });
});

describe("the last pack of a run", () => {
  const slow = (ageMs: number, more: Partial<SeenHeartbeat> = {}) =>
    heartbeat({ ageMs, silentMs: 1_000, ...more });
  const last = (done: number, told: SeenHeartbeat, state = sent(runNotes(), { done })) =>
    step(state, {}, runNotes(), 30_000, {
      observed: observedAt(30_000, { heartbeats: [told], packs: waitingFor(...others.slice(0, -1)) }),
    });
  const slowest = heartbeatOf(packWork(19), { ageMs: 2_001 });

  test("is doubled once where it is slow though its process lives, and both sends are waited for", () => {
    const { packs, state } = last(19, slowest);
    expect(packs).toEqual([{ ...resend, pack: 19, isolated: false }]);
    expect(state.resent[19]).toMatchObject({ send: 2, awaitedFrom: 1, losses: 0 });
    expect(last(19, slowest, state).packs).toEqual([]);
  });

  test.each<[string, number, SeenHeartbeat]>([
    ["has not been computed for thrice the p95", 19, { ...slowest, ageMs: 2_000 }],
    ["was last told of too long ago", 19, { ...slowest, fresh: false }],
    ["waits for a thread", 19, { ...slowest, begun: false }],
    ["is one of two", 18, slow(60_000)],
  ])("is not doubled where it %s", (_what, done, told) => {
    expect(last(done, { ...told, work: packWork(19) }).packs).toEqual([]);
  });

  test("is not doubled where it is isolated in its process", () => {
    const resent = { 19: { send: 2, sentMs: startMs, awaitedFrom: 2, losses: 0, isolated: true } };
    const state = { ...sent(runNotes(), { done: 19 }), resent };
    expect(last(19, { ...slowest, send: 2, isolated: true }, state).packs).toEqual([]);
  });

  test("is not doubled while packs are left to send", () => {
    const state = { ...sent(runNotes(), { done: 19 }), cursor: 19, cap: 1 };
    expect(last(19, slowest, state).packs.filter(({ send }) => send > 1)).toEqual([]);
  });
});

describe("no pack is judged", () => {
  const told = { heartbeats: [dead()] };

  test("where nothing was observed, however late it is, and nothing counts as taken", () => {
    const notes = runNotes();
    const draft = step(sent(notes), {}, notes, 3_600_000);
    expect([draft.packs, draft.records, draft.state.taken]).toEqual([[], [], []]);
    expect(notes.lostInMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("of a paused run, nor of one that only keeps what is done", () => {
    for (const change of [{ paused: true }, { keep: true }]) {
      const state = { ...sent(runNotes()), ...change };
      const draft = draftOf(state);
      judgeInFlight({ ...draft, at: { ...draft.at, observed: observedAt(0, told) } }, seen());
      expect([draft.packs, draft.records]).toEqual([[], []]);
    }
  });

  test("by heartbeats and messages of another turn: after a resume packs count from their new sends", () => {
    const notes = runNotes();
    const paused = { ...marker, want: "paused", turn: 1, command: 1 } as const;
    const before = judge(sent(notes), 1_000, {}, notes).state;
    const rested = step(before, { marker: paused }, notes, 2_000).state;
    const resumed = { marker: { ...marker, turn: 2, command: 2 } };
    const first = step(rested, { ...resumed, parts: parts(0, 14) }, notes, 5_000);
    expect(first.packs.map(({ pack, send }) => [pack, send])).toContainEqual([14, 2]);
    expect(first.state.taken).toEqual([]);
    const observed = observedAt(6_200, { heartbeats: [dead()], packs: waitingFor(...others) });
    const draft = step(first.state, resumed, notes, 6_200, { observed });
    expect([draft.packs, draft.records]).toEqual([[], []]);
  });
});
