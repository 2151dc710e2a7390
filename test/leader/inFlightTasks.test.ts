import { describe, expect, test } from "vitest";
import { newSendNotes, taskKey } from "../../src/engine/leader/notes.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { type Work, workName } from "../../src/engine/model/runBlobs.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, failure, marker, parts, runNotes } from "../support/runFixtures.ts";
import {
  allSent,
  heartbeatOf,
  listedAt,
  observedAt,
  startMs,
  step,
  type Told,
  tasksOf,
  waitingFor,
} from "./deciding.ts";

const finish: Work = { kind: "finish" };
const finishing = (more: Partial<State> = {}): State => ({
  ...allSent(step(step(computing(1)).state, { parts: parts(0, 1) }).state),
  ...more,
});
const judge = (state: State, afterMs: number, told: Told = {}, notes = runNotes()) =>
  step(state, {}, notes, afterMs, { observed: observedAt(afterMs, told) });
const dead = heartbeatOf(finish, { live: false, silentMs: 6_100 });

describe("a task in flight", () => {
  test.each<[string, (afterMs: number) => Told]>([
    ["waits in the urgent queue", () => ({ urgent: waitingFor(finish) })],
    [
      "waits in a process that lives",
      (ageMs) => ({ heartbeats: [heartbeatOf(finish, { begun: false, ageMs })] }),
    ],
    ["is done by a process that lives", (ageMs) => ({ heartbeats: [heartbeatOf(finish, { ageMs })] })],
  ])("is never resent while it %s, however slow it is", (_what, told) => {
    const notes = runNotes();
    let state = finishing({ taskMsMax: { finish: 100 } });
    for (let afterMs = 1_000; afterMs <= 900_000; afterMs += 10_000) {
      const draft = judge(state, afterMs, told(afterMs), notes);
      expect([tasksOf(draft), draft.records]).toEqual([[], []]);
      state = draft.state;
    }
  });

  test.each<[string, Partial<State>, number]>([
    ["4 s where none of its kind has ended", {}, 4_000],
    ["2 s at least", { taskMsMax: { finish: 100, combine: 60_000 } }, 2_000],
    ["thrice the longest of its kind", { taskMsMax: { finish: 2_500 } }, 7_500],
    ["10 s at most", { taskMsMax: { finish: 25_000 } }, 10_000],
  ])("that nobody has is recorded as resent after %s", (_what, more, lostMs) => {
    const notes = runNotes();
    const { state } = judge(finishing(more), 1_000, {}, notes);
    const early = judge(state, 1_000 + lostMs, {}, notes);
    expect(tasksOf(early)).toEqual([]);
    const draft = judge(early.state, 1_001 + lostMs, {}, notes);
    expect([tasksOf(draft), draft.decided]).toEqual([[{ kind: "finish", send: 2 }], true]);
    expect(draft.state.tasks["finish"]).toEqual({
      ...{ send: 2, awaitedFrom: 2, losses: 1, sentMs: startMs + 1_001 + lostMs },
    });
    expect(draft.state.resends).toBe(1);
  });

  test("that is in neither of two full queues of later messages was taken, and in one of earlier ones it may wait", () => {
    const afterMs = 20_000;
    const full = (oldestMs: number) => ({ urgent: { full: true, oldestMs: startMs + oldestMs } });
    const taken = (oldestMs: number | undefined) =>
      judge(finishing(), afterMs, oldestMs === undefined ? { urgent: { full: true } } : full(oldestMs)).state
        .tasks["finish"]?.takenMs;
    expect(taken(limits.sendMs + 1)).toBe(startMs + afterMs);
    expect(taken(limits.sendMs)).toBeUndefined();
    expect(taken(undefined)).toBeUndefined();
  });

  test("is taken no more once its message is shown after all", () => {
    const notes = runNotes();
    const { state } = judge(finishing(), 1_000, {}, notes);
    const shown = judge(state, 2_000, { urgent: waitingFor(finish) }, notes).state;
    expect(shown.tasks["finish"]?.takenMs).toBeUndefined();
    const again = judge(shown, 3_000, {}, notes).state;
    expect(tasksOf(judge(again, 7_000, {}, notes))).toEqual([]);
    expect(tasksOf(judge(again, 7_001, {}, notes))).toHaveLength(1);
  });

  test("is resent at once, isolated, where it was begun under a heartbeat that is stale", () => {
    const draft = judge(finishing(), 1_000, { heartbeats: [dead] });
    expect(tasksOf(draft)).toEqual([{ kind: "finish", send: 2 }]);
    expect(draft.state.tasks["finish"]).toMatchObject({ send: 2, awaitedFrom: 2, losses: 0, isolated: true });
    // The heartbeat stays, and tells only of the send before.
    expect(tasksOf(judge(allSent(draft.state), 2_000, { heartbeats: [dead] }))).toEqual([]);
  });

  test("is resent at once beside other work where the process that died only held it", () => {
    const { state } = judge(finishing(), 1_000, { heartbeats: [{ ...dead, begun: false }] });
    expect(state.tasks["finish"]).toMatchObject({ send: 2, awaitedFrom: 2, losses: 1 });
    expect(state.tasks["finish"]?.isolated).toBeUndefined();
  });

  test("fails the run by the third record of a process that died while the task was isolated in it", () => {
    const notes = runNotes();
    let { state } = judge(finishing(), 1_000, { heartbeats: [dead] }, notes);
    const failures: ReturnType<typeof failure>[] = [];
    for (const send of [2, 3, 4]) {
      const heartbeat = { ...dead, send, isolated: true, silentMs: limits.isolatedDeathMs };
      const stateSent = allSent(state);
      expect(judge(stateSent, send * 20_000, { heartbeats: [heartbeat] }, notes).records).toEqual([]);
      const surely = { ...heartbeat, silentMs: limits.isolatedDeathMs + 1 };
      const draft = judge(stateSent, send * 20_000 + 1, { heartbeats: [surely] }, notes);
      expect([tasksOf(draft), draft.records]).toMatchObject([[], [{ send, code: "process-ended" }]]);
      failures.push(
        ...draft.records.map(({ code, message }) =>
          failure(finish, send, "unreported", 1, { code, message }),
        ),
      );
      const next = step(draft.state, { failures }, notes, send * 20_000 + 500);
      state = next.state;
      if (send < 4) expect(tasksOf(next)).toEqual([{ kind: "finish", send: send + 1 }]);
      else expect(next.ending?.error?.message).toBe("ended its process 3 times, isolated");
    }
  });

  test("that is lost for the tenth time is recorded so, and fails the run", () => {
    const notes = runNotes();
    const task = { send: 10, sentMs: startMs, awaitedFrom: 10, losses: 9, takenMs: startMs, enqueued: true };
    const draft = judge(finishing({ tasks: { finish: task } }), 600_000, {}, notes);
    const record = { work: finish, send: 10, code: "lost", final: true };
    expect([tasksOf(draft), draft.records]).toMatchObject([[], [record]]);
    const message = draft.records[0]?.message ?? "";
    const failures = [failure(finish, 10, "unreported", 1, { code: "lost", message, final: true })];
    const { ending } = step(draft.state, { failures }, notes, 601_000);
    expect(ending?.error?.message).toBe("lost 10 times before any process said that it began");
  });

  test("is judged in a paused run too", () => {
    const name = "node/1/00000";
    const task = { send: 1, sentMs: startMs, losses: 0, awaitedFrom: 1, enqueued: true };
    const sealed = { 0: { gen: 1, node: false } };
    const state: State = { ...computing(400), paused: true, tasks: { [name]: task }, sealed };
    const heartbeat = heartbeatOf({ kind: "node", level: 1, index: 0 }, { live: false, silentMs: 6_100 });
    const found = { marker: { ...marker, want: "paused" as const } };
    const observed = observedAt(1_000, { heartbeats: [heartbeat] });
    expect(tasksOf(step(state, found, runNotes(), 1_000, { observed }))).toEqual([
      { kind: "combine", send: 2 },
    ]);
  });

  test("and combines a node counts as lost only once nodes were listed after it was due", () => {
    const name = "node/1/00000";
    const task = { send: 1, sentMs: startMs, losses: 0, awaitedFrom: 1, enqueued: true, takenMs: startMs };
    const sealed = { 0: { gen: 1, node: false } };
    const state: State = { ...computing(400), cursor: 20, tasks: { [name]: task }, sealed };
    const notes = runNotes();
    const resent = (nodesAfterMs: number) => {
      const lists = listedAt(9_000, nodesAfterMs);
      return tasksOf(step(state, { lists }, notes, 9_000, { observed: observedAt(9_000) })).length;
    };
    expect([resent(4_000), resent(4_001)]).toEqual([0, 1]);
  });

  test("is resent by this decision only while its message has room before the next write", () => {
    const state: State = { ...computing(400_000), paused: true };
    for (let index = 0; index < 600; index += 1) {
      const task = { send: 1, sentMs: startMs, losses: 0, awaitedFrom: 1, enqueued: true, takenMs: startMs };
      state.tasks[workName({ kind: "node", level: 1, index })] = task;
      state.sealed[index] = { gen: 1, node: false };
    }
    const found = { marker: { ...marker, want: "paused" as const } };
    const observed = observedAt(9_000);
    const draft = step(state, found, runNotes(), 9_000, { observed });
    expect(tasksOf(draft)).toHaveLength(limits.sendsPerWriteMax);
  });

  test("that an earlier leader may have sent is sent again once nobody is seen to have it, and one that this leader sent is waited for", () => {
    const task = { send: 1, sentMs: startMs, losses: 0, awaitedFrom: 1 };
    const state = finishing({ tasks: { finish: task } });
    const notes = runNotes();
    const sendNotes = newSendNotes(0, [taskKey(state, "finish")]);
    const judged = (before: State, afterMs: number, told: Told = {}) =>
      step(before, {}, notes, afterMs, { observed: observedAt(afterMs, told), sendNotes });
    const waits = judged(state, 1_000, { urgent: waitingFor(finish) }).state;
    expect(waits.tasks["finish"]?.send).toBe(1);
    const gone = judged(waits, 2_000).state;
    expect(judged(gone, 2_001).state.tasks["finish"]).toMatchObject({ send: 2, losses: 1 });
    const mine = judge(finishing(), 2_000).state;
    expect(judge(mine, 2_001).state.tasks["finish"]?.send).toBe(1);
  });

  test("is not judged before it was sent, nor where nothing was observed", () => {
    const tasks = { finish: { send: 1, sentMs: startMs, losses: 0, awaitedFrom: 1 } };
    const unsent = judge(finishing({ tasks }), 600_000, { heartbeats: [dead] });
    expect(unsent.state.tasks).toEqual(tasks);
    expect(step(finishing(), {}, runNotes(), 600_000).state.tasks["finish"]?.send).toBe(1);
  });

  test("is not resent before failures were listed after it was due", () => {
    const notes = runNotes();
    const { state } = judge(finishing(), 1_000, {}, notes);
    const lists = listedAt(1_000);
    const late = step(state, { lists }, notes, 6_000, { observed: observedAt(6_000) });
    expect([tasksOf(late), notes.listFailures]).toEqual([[], true]);
    expect(tasksOf(judge(late.state, 6_100, {}, notes))).toHaveLength(1);
  });
});
