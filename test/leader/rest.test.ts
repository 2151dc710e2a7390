import { describe, expect, test } from "vitest";
import { restsUntil } from "../../src/engine/leader/decide/command.ts";
import { anyRunToLead, kindOf } from "../../src/engine/leader/poll/markers.ts";
import { decodeMarker, encodeMarker, type Marker } from "../../src/engine/model/marker.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, marker, planOf } from "../support/runFixtures.ts";
import { heartbeatOf, observedAt, type Told } from "./deciding.ts";
import { leadInMemory } from "./leadInMemory.ts";

const limitMs = 300_000;
const pause: Marker = { ...marker, want: "paused", turn: 1, command: 3 };
const paused = (more: Partial<State> = {}): State => ({
  ...{ ...computing(100), paused: true, pausedAtMs: 0, command: 3, turn: 1 },
  ...{ cursor: 40, inFlight: 20, durationsMs: Array(20).fill(1_000), rate: 20 },
  ...more,
});
const at = (nowMs: number, told: Told = {}) => ({
  nowMs,
  localMs: 0,
  limitMs,
  observed: observedAt(0, told),
});

const hasComeToRest = (...of: [State, Marker, Parameters<typeof restsUntil>[2]]): boolean =>
  restsUntil(...of, { computedMs: 0 }) !== undefined;

describe("a paused run has come to rest", () => {
  const restMs = 12_000;
  const held = heartbeatOf({ kind: "pack", shard: 0, pack: 3 }, { begun: false });

  test("once 12 s have passed since the pause, by when whatever was begun before has a heartbeat or has ended", () => {
    expect(hasComeToRest(paused(), pause, at(restMs))).toBe(false);
    expect(hasComeToRest(paused(), pause, at(restMs + 1))).toBe(true);
    expect(hasComeToRest(paused({ pausedAtMs: 500 }), pause, at(restMs + 1))).toBe(false);
  });

  test.each<[string, Told["heartbeats"], boolean]>([
    ["not while a live process computes any of it, however long", [{ ...held, begun: true }], false],
    ["though a live process holds some of it, which it will drop", [held], true],
    ["though live processes compute another run", [{ ...held, uid: "x" }], true],
    ["though a process that died had some of it", [{ ...held, live: false }], true],
  ])("%s", (_what, heartbeats, expected) => {
    expect(hasComeToRest(paused(), pause, at(3_600_000, { heartbeats: heartbeats ?? [] }))).toBe(expected);
  });

  test("only where heartbeats were read in this loop", () => {
    expect(hasComeToRest(paused(), pause, { nowMs: 3_600_000 })).toBe(false);
  });

  test.each<[string, Partial<State>, Partial<Marker>]>([
    ["it is resumed", {}, { want: "run", command: 4 }],
    ["it is cancelled", {}, { want: "cancelled", command: 4 }],
    ["the state does not know of the pause yet", { paused: false }, {}],
    ["a command came that the state has not answered", {}, { command: 4 }],
    [
      "a task is under way",
      { tasks: { "node/1/00000": { send: 1, sentMs: 0, losses: 0, awaitedFrom: 1 } } },
      {},
    ],
    ["it is being planned", { phase: "planning" }, {}],
    ["it is finishing", { phase: "finishing" }, {}],
  ])("but not where %s", (_what, state, want) => {
    expect(hasComeToRest(paused(state), { ...pause, ...want }, at(restMs + 1))).toBe(false);
  });
});

describe("a marker says that nobody has to lead for it", () => {
  test.each<[string, Partial<Marker>, boolean]>([
    ["under the command that paused it", { rests: 3 }, true],
    ["until a deadline that is still to come", { rests: 3, until: 1_000 }, true],
    ["and no more after that deadline", { rests: 3, until: 999 }, false],
    ["and no more after any later command", { rests: 3, command: 4 }, false],
    ["and no more after a resume", { rests: 3, want: "run", command: 4 }, false],
    ["only where it says so", {}, false],
    ["only while it is paused", { rests: 3, want: "cancelled" }, false],
  ])("%s", (_what, change, expected) => {
    const metadata = encodeMarker({ ...pause, ...change });
    expect(kindOf({ name: "r", metadata }, 1_000)).toBe(expected ? "rests" : "to-lead");
  });

  test.each<[string, Record<string, string>, string]>([
    ["it is led if it has a uid and does not decode otherwise, which ends its run", { want: "?" }, "to-lead"],
    ["nobody leads for it if a newer release wrote it", { v: "99" }, "other-version"],
    ["nobody leads for it if an older release wrote it", { v: "0" }, "other-version"],
    ["nobody leads for it if it has no uid", { uid: "" }, "stray"],
  ])("and %s", (_what, change, kind) => {
    expect(kindOf({ name: "r", metadata: { ...encodeMarker(pause), ...change } }, 1_000)).toBe(kind);
  });
});

describe("a leader of paused runs", () => {
  const sent = (): State => ({
    ...{ ...computing(10), cursor: 10, inFlight: 10, open: { 0: { done: "" } } },
    batches: [{ upTo: 10, atMs: Date.UTC(2030, 0, 1) }],
  });
  const want = { want: "paused", turn: 1, command: 1 } as const;
  const markerOf = async (account: ReturnType<typeof leadInMemory>, id: string) => {
    const found = await account.storage.blobs.head(account.names.active, id);
    return found.kind === "found" ? decodeMarker(found.properties.metadata, id) : undefined;
  };

  test("lays each to rest and ends, and nobody leads until a command comes", async () => {
    const account = leadInMemory();
    for (const id of ["a", "b", "c"]) await account.addRun(id, planOf(10), { state: sent(), marker: want });
    expect(await anyRunToLead(account.ports)).toBe(true);
    const loops = await account.lead(600_000);
    const ended = account.world.nowMs();
    expect(await anyRunToLead(account.ports)).toBe(false);
    for (const id of ["a", "b", "c"])
      expect(await markerOf(account, id)).toMatchObject({ ...want, rests: 1 });
    // The leader returned by itself: no list was made in the last minutes.
    expect(loops.length).toBeLessThan(600);
    expect(ended).toBeGreaterThanOrEqual(600_000);
    await account.mark("b", { want: "run", turn: 2, command: 2 });
    expect(await anyRunToLead(account.ports)).toBe(true);
    account.nextTerm();
    await account.lead(5_000);
    expect(await account.stateOf("b")).toMatchObject({ paused: false, turn: 2, term: 8, cursorSend: 2 });
    expect((await account.stateOf("a")).term).toBe(7);
  });

  test("keeps on for the others, and lists a resting run no more", async () => {
    const account = leadInMemory();
    await account.addRun("idle", planOf(10), { state: sent(), marker: { ...want, rests: 1 } });
    await account.addRun("busy", planOf(10), { state: sent() });
    await account.lead(20_000);
    await expect(account.stateOf("idle")).resolves.toMatchObject({ term: 1 });
    expect((await account.stateOf("busy")).term).toBe(7);
  });

  test("writes what is ahead of the state before it lays the run to rest", async () => {
    const account = leadInMemory();
    await account.addRun("r", planOf(10), { state: sent(), marker: want });
    const { setMetadata } = account.storage.blobs;
    let laid: State | undefined;
    account.storage.blobs.setMetadata = async (...call) => {
      laid = await account.stateOf("r");
      return setMetadata(...call);
    };
    await account.lead(600_000);
    expect(laid).toMatchObject({ paused: true, command: 1, answer: "done" });
  });

  test("does not lay to rest what a command of the same moment resumes", async () => {
    const account = leadInMemory();
    await account.addRun("r", planOf(10), { state: sent(), marker: want });
    const { setMetadata } = account.storage.blobs;
    let raced = false;
    account.storage.blobs.setMetadata = async (container, name, metadata, options) => {
      if (!raced && metadata["rests"] !== undefined) {
        raced = true;
        await account.mark("r", { want: "run", turn: 2, command: 2 });
      }
      return setMetadata(container, name, metadata, options);
    };
    await account.lead(100_000);
    expect(raced).toBe(true);
    expect(await account.stateOf("r")).toMatchObject({ paused: false, turn: 2, command: 2 });
  });

  test("ends a run at its deadline, pauses included", async () => {
    const account = leadInMemory();
    const spec = { deadline: { ms: 300_000, keep: false } };
    const state = { ...sent(), createdMs: Date.UTC(2030, 0, 1) };
    await account.addRun("r", planOf(10), { state, marker: want, spec });
    await account.lead(400_000);
    const over = (await markerOf(account, "r")) === undefined || (await anyRunToLead(account.ports));
    expect(over).toBe(true);
  });
});
