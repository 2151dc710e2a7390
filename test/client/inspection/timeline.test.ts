import { describe, expect, it } from "vitest";
import { timeline, timelineOf } from "../../../src/engine/client/inspection/timeline.ts";
import type { LeaderView } from "../../../src/engine/client/leader.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import type { Spec } from "../../../src/engine/model/run.ts";
import { firstState, type State } from "../../../src/engine/model/state.ts";
import { clientWorld } from "../clientWorld.ts";

const at = (s: number): string => new Date(s * 1_000).toISOString();
const spec: Spec = { v: 1, run: "r1", uid: "u1", calculation: "sum", params: {}, requestHash: "h" };
const read = <T>(value: T, s: number) => ({ value, etag: "e", lastModifiedMs: s * 1_000, dateMs: 100_000 });
const stateOf = (change: Partial<State>) =>
  read({ ...firstState({ run: "r1", uid: "u1", generation: 1, cap: 1, nowMs: 0 }), ...change }, 90);

const record: LeaderView = {
  ...{
    kind: "leading",
    term: 9,
    holder: "node-3",
    since: at(50),
    lease: "leased",
    notes: {},
    heartbeatAgeS: 1,
    cameBy: "free" as const,
  },
  terms: [
    { term: 7, holder: "node-1", since: at(5), until: at(30), cameBy: "free" },
    { term: 8, holder: "node-2", since: at(38), until: at(49), cameBy: "expired" },
    { term: 9, holder: "node-3", since: at(50), cameBy: "handed-over" },
  ],
};
const terms = [
  { term: 6, holder: "node-3", atMs: 2_000 },
  { term: 7, holder: "node-1", atMs: 10_000 },
  { term: 8, holder: "node-2", atMs: 40_000 },
  { term: 9, holder: "node-3", atMs: 51_000 },
];

describe("the timeline of a run", () => {
  it("joins its terms with what the leader's record remembers of them", () => {
    const found = timelineOf(read(spec, 1), stateOf({ phase: "computing", terms }), record);
    expect(found).toMatchObject({ submittedAt: at(1), nowAt: at(100) });
    expect(found).not.toHaveProperty("finishedAt");
    expect(found.terms).toEqual([
      { term: 6, holder: "node-3", from: at(2) },
      { term: 7, holder: "node-1", from: at(10), to: at(30), cameBy: "free" },
      { term: 8, holder: "node-2", from: at(40), to: at(49), cameBy: "expired" },
      { term: 9, holder: "node-3", from: at(51), cameBy: "handed-over" },
    ]);
  });

  it("ends its last term with the run, not with the leader that goes on or ended later", () => {
    const done = (finishedMs: number) => stateOf({ phase: "complete", terms: terms.slice(0, 3), finishedMs });
    expect(timelineOf(read(spec, 1), done(45_000), record).terms.at(-1)?.to).toBe(at(45));
    // The leader died before its successor closed the run.
    expect(timelineOf(read(spec, 1), done(60_000), record).terms.at(-1)?.to).toBe(at(49));
    const others = { ...record, terms: [] };
    const forgotten = timelineOf(read(spec, 1), done(45_000), others).terms;
    expect(forgotten.map(({ to }) => to)).toEqual([undefined, undefined, at(45)]);
  });

  it("does not take another holder of the same term for its own", () => {
    const [term] = timelineOf(
      read(spec, 1),
      stateOf({ terms: [{ term: 7, holder: "node-9", atMs: 10_000 }] }),
      record,
    ).terms;
    expect(term).toEqual({ term: 7, holder: "node-9", from: at(10) });
  });

  it("has the progress of its generation, and says where a pause moved it", () => {
    const marks = [
      { atMs: 10_000, ended: 0, computeMs: 0 },
      { atMs: 20_000, ended: 5, computeMs: 9 },
    ];
    const progress = { generation: 1, turn: 1, marks };
    const layout = { chunks: 95, packSize: 10, shardSize: 256, fanIn: 1000, packMs: 1 };
    const paused = { paused: true, pausedAtMs: 70_000, turn: 1, progress, layout, packsDone: 5 };
    expect(timelineOf(read(spec, 1), stateOf(paused), record)).toMatchObject({
      ...{ packs: 10, pausedSince: at(70), moved: true },
      marks: [
        { at: at(10), ended: 0 },
        { at: at(20), ended: 5 },
      ],
    });
    const retried = stateOf({ generation: 2, retriedMs: 80_000, progress, layout });
    expect(timelineOf(read(spec, 1), retried, record)).toMatchObject({ retriedAt: at(80), marks: [] });
  });

  it("counts packs that a run gave up as no progress, and failed ones only while it is at work", () => {
    const marks = [
      { atMs: 10_000, ended: 0, computeMs: 0 },
      { atMs: 20_000, ended: 5, computeMs: 9 },
      { atMs: 21_000, ended: 10, computeMs: 9 },
    ];
    const layout = { chunks: 95, packSize: 10, shardSize: 256, fanIn: 1000, packMs: 1 };
    const counts = { packsDone: 6, packsFailed: 4, layout, progress: { generation: 1, turn: 0, marks } };
    const endedOf = (change: Partial<State>) =>
      timelineOf(read(spec, 1), stateOf({ ...counts, ...change }), record).marks.map(({ ended }) => ended);
    expect(endedOf({ phase: "complete", keep: true })).toEqual([0, 5, 6]);
    expect(endedOf({ phase: "computing", keep: true })).toEqual([0, 5, 6]);
    expect(endedOf({ phase: "computing" })).toEqual([0, 5, 10]);
  });

  it("says that a pause moved marks only of a generation that was paused", () => {
    const moved = (change: Partial<State>) =>
      timelineOf(read(spec, 1), stateOf({ phase: "computing", turn: 2, ...change }), record).moved;
    const retried = { generation: 2, retriedMs: 80_000 };
    expect(moved(retried)).toBeUndefined();
    expect(moved({ ...retried, pausedAtMs: 70_000 })).toBeUndefined();
    expect(moved({ ...retried, pausedAtMs: 85_000 })).toBe(true);
    expect(moved({ pausedAtMs: 70_000 })).toBe(true);
  });

  it("of a run that no leader has seen is empty", async () => {
    const { client } = await clientWorld();
    await submit(client, { calculation: "sum", params: { to: 1 }, id: "r1" });
    expect(await timeline(client, "r1")).toMatchObject({ packs: 0, marks: [], terms: [], generation: 1 });
  });
});
