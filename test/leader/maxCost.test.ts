import { describe, expect, it } from "vitest";
import { restsUntil } from "../../src/engine/leader/decide/command.ts";
import { packsAffordable } from "../../src/engine/leader/decide/maxCost.ts";
import type { Marker } from "../../src/engine/model/marker.ts";
import { spentOf } from "../../src/engine/model/spent.ts";
import type { State } from "../../src/engine/model/state.ts";
import { marker, packFailure, parts, planOf, runNotes } from "../support/runFixtures.ts";
import { first, heartbeatOf, observedAt, startMs, step } from "./deciding.ts";
import { leadInMemory } from "./leadInMemory.ts";

/** Of 64 packs of 10 s, on instances with two threads: about $0.0003 each with what leading them costs. */
const plan = { ...planOf(64), packMs: 10_000, workers: 8, instance: { mb: 2_048, threads: 2 } };

const planned = (change: Partial<State> = {}): State => step({ ...first(), ...change }, { plan }).state;

/** What it has spent and has in flight, in packs. */
const packsOf = ({ packsDone, inFlight }: State): number => packsDone + inFlight;

describe("a bound on the cost of a run", () => {
  it.each([
    { maxCost: undefined, sent: 64, held: false, what: "without a bound all packs are sent" },
    { maxCost: 1, sent: 64, held: false, what: "far below its bound all packs are sent" },
    { maxCost: 0.003, sent: [5, 20], held: true, what: "at most so many as fit into the bound are sent" },
    { maxCost: 0.0001, sent: 0, held: true, what: "nothing is sent where no pack fits" },
  ])("$what", ({ maxCost, sent, held }) => {
    const state = planned(maxCost === undefined ? {} : { maxCost });
    const [least = 0, most = 0] = typeof sent === "number" ? [sent, sent] : sent;
    expect(state.inFlight).toBeGreaterThanOrEqual(least);
    expect(state.inFlight).toBeLessThanOrEqual(most);
    expect(state.maxCostAtMs).toBe(held ? startMs : undefined);
    expect(state.paused).toBe(false);
  });

  it("what it has spent stays within the bound until all that was sent has ended", () => {
    const maxCost = 0.005;
    let state = planned({ maxCost });
    const notes = runNotes();
    for (let poll = 1; state.inFlight > 0; poll += 1) {
      const led = { ...state.led, computing: poll * 10_000, polls: 5 * poll };
      state = step(
        { ...state, led },
        { parts: parts(0, packsOf(state), 10_000) },
        notes,
        poll * 10_000,
      ).state;
      expect(spentOf(state).cost.dollars).toBeLessThanOrEqual(maxCost);
    }
    expect(state.packsDone).toBeGreaterThan(5);
    expect(state).toMatchObject({ phase: "computing", maxCostAtMs: expect.any(Number) });
  });

  it("packs in flight count as much as those that have ended", () => {
    const state = planned({ maxCost: 0.003 });
    const { inFlight } = state;
    const led = { ...state.led, computing: 10_000 };
    const half = Math.floor(inFlight / 2);
    const some = step({ ...state, led }, { parts: parts(0, half, 10_000) }, runNotes(), 10_000).state;
    expect(some.packsDone).toBe(half);
    expect(Math.abs(packsOf(some) - inFlight)).toBeLessThanOrEqual(3);
  });

  it("packs that take less than was planned let it send more, and the last of them let it end", () => {
    const state = planned({ maxCost: 0.003 });
    const led = { ...state.led, computing: 1_000 };
    const next = step({ ...state, led }, { parts: parts(0, state.inFlight, 100) }, runNotes(), 1_000).state;
    expect(next.inFlight).toBeGreaterThan(20);
    expect(next.maxCostAtMs).toBeUndefined();
    const all = step({ ...next, cursor: 64, led }, { parts: parts(0, 64, 100) }, runNotes(), 2_000).state;
    expect(all.phase).toBe("finishing");
  });

  it("a higher bound lets it go on, and a resume alone does not", () => {
    const state = { ...planned({ maxCost: 0.0001 }) };
    const told = (change: Partial<Marker>) => step(state, { marker: { ...marker, command: 1, ...change } });
    expect(told({ dollars: 1 }).state).toMatchObject({ maxCost: 1, inFlight: 64, answer: "done" });
    expect(told({ dollars: 1 }).state.maxCostAtMs).toBeUndefined();
    expect(told({ turn: 2 }).state).toMatchObject({ maxCost: 0.0001, inFlight: 0, maxCostAtMs: startMs });
  });

  it("is no reason to wait for a run that keeps what is done, or where a person paused it", () => {
    const state = planned({ maxCost: 0.0001 });
    const keeps = step(state, { marker: { ...marker, command: 1, want: "cancelled", keep: "1" } }).state;
    expect(keeps).toMatchObject({ keep: true, phase: "finishing" });
    expect(keeps.maxCostAtMs).toBeUndefined();
    const paused = step(state, { marker: { ...marker, command: 1, turn: 1, want: "paused" } }).state;
    expect(paused.paused).toBe(true);
    expect(paused.maxCostAtMs).toBeUndefined();
  });

  it("a pack whose attempts have ended is not sent once more beyond it, and the run waits", () => {
    const before = planned();
    const spent = { ...before, led: { ...before.led, computing: 100_000 }, maxCost: 0.0001 };
    const { state, packs } = step(spent, {
      parts: parts(1, 64, 10_000),
      failures: [packFailure(0, 1, "unreported")],
    });
    expect(packs).toEqual([]);
    expect(state).toMatchObject({ inFlight: 1, maxCostAtMs: startMs, phase: "computing" });
    const more = step(
      { ...state, maxCost: 1 },
      { failures: [packFailure(0, 1, "unreported")] },
      runNotes(),
      1,
    );
    expect(more.packs).toMatchObject([{ pack: 0, send: 2 }]);
    expect(more.state.maxCostAtMs).toBeUndefined();
  });

  it("packs that have their partials are passed though nothing can be sent, so that they are folded", () => {
    const state = { ...planned({ maxCost: 0.0001 }), open: {}, cursor: 0, generation: 2 };
    const at = { plan, marker: { ...marker, generation: 2 } };
    const listed = step(
      { ...state, open: { 0: { done: "", recount: true } } },
      { ...at, parts: parts(0, 64) },
    );
    expect(listed.state).toMatchObject({ packsDone: 64, phase: "finishing" });
  });
});

describe("the rest of a run at its max cost", () => {
  const rests = (change: Partial<State>, seen: Parameters<typeof observedAt>[1] = {}, afterMs = 60_000) =>
    restsUntil(
      { ...planned({ maxCost: 0.003 }), ...change },
      marker,
      { nowMs: startMs + afterMs, observed: observedAt(afterMs, seen) },
      runNotes(),
    );

  it("it rests once nothing of it is in flight", () => {
    expect(rests({ inFlight: 0 })).toBe(Number.POSITIVE_INFINITY);
  });
  it("it needs a leader while messages of it may be in a queue", () => {
    expect(rests({})).toBeUndefined();
  });
  it("it rests where its messages were taken long ago and nobody has them", () => {
    const taken = [{ upTo: 64, atMs: startMs }];
    const { uid } = planned();
    const heldBy = (live: boolean) =>
      rests(
        { taken },
        { heartbeats: [heartbeatOf({ kind: "pack", shard: 0, pack: 0 }, { uid, begun: false, live })] },
      );
    expect(rests({ taken })).toBe(Number.POSITIVE_INFINITY);
    expect(rests({ taken: [{ upTo: 64, atMs: startMs + 59_000 }] })).toBeUndefined();
    expect([heldBy(true), heldBy(false)]).toEqual([undefined, Number.POSITIVE_INFINITY]);
  });
});

it("a run that names no bound has that of the app as its first leader has it, and another keeps its own", async () => {
  const account = leadInMemory();
  Object.assign(account.ports, { maxCost: 0.5 });
  await account.addRun("plain");
  await account.addRun("bounded", undefined, { marker: { dollars: 2 } });
  await account.lead(5_000);
  expect((await account.stateOf("plain")).maxCost).toBe(0.5);
  expect((await account.stateOf("bounded")).maxCost).toBe(2);
  account.nextTerm();
  Object.assign(account.ports, { maxCost: 9 });
  await account.lead(5_000);
  expect((await account.stateOf("plain")).maxCost).toBe(0.5);
});

it("of so many packs, those that fit are found", () => {
  const state = planned({ maxCost: 0.003 });
  const all = packsAffordable(state, 1_000);
  expect(packsAffordable(state, all)).toBe(all);
  expect(packsAffordable(state, all - 1)).toBe(all - 1);
  expect(packsAffordable({ ...state, maxCost: 100 }, 1_000)).toBe(1_000);
});
