import { describe, expect, test } from "vitest";
import { limits } from "../../src/engine/model/limits.ts";
import { toleratedChunks } from "../../src/engine/model/run.ts";
import { computing, failure, packFailure, part, parts, runNotes, spec } from "../support/runFixtures.ts";
import { allSent, first, heartbeatOf, observedAt, startMs, step, tasksOf } from "./deciding.ts";

const tolerant = { ...spec, tolerate: { chunks: 4 } };
const sent = () => step(computing(4)).state;
const finishing = () => allSent(step(step(computing(1)).state, { parts: parts(0, 1) }).state);

describe("failures of packs", () => {
  test("a failed pack fails a run that tolerates none, and the run says which and why", () => {
    const draft = step(sent(), { failures: [packFailure(2)] });
    expect(draft.ending?.phase).toBe("failed");
    expect(draft.ending?.error?.message).toBe("chunk 2: it broke");
  });

  test("a message that names its chunk is not preceded by the range of its pack", () => {
    const message = "chunk 2: no luck (pi.ts:7)";
    const draft = step(sent(), { failures: [packFailure(2, 1, "error", { message, named: true })] });
    expect(draft.ending?.error?.message).toBe(`${message}`);
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
    const percent = { ...spec, tolerate: { percent: 25 } };
    const one = step(sent(), { spec: percent, failures: [packFailure(2)] });
    expect(one.ending).toBeUndefined();
    const two = step(one.state, { spec: percent, failures: [packFailure(2), packFailure(3)] });
    expect(two.ending?.phase).toBe("failed");
  });

  test("a tolerance in percent holds the very number that it names", () => {
    const tolerated = [29, 57, 0.3].map((percent) => toleratedChunks({ percent }, 1_000));
    expect(tolerated).toEqual([290, 570, 3]);
    expect(toleratedChunks({ percent: 29 }, 100)).toBe(29);
    expect(toleratedChunks({ percent: 33 }, 10)).toBe(3);
  });

  test.each<[string, string, string, number, RegExp]>([
    ["poison", "unreported", "poison", limits.poisonedSendsMax, /it broke/],
    [
      "the death of its process",
      "unreported",
      "process-ended",
      limits.diedSendsMax,
      /ended its process 3 times/,
    ],
    ["its time limit", "error", "time-limit", limits.overtimeSendsMax, /it broke/],
  ])(
    "a pack whose sends end by %s is replaced, urgently and as a repeat, until there are too many",
    (_what, cause, code, max, why) => {
      let state = sent();
      const ended = (sends: number) =>
        Array.from({ length: sends }, (_, at) => packFailure(0, at + 1, cause, { code }));
      for (let send = 1; send < max; send += 1) {
        const draft = step(state, { spec: tolerant, failures: ended(send) });
        const isolated = code === "process-ended";
        expect(draft.packs).toEqual([{ pack: 0, send: send + 1, urgent: true, repeat: true, isolated }]);
        state = draft.state;
        // While that send is under way nothing else happens.
        const again = step(state, { spec: tolerant, failures: ended(send) });
        expect([again.packs, again.state.packsFailed]).toEqual([[], 0]);
      }
      const last = step(state, { spec: tolerant, failures: ended(max) });
      expect([last.packs, last.state.packsFailed]).toEqual([[], 1]);
      expect(step(state, { failures: ended(max) }).ending?.error?.message).toMatch(why);
      // A leader that finds the pack failed by the one before says the same.
      expect(step(last.state, { failures: ended(max) }).ending?.error?.message).toMatch(why);
    },
  );

  test("a run that fails names a pack that failed, not one of which another send may still succeed", () => {
    const died = (pack: number, send: number) =>
      packFailure(pack, send, "unreported", { code: "process-ended" });
    const failures = [died(0, 1), ...[1, 2, 3].map((send) => died(2, send))];
    const state = { ...sent(), resent: { 2: { send: 3, sentMs: startMs, losses: 0, awaitedFrom: 1 } } };
    const { ending, packs } = step(state, { failures });
    expect(ending?.error?.message).toBe("chunk 2: ended its process 3 times, isolated");
    expect(packs).toMatchObject([{ pack: 0, send: 2 }]);
  });

  test.each(["chunk 4: no", "chunks 4–5: the partial has 40 MB"])(
    "a failure that names its chunks is not told with those of its pack: %s",
    (message) => {
      const { ending } = step(sent(), { failures: [packFailure(2, 1, "error", { message, named: true })] });
      expect(ending?.error?.message).toBe(`${message}`);
    },
  );

  test("a resend after the death of a process takes nothing away from the record of the send before, which comes later and still counts", () => {
    const overtime = (send: number) => packFailure(0, send, "error", { code: "time-limit" });
    const dead = heartbeatOf({ kind: "pack", shard: 0, pack: 0 }, { live: false, silentMs: 7_000 });
    const observed = observedAt(20_000, { heartbeats: [dead] });
    const resent = step(sent(), { spec: tolerant }, runNotes(), 20_000, { observed });
    expect(resent.state.resent[0]).toMatchObject({ send: 2, awaitedFrom: 2 });
    const late = step(resent.state, { spec: tolerant, failures: [overtime(1)] }, runNotes(), 22_000);
    expect([late.packs, late.state.packsFailed]).toEqual([[], 0]);
    const both = [overtime(1), overtime(2)];
    const ended = step(late.state, { spec: tolerant, failures: both }, runNotes(), 24_000);
    expect([ended.packs, ended.state.packsFailed]).toEqual([[], 1]);
  });

  test("records of another generation say nothing", () => {
    expect(step(sent(), { failures: [{ ...packFailure(2), generation: 2 }] }).ending).toBeUndefined();
  });

  test("a paused run replaces no send, and replaces it once it is resumed", () => {
    const paused = { ...sent(), paused: true };
    const failures = [packFailure(0, 1, "unreported")];
    expect(step(paused, { failures }).packs).toEqual([]);
    expect(step({ ...paused, paused: false }, { failures }).packs).toHaveLength(1);
  });
});

describe("failures of tasks", () => {
  test("a plan that failed fails the run; one set aside as poison is resent", () => {
    const planning = allSent(step(first()).state);
    expect(step(planning, { failures: [failure({ kind: "plan" })] }).ending?.error?.code).toBe("plan-failed");
    const again = step(planning, { failures: [failure({ kind: "plan" }, 1, "unreported")] });
    expect(tasksOf(again)).toEqual([{ kind: "plan", send: 2 }]);
    expect(again.state.tasks["plan"]?.send).toBe(2);
  });

  test("a member that storage lost fails the run at once", () => {
    const draft = step(finishing(), { failures: [failure({ kind: "finish" }, 1, "storage-lost")] });
    expect(draft.ending?.error?.code).toBe("storage-lost");
  });

  test("a finish that ended its process is isolated from the next send on, and the third such end fails the run", () => {
    const died = (sends: number) =>
      Array.from({ length: sends }, (_, at) =>
        failure({ kind: "finish" }, at + 1, "unreported", 1, { code: "process-ended" }),
      );
    const one = step(finishing(), { failures: died(1) });
    expect(one.state.tasks["finish"]).toMatchObject({ send: 2, isolated: true });
    const two = step(allSent(one.state), { failures: died(2) });
    expect(two.state.tasks["finish"]).toMatchObject({ send: 3, isolated: true });
    const three = step(allSent(two.state), { failures: died(3) });
    expect(three.ending?.error?.message).toBe("ended its process 3 times, isolated");
  });

  test("a record of a send that the state does not know raises the number of the next one above it", () => {
    const records = [1, 2, 3].map((send) =>
      failure({ kind: "finish" }, send, "unreported", 1, { code: "lost" }),
    );
    expect(step(finishing(), { failures: records }).state.tasks["finish"]?.send).toBe(4);
  });
});

describe("attempts that failed while others are tried", () => {
  const tried = (attempts: number, code = "calculation-threw") => ({
    ...packFailure(2, 1, "error", { attempts, code, message: `chunk 2: ${attempts}` }),
    atMs: 0,
  });

  test("are told in the state within a second, the latest of them", () => {
    const one = step(sent(), { tried: [tried(1)] });
    expect(one.noted).toBe(true);
    expect(one.state.trying).toEqual({
      ...{ work: "00000/00000002", code: "calculation-threw", message: "chunk 2: 1" },
      ...{ attempts: 1, attemptsMax: 5 },
    });
    const same = step(one.state, { tried: [tried(1)] });
    expect([same.noted, same.state.trying?.attempts]).toEqual([false, 1]);
    expect(step(one.state, { tried: [tried(2)] }).state.trying).toMatchObject({ attempts: 2 });
    const done = step(one.state, { tried: [tried(2)], parts: parts(0, 4) });
    expect([done.state.trying, done.noted]).toEqual([undefined, false]);
  });

  test("of another generation are not told", () => {
    const notes = [{ ...tried(1), generation: 2 }];
    expect(step(sent(), { tried: notes })).toMatchObject({ noted: false });
  });
});
