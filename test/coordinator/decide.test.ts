import { describe, expect, test } from "vitest";
import { decide } from "../../src/coordinator/decide.ts";
import type { Draft, Memory } from "../../src/coordinator/draft.ts";
import { look } from "../../src/coordinator/look.ts";
import { type Seen, wantedOf } from "../../src/coordinator/seen.ts";
import { namesOf } from "../../src/model/names.ts";
import { firstState, type State } from "../../src/model/state.ts";
import type { BlobStore } from "../../src/storage/ports.ts";
import {
  computing,
  failure,
  manifest,
  marker,
  memory,
  packFailure,
  part,
  parts,
  planOf,
  seen,
  spec,
} from "../support/runFixtures.ts";

const first = () => firstState({ run: "r", uid: "u", generation: 1, cap: 2000, nowMs: 0 });

/** Decides once, after a look at all there is; time stands unless told. */
function step(state: State, found: Partial<Seen> = {}, mind: Memory = memory(), localMs = 0): Draft {
  mind.failuresMs = localMs;
  return decideOn(state, found, mind, localMs);
}

function decideOn(state: State, found: Partial<Seen>, mind: Memory, localMs: number): Draft {
  const what = seen(found);
  return decide(state, what, mind, { nowMs: what.nowMs, localMs, packLimitMs: 300_000 });
}

describe("the journey of a run", () => {
  test("a new run is planned: recorded first, sent after the write", () => {
    const draft = step(first());
    expect(draft.state.tasks).toEqual({ plan: { sends: 1, atMs: 1_000_000, late: 0, since: 1 } });
    expect(draft.tasks).toEqual([{ kind: "plan", send: 1 }]);
    expect(draft.packs).toEqual([]);
    expect(draft.decided).toBe(true);
  });

  test("a plan that is asked for is not asked for again", () => {
    const asked = step(first()).state;
    expect(step(asked).tasks).toEqual([]);
  });

  test("with its plan a run computes, and the first packs go to the urgent queue", () => {
    const draft = step(step(first()).state, { plan: planOf(20) });
    expect(draft.state.phase).toBe("computing");
    expect(draft.packs.map((one) => one.pack)).toEqual([...Array(20).keys()]);
    expect(draft.packs.filter((one) => one.urgent)).toHaveLength(8);
    expect(draft.state.cursor).toBe(20);
  });

  test("a run of no chunks goes on to its finish", () => {
    const draft = step(step(first()).state, { plan: planOf(0) });
    expect(draft.state.phase).toBe("finishing");
    expect(draft.tasks).toEqual([{ kind: "finish", send: 1 }]);
  });

  test("a small run is finished from its packs once all are there", () => {
    const sent = step(computing(3)).state;
    expect(step(sent, { parts: parts(0, 2) }).state.phase).toBe("computing");
    const draft = step(sent, { parts: parts(0, 3) });
    expect(draft.state.phase).toBe("finishing");
    expect(draft.state.sealed).toEqual({ 0: { gen: 1, node: false } });
    expect(draft.tasks).toEqual([{ kind: "finish", send: 1 }]);
  });

  test("a larger run combines each sealed shard, and finishes when every node is there", () => {
    let state = { ...computing(400), cap: 2000, rate: 1000 };
    // 400 packs make 20 shards of 20; the window needs a few looks to send them all.
    const mind = memory();
    for (let at = 0; state.cursor < 400; at += 1) {
      state = { ...step(state, { parts: parts(0, state.cursor) }, mind, at * 1000).state, rate: 1000 };
    }
    const sealed = step(state, { parts: parts(0, 400) }, mind, 60_000);
    expect(Object.keys(sealed.state.sealed)).toHaveLength(20);
    expect(sealed.state.open).toEqual({});
    const combined = [...Array(20).keys()].map((index) => ({ level: 1, ...part(index, 5) }));
    expect(step(sealed.state, { nodes: combined.slice(1) }).state.phase).toBe("computing");
    const draft = step(sealed.state, { nodes: combined });
    expect(draft.state.phase).toBe("finishing");
    expect(draft.tasks).toEqual([{ kind: "finish", send: 1 }]);
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

  test("a paused run sends nothing; resumed, every unfinished sent pack is sent again under the new turn", () => {
    const sent = step(computing(10)).state;
    const paused = step(sent, {
      marker: { ...marker, want: "paused", turn: 1, command: 1 },
      parts: parts(0, 2),
    });
    expect([paused.packs, paused.tasks]).toEqual([[], []]);
    const resumed = step(paused.state, { marker: { ...marker, turn: 2, command: 2 }, parts: parts(0, 2) });
    expect(resumed.packs.map((one) => one.pack)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    expect(resumed.packs.every((one) => one.send === 2)).toBe(true);
    expect(resumed.state.turn).toBe(2);
  });

  test("a pause and resume between two looks is seen by its turn", () => {
    const sent = step(computing(3)).state;
    const draft = step(sent, { marker: { ...marker, turn: 2, command: 2 } });
    expect(draft.packs.map((one) => one.pack)).toEqual([0, 1, 2]);
  });
});

describe("failures", () => {
  const sent = () => step(computing(4)).state;

  test("a failed pack fails a run that tolerates none, and the run says which and why", () => {
    const draft = step(sent(), { failures: [packFailure(2)] });
    expect(draft.ending?.phase).toBe("failed");
    expect(draft.ending?.error?.message).toMatch(/1 of 4 chunks failed; chunks 2: it broke/);
  });

  test("a tolerated failure leaves a gap in the sealed shard", () => {
    const draft = step(sent(), {
      spec: { ...spec, tolerate: { chunks: 1 } },
      failures: [packFailure(2)],
      parts: [part(0), part(1), part(3)],
    });
    expect(draft.state.phase).toBe("finishing");
    expect(draft.state.sealed[0]?.members).toBe(Buffer.from([0b1011]).toString("base64url"));
  });

  test("past its tolerance in percent the run fails early", () => {
    const tolerant = { ...spec, tolerate: { percent: 25 } };
    const one = step(sent(), { spec: tolerant, failures: [packFailure(2)] });
    expect(one.ending).toBeUndefined();
    const two = step(one.state, { spec: tolerant, failures: [packFailure(2), packFailure(3)] });
    expect(two.ending?.phase).toBe("failed");
  });

  test("success beats failure until the shard is sealed", () => {
    const tolerant = { ...spec, tolerate: { chunks: 4 } };
    const failed = step(sent(), { spec: tolerant, failures: [packFailure(2)] }).state;
    expect(failed.packsFailed).toBe(1);
    const healed = step(failed, { spec: tolerant, failures: [packFailure(2)], parts: [part(2)] }).state;
    expect([healed.packsFailed, healed.packsDone, healed.chunksFailed]).toEqual([0, 1, 0]);
  });

  test("a poisoned send is replaced while fewer than three have ended, then the pack has failed", () => {
    const tolerant = { ...spec, tolerate: { chunks: 4 } };
    let state = sent();
    for (const send of [1, 2]) {
      const failures = [1, 2].slice(0, send).map((one) => packFailure(0, one, "poison"));
      const draft = step(state, { spec: tolerant, failures });
      expect(draft.packs).toEqual([{ pack: 0, send: send + 1, urgent: true }]);
      state = draft.state;
    }
    const failures = [1, 2, 3].map((send) => packFailure(0, send, "poison"));
    const last = step(state, { spec: tolerant, failures });
    expect([last.packs, last.state.packsFailed]).toEqual([[], 1]);
  });

  test("a pack whose second send is still under way has not failed", () => {
    const state = { ...sent(), again: { 2: { sends: 2, atMs: 1_000_000, late: 1, since: 1 } } };
    expect(step(state, { failures: [packFailure(2, 1)] }).ending).toBeUndefined();
    expect(step(state, { failures: [packFailure(2, 1), packFailure(2, 2)] }).ending?.phase).toBe("failed");
  });

  test("a record of a send that no state knows does not end the sends before it", () => {
    expect(step(sent(), { failures: [packFailure(2, 2)] }).ending).toBeUndefined();
    expect(step(sent(), { failures: [packFailure(2, 1), packFailure(2, 2)] }).ending?.phase).toBe("failed");
  });

  test("sends from before a resume end without a record and do not count", () => {
    const state = { ...sent(), again: { 2: { sends: 2, atMs: 1_000_000, late: 0, since: 2 } } };
    expect(step(state, { failures: [packFailure(2, 2)] }).ending?.phase).toBe("failed");
  });

  test("records of another generation say nothing", () => {
    expect(step(sent(), { failures: [{ ...packFailure(2), generation: 2 }] }).ending).toBeUndefined();
  });

  test("a plan that failed fails the run; one set aside as poison is sent again", () => {
    const planning = step(first()).state;
    expect(step(planning, { failures: [failure({ kind: "plan" })] }).ending?.error?.code).toBe("plan-failed");
    const again = step(planning, { failures: [failure({ kind: "plan" }, 1, "poison")] });
    expect(again.tasks).toEqual([{ kind: "plan", send: 2 }]);
    expect(again.state.tasks["plan"]?.sends).toBe(2);
  });

  test("a member that storage lost fails the run at once", () => {
    const finishing = step(step(computing(1)).state, { parts: parts(0, 1) }).state;
    const draft = step(finishing, { failures: [failure({ kind: "finish" }, 1, "storage-lost")] });
    expect(draft.ending?.error?.code).toBe("finish-failed");
  });
});

describe("late work", () => {
  test("a pack that should have been done long ago is sent again, urgently, at most three times", () => {
    const mind = memory();
    let state = step(computing(12), {}, mind).state;
    state = step(state, { parts: parts(0, 11, 100) }, mind, 1_000).state;
    expect(step(state, {}, mind, 2_000).packs).toEqual([]);
    const sends: number[] = [];
    for (let localMs = 4_000; localMs < 60_000; localMs += 1_000) {
      const draft = step(state, {}, mind, localMs);
      sends.push(...draft.packs.map((one) => one.send));
      state = draft.state;
    }
    expect(sends).toEqual([2, 3, 4]);
    expect(state.again[11]).toMatchObject({ sends: 4, late: 3 });
  });

  test("a pack whose attempt threw waits for the host's next one and is not sent again", () => {
    const mind = memory();
    let state = step(computing(12), {}, mind).state;
    state = step(state, { parts: parts(0, 11, 100) }, mind, 1_000).state;
    const work = { kind: "pack", shard: 0, pack: 11 } as const;
    state = step(state, { tried: [{ work, generation: 1, send: 1 }] }, mind, 2_000).state;
    for (let localMs = 4_000; localMs < 60_000; localMs += 1_000) {
      expect(step(state, {}, mind, localMs).packs).toEqual([]);
    }
    expect(step(state, { nowMs: 1_000_000 + 900_001 }, mind, 60_000).packs).toHaveLength(1);
  });

  test("a late pack is not sent again before failures were looked for once more", () => {
    const mind = memory();
    let state = step(computing(12), {}, mind).state;
    state = step(state, { parts: parts(0, 11, 100) }, mind, 1_000).state;
    // Begun at 1,000 and late two seconds after that; its worker may have written a note since this look.
    mind.failuresMs = 2_900;
    expect(wantedOf(state, mind, 2_990).failures).toBe(false);
    expect(decideOn(state, {}, mind, 3_050).packs).toEqual([]);
    expect(wantedOf(state, mind, 3_050).failures).toBe(true);
    expect(step(state, {}, mind, 3_060).packs).toEqual([expect.objectContaining({ pack: 11, send: 2 })]);
  });

  test("a look for failures that storage did not answer is none", async () => {
    const mind = memory();
    const { state } = step(computing(12), {}, mind);
    mind.failuresMs = Number.NEGATIVE_INFINITY;
    const blobs = { list: () => Promise.reject(new Error("busy")) } as unknown as BlobStore;
    const subject = { spec, state, marker, nowMs: 0, localMs: 5_000, pagesMax: 5 };
    const { signal } = new AbortController();
    await expect(look(blobs, namesOf("x"), subject, mind, { left: 9 }, signal)).rejects.toThrow("busy");
    expect(mind.failuresMs).toBe(Number.NEGATIVE_INFINITY);
  });

  test("packs far back in the queue are not late", () => {
    const mind = memory();
    let state: State = {
      ...step(computing(100), {}, mind).state,
      rate: 2,
      durationsMs: Array(10).fill(1000),
      packsDone: 0,
    };
    for (let localMs = 0; localMs <= 10_000; localMs += 1_000) {
      const draft = step(state, {}, mind, localMs);
      for (const { pack } of draft.packs.filter((one) => one.send > 1)) expect(pack).toBeLessThan(2);
      state = { ...draft.state, rate: 2 };
    }
  });

  test("whatever the counts, silence longer than the host can hide a message is answered by another send", () => {
    const state = {
      ...step(computing(2)).state,
      again: { 0: { sends: 4, atMs: 1_000_000, late: 3, since: 1 } },
    };
    const draft = step(state, { nowMs: 1_000_000 + 900_001 });
    expect(draft.packs.map((one) => one.pack)).toEqual([0, 1]);
  });

  test("a finish that nobody answers is recorded and sent again after half a minute", () => {
    const finishing = step(step(computing(1)).state, { parts: parts(0, 1) }).state;
    expect(step(finishing, { nowMs: 1_029_000 }).tasks).toEqual([]);
    const draft = step(finishing, { nowMs: 1_031_000 });
    expect(draft.tasks).toEqual([{ kind: "finish", send: 2 }]);
    expect(draft.decided).toBe(true);
  });
});

describe("the window", () => {
  test("starts at 256, is never more than the cap, and grows at most twofold a look", () => {
    expect(step(computing(1000)).packs).toHaveLength(256);
    expect(step(computing(1000), { marker: { ...marker, cap: 10 } }).packs).toHaveLength(10);
    const mind = memory();
    const sent = step(computing(2000), {}, mind).state;
    const fast = { ...sent, rate: 10_000 };
    const draft = step(fast, { parts: parts(0, 256, 10) }, mind, 0);
    expect(draft.packs).toHaveLength(500);
    expect(mind.window).toBe(512);
  });

  test("doubles where the workers took more than half of it since the last look, whatever the rate says", () => {
    const mind = memory();
    const sent = step(computing(2000), {}, mind).state;
    step({ ...sent, rate: 1 }, { parts: parts(0, 100) }, mind, 0);
    expect([mind.window, mind.starved]).toEqual([230, false]);
    mind.window = 256;
    step({ ...sent, rate: 1 }, { parts: parts(0, 128) }, mind, 0);
    expect([mind.window, mind.starved]).toEqual([512, true]);
  });

  test("never falls under eight", () => {
    const mind = memory();
    const sent = step(computing(1000), {}, mind).state;
    const slow = { ...sent, rate: 0.001, durationsMs: Array(10).fill(1000) };
    for (let look = 0; look < 50; look += 1) step(slow, { parts: parts(0, 64) }, mind, 0);
    expect(mind.window).toBe(8);
  });
});
