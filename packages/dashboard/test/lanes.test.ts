import { expect, test } from "vitest";
import type { WorkAtHand, Worker } from "../../../src/engine/client/inspection/workers.ts";
import { type Board, boardsAfter, laneMs, lanesOf, placeOf, stateOfBoard } from "../system/lanes.ts";

const work = (pack: number, forS: number): WorkAtHand => ({
  ...{ run: "r", uid: "u", work: `pack ${pack}`, pack, generation: 1, send: 1, isolated: false, forS },
});
const worker = (instance: string, computes: readonly WorkAtHand[], more: Partial<Worker> = {}): Worker => ({
  ...{
    instance,
    boot: "a",
    state: "live",
    version: "1",
    threads: 2,
    memoryMb: 1,
    codes: [],
    heartbeatAgeS: 0,
  },
  ...{ computes: [...computes], holds: [], ...more },
});

/** The boards after answers that came at these seconds. */
const after = (...answers: readonly (readonly [atS: number, ...workers: Worker[]])[]): readonly Board[] =>
  answers.reduce<readonly Board[]>(
    (boards, [atS, ...workers]) => boardsAfter(boards, { workers }, atS * 1_000),
    [],
  );
const drawn = (board: Board | undefined) =>
  board === undefined
    ? []
    : lanesOf(board).map((lane) =>
        lane.map(({ text, fromMs, toMs }) => [text, fromMs / 1_000, (toMs ?? 0) / 1_000]),
      );

test("work keeps its lane while it lasts, and the next piece takes the one that became free", () => {
  const [board] = after(
    [100, worker("one", [work(1, 10), work(2, 4)])],
    [102, worker("one", [work(2, 6), work(3, 1)])],
  );
  expect(drawn(board)).toEqual([
    [
      ["pack 1", 90, 102],
      ["pack 3", 101, 0],
    ],
    [["pack 2", 96, 0]],
  ]);
});

test("an instance without a heartbeat stays while its lanes show what it did, and has a lane for each idle thread", () => {
  const first = [100, worker("one", [work(1, 10)])] as const;
  const [idle] = after(first, [102]);
  expect(drawn(idle)).toEqual([[["pack 1", 90, 102]], []]);
  expect(idle && stateOfBoard(idle).text).toBe("no heartbeat: idle, or short work");
  expect(after(first, [102], [102 + laneMs / 1_000])).toEqual([]);
});

test("what died with its process ends with the last heartbeat, and goes on if the process was only late", () => {
  const first = [100, worker("one", [work(1, 10)])] as const;
  const late = worker("one", [work(1, 10)], { state: "silent", heartbeatAgeS: 10 });
  expect(drawn(after(first, [110, late])[0])[0]).toEqual([["pack 1", 90, 100]]);
  expect(drawn(after(first, [110, late], [112, worker("one", [work(1, 22)])])[0])[0]).toEqual([
    ["pack 1", 90, 0],
  ]);
  const dead = worker("one", [work(1, 10)], { state: "ended", ended: "exit code 1", heartbeatAgeS: 1 });
  const [board] = after([101, dead]);
  expect(board?.stretches).toMatchObject([{ cut: true, toMs: 100_000 }]);
  expect(board && stateOfBoard(board)).toMatchObject({ tone: "bad", text: "ended: exit code 1" });
});

test("instances stand in the order of their names, and a new process of one is another board", () => {
  const boards = after([1, worker("node-10", []), worker("node-2", []), worker("node-2", [], { boot: "b" })]);
  expect(boards.map(({ worker: { instance, boot } }) => `${instance} ${boot}`)).toEqual([
    ...["node-2 a", "node-2 b", "node-10 a"],
  ]);
});

test("a heartbeat that claims any number of threads gets 256 lanes", () => {
  const [board] = after([1, worker("one", [], { threads: 1e12 })]);
  expect(board && lanesOf(board)).toHaveLength(256);
});

test("a stretch that began before the lane does begins at its left end", () => {
  const of = { key: "", lane: 0, run: "r", text: "" };
  const nowMs = 500_000;
  expect(placeOf({ ...of, fromMs: nowMs - laneMs / 4 }, nowMs)).toEqual({ left: 0.75, width: 0.25 });
  expect(placeOf({ ...of, fromMs: 0, toMs: nowMs - laneMs / 2 }, nowMs)).toEqual({ left: 0, width: 0.5 });
});
