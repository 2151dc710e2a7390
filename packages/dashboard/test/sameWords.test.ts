import { expect, it } from "vitest";
import { report } from "../../../src/app/api/report.ts";
import { status } from "../../../src/engine/client/status.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { sentence } from "../../../src/engine/model/figures.ts";
import type { Marker } from "../../../src/engine/model/marker.ts";
import { cutTo, prefixName, stoppingLayout } from "../../../src/engine/model/prefixes.ts";
import type { State } from "../../../src/engine/model/state.ts";
import { clientWorld, names } from "../../../test/client/clientWorld.ts";
import { progressLine, shareOf } from "../../cli/render/progress.ts";
import { runDetails } from "../../cli/render/runDetails.ts";
import { renderRun } from "../../cli/render/runScreen.ts";
import { printed } from "../../cli/test/cliWorld.ts";
import { figuresOf } from "../run/liveFigures.ts";
import { rowOf } from "../runs/runRow.ts";

const layout = { chunks: 95, packSize: 10, shardSize: 256, fanIn: 1000, packMs: 1 };
const bits = (byte: number) => Buffer.from([byte, 0]).toString("base64url");
/** 5 of 10 packs are done, and pack 5 has failed. */
const open = { 0: { done: bits(0b11111), failed: bits(0b100000) } };
const counts = { packsDone: 5, packsFailed: 1, chunksDone: 50, chunksFailed: 10 };
const half: Partial<State> = { layout, phase: "computing", cursor: 8, inFlight: 2, open, ...counts };
const sealed = { 0: { members: bits(0b11111), gen: 1, node: false } };
const gapped: Partial<State> = {
  ...{ ...half, cursor: 10, inFlight: 0, open: {}, sealed, packsFailed: 5, chunksFailed: 45 },
  ...{ keep: true, phase: "complete" },
};
const gaveUp = { cursor: 8, failed: { 0: bits(0b100000) } };
const cancel = { want: "cancelled", command: 1 } as const;

interface Case {
  readonly state?: Partial<State>;
  /** None for a run that has ended, or whose submit broke off. */
  readonly marker: Partial<Marker> | undefined;
  readonly word: string;
  /** Of the packs; absent before the plan. */
  readonly percent?: string;
  readonly lost?: string;
}

const cases: readonly Case[] = [
  { marker: {}, word: "waiting" },
  { marker: undefined, word: "not accepted" },
  {
    state: { phase: "finishing", layout: { ...layout, chunks: 0 } },
    marker: {},
    word: "finishing",
    percent: "100 %",
  },
  { state: { phase: "planning" }, marker: {}, word: "planning" },
  { state: half, marker: {}, word: "computing", percent: "60 %", lost: "1 failed" },
  { state: half, marker: { want: "paused" }, word: "computing, paused", percent: "60 %", lost: "1 failed" },
  { state: half, marker: cancel, word: "cancelling", percent: "60 %", lost: "1 failed" },
  {
    state: half,
    marker: { want: "delete", command: 1 },
    word: "deleting",
    percent: "60 %",
    lost: "1 failed",
  },
  {
    ...{ state: half, marker: { ...cancel, keep: "1" } },
    ...{ word: "computing, ending early", percent: "50 %", lost: "1 missing" },
  },
  {
    // Past its deadline; a pause is too late, and a plain cancel is not.
    ...{
      state: { ...half, keep: true, command: 1, answer: "too-late" },
      marker: { want: "paused", command: 1 },
    },
    ...{ word: "computing, ending early", percent: "50 %", lost: "1 missing" },
  },
  {
    ...{ state: { ...half, keep: true, command: 1, answer: "too-late" }, marker: { ...cancel, command: 2 } },
    ...{ word: "cancelling", percent: "60 %", lost: "1 failed" },
  },
  {
    ...{ state: { ...half, keep: true }, marker: { want: "delete", command: 1 } },
    ...{ word: "deleting", percent: "60 %", lost: "1 failed" },
  },
  {
    ...{ state: { ...half, phase: "finishing", command: 1, answer: "too-late" }, marker: cancel },
    ...{ word: "finishing", percent: "60 %", lost: "1 failed" },
  },
  {
    state: { ...half, phase: "failed" },
    marker: undefined,
    word: "failed",
    percent: "50 %",
    lost: "1 failed",
  },
  {
    ...{ state: { ...half, phase: "cancelled" }, marker: undefined },
    ...{ word: "cancelled", percent: "50 %", lost: "1 failed" },
  },
  {
    ...{ state: { ...gapped, gaveUp }, marker: undefined },
    ...{ word: "complete with gaps", percent: "50 %", lost: "5 missing (4 given up)" },
  },
  {
    ...{ state: { ...gapped, gaveUp: { cursor: 8, failed: {} } }, marker: undefined },
    ...{ word: "complete with gaps", percent: "50 %", lost: "5 given up" },
  },
  {
    ...{ state: gapped, marker: { generation: 2, command: 2 } },
    ...{ word: "waiting", percent: "50 %", lost: "5 failed" },
  },
];

it.each(cases)("CLI, dashboard and report say the same of a run that is $word (case %$)", async (one) => {
  const { client, storage, putState, putMarker } = await clientWorld();
  const run = await submit(client, { calculation: "sum", params: { to: 95 }, id: "r1" });
  storage.operator.deleteBlob(names.active, "r1");
  if (one.marker !== undefined) await putMarker(run, one.marker);
  if (one.state !== undefined) await putState(run, one.state);
  const view = await status(client, "r1");
  const page = await report(client, "r1");
  const cells = (text: string) => text.replace(/<[^>]+>/g, "\n").replace(/\n+/g, "\n");

  const line = progressLine(view, 200);
  const details = runDetails(printed({ columns: 200 }), view);
  expect(line.startsWith(`${one.word}  `)).toBe(true);
  expect(details.startsWith(`r1  ${one.word}\n`)).toBe(true);
  const row = rowOf(view, Date.parse(view.submittedAt));
  expect(row.state.text).toBe(one.word);
  expect(cells(page)).toContain(`\n${one.word}\n`);

  expect(row.progress).toBe(one.percent);
  const found = [line, details].map((text) => / (\d+ %)/.exec(text)?.[1]);
  const reported = /(\d+ %)\n of the packs/.exec(cells(page))?.[1];
  expect([...found, reported]).toEqual([one.percent, one.percent, one.percent]);

  const share = Number(one.percent?.replace(" %", "") ?? 0) / 100;
  for (const drawn of [shareOf(view), row.done + row.failed]) expect(drawn).toBeCloseTo(share);

  const note = figuresOf(view, 0).find(({ name }) => name === "packs")?.note;
  expect(note === "" ? undefined : note).toBe(one.lost);
  if (one.lost === undefined) return;
  expect(details).toContain(`5 of 10 done, ${one.lost}, `);
  expect(cells(page)).toContain(`\n5 / 10\n${one.lost}\n`);
  const short = one.lost.replace(/ \(.*/, "");
  expect(line).toContain(`  5/10 packs  ${short}`);
  expect(row.packs).toBe(`5 / 10, ${short}`);
});

it.each([
  ["computing", "100 %", "1 failed"],
  ["complete", "98 %", "1 missing"],
] as const)("a %s run of which one pack has a gap is told by its chunks", async (phase, percent, lost) => {
  const { client, storage, putState } = await clientWorld();
  const run = await submit(client, { calculation: "sum", params: { to: 95 }, id: "r1" });
  if (phase === "complete") storage.operator.deleteBlob(names.active, "r1");
  const bitmap = Buffer.from([0b11111111, 0b11]).toString("base64url");
  const told = { packsDone: 10, packsFailed: 0, chunksDone: 94, chunksFailed: 1 };
  await putState(run, { layout, phase, cursor: 10, open: { 0: { done: bitmap, gaps: 1 } }, ...told });
  const view = await status(client, "r1");
  expect(progressLine(view, 200)).toContain(`  ${percent}  94/95 chunks  ${lost}`);
  const details = runDetails(printed({ columns: 200 }), view);
  expect(details).toContain("10 of 10 done");
  expect(details).toContain(`94 of 95 done, ${lost}`);
  const row = rowOf(view, Date.parse(view.submittedAt));
  expect([row.progress, row.packs]).toEqual([percent, `94 / 95 chunks, ${lost}`]);
  const figures = figuresOf(view, 0).filter(({ name }) => name === "packs" || name === "chunks");
  expect(figures.map(({ note }) => note)).toEqual(["", `of 95, ${lost}`]);
});

it("a run that may stop is told up to the prefix that it is asked about next, and then as a whole", async () => {
  const { client, putState } = await clientWorld();
  const run = await submit(client, { calculation: "sum", params: { to: 95 }, id: "r1" });
  const stopping = stoppingLayout({ ...layout, chunks: 1_000, packSize: 8, stops: true });
  const asked = { gen: 1, node: true, stops: false };
  /** 16 and 32 chunks were refused; of 48 five of six packs are done, of those beyond them two. */
  const packBits = (byte: number) => Buffer.from([byte]).toString("base64url");
  const open = { 2: { done: packBits(0b01) }, 4: { done: packBits(0b11) } };
  const sealed = { 0: { gen: 1, node: true }, 1: { gen: 1, node: true } };
  const groups = { [prefixName(0)]: asked, [prefixName(1)]: asked };
  const counts = { packsDone: 7, chunksDone: 56, cursor: 12, inFlight: 5 };
  const computing = { ...{ layout: { ...layout, ...stopping }, phase: "computing" as const }, ...counts };
  await putState(run, { ...computing, open, sealed, groups });
  const view = await status(client, "r1");
  const next = { chunks: 48, packs: { total: 6, done: 5, failed: 0 } };
  expect(view).toMatchObject({ packs: { total: 125, done: 7 }, stop: { of: 1_000, next } });
  const details = runDetails(printed({ columns: 200 }), view);
  expect(details).toContain(" 83 %\n");
  const words = "it may stop after 48 of 1,000 chunks; progress and remaining time are up to there";
  expect(details).toContain(`stop         ${words}\n`);
  expect(progressLine(view, 200)).toContain("  83 %  5/6 of 125 packs");
  const screen = { view, about: "", leader: undefined, workers: [], notes: [] };
  expect(renderRun(screen, printed({ columns: 200 })).join("\n")).toContain("  83 %  5/6 of 125 packs");
  expect(await report(client, "r1")).toContain(sentence(words));
  const row = rowOf(view, Date.parse(view.submittedAt));
  expect([row.progress, row.packs, row.done]).toEqual(["83 %", "5 / 6 of 125", 5 / 6]);

  const whole = { 0: sealed[0], 1: sealed[1], 2: { gen: 1, node: true } };
  const cut = { ...layout, ...cutTo(stopping, 48) };
  const stopped = { layout: cut, stopped: { of: 1_000 }, sealed: whole, open: {}, groups };
  await putState(run, {
    ...computing,
    ...stopped,
    phase: "finishing",
    packsDone: 6,
    chunksDone: 48,
    cursor: 6,
  });
  const ended = await status(client, "r1");
  expect(ended.stop).toEqual({ of: 1_000, after: 48 });
  expect(progressLine(ended, 200)).toContain("  100 %  6/6 packs");
  expect(runDetails(printed({ columns: 200 }), ended)).toContain("it stopped after 48 of 1,000 chunks\n");
});
