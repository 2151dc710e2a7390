import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import type { LeaderView } from "../../../src/engine/client/leader.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { type RunFacts, renderRun } from "../render/runScreen.ts";

const leader = (heartbeatAgeS: number, kind: "leading" | "nobody" = "leading"): LeaderView => ({
  ...{ kind, holder: "node-1", term: 1, since: "2026-11-21T00:00:00Z", heartbeatAgeS },
  ...{ lease: "leased", cameBy: "free", notes: {}, terms: [] },
});
const view = (change: Partial<RunView> = {}): RunView =>
  ({
    ...{ run: "r1", active: true, phase: "computing", word: "computing", calculation: "sum" },
    packs: { done: 84, total: 200, failed: 0, givenUp: 0, sent: 100, resent: 0 },
    ...{ rate: { packsPerS: 6.4, chunksPerS: 64 }, timeLeft: { expectedS: 18, lowS: 15, highS: 20 } },
    ...{ elapsedS: 14.3, dollars: 0.0012, terms: [] },
    ...change,
  }) as RunView;
const computing: RunFacts = {
  ...{ view: view(), about: "primes up to 10", leader: leader(0.4), address: undefined },
  workers: [
    { name: "node-1", doing: "pack 17 for 3 s", style: "green" },
    { name: "node-2", doing: "packs 4 for 1 s, 9 for 2 s", done: "1 waiting" },
  ],
  notes: Array.from({ length: 7 }, (_, at) => ({ atMs: at * 10_000, text: `event ${at}` })),
};
const screen = { columns: 80, rows: 24, color: false };

describe("the live screen of a run", () => {
  it("the screen shows progress, rate, cost, leader, who computes what and the last five events in 80 columns", () => {
    expect(renderRun(computing, screen)).toEqual([
      "r1  computing  primes up to 10",
      "",
      "  ██████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░  42 %  84/200 packs",
      "  6.40/s packs · 0:14 · 0:18 left · $0.0012",
      "",
      "  leader   node-1 in term 1",
      "  node-1   pack 17 for 3 s",
      "  node-2   packs 4 for 1 s, 9 for 2 s               1 waiting",
      "",
      ...["0:20  event 2", "0:30  event 3", "0:40  event 4", "0:50  event 5", "1:00  event 6"].map(
        (line) => `  ${line}`,
      ),
    ]);
  });

  it("the screen shows the whole address of the dashboard, however many events follow", () => {
    const address = `http://127.0.0.1:65535/api/ui#token=${"k".repeat(32)}`;
    expect(renderRun({ ...computing, address }, screen)).toContain(`  watch    ${address}`);
  });

  it.each([
    [leader(3.21), " node-1 silent for 3.2 s, workers go on "],
    [leader(5, "nobody"), " no leader for 5 s, workers go on "],
  ])("the screen shows in red for how long there has been no heartbeat of a leader", (seen, text) => {
    const line = renderRun({ ...computing, leader: seen }, { ...screen, color: true })[5] ?? "";
    expect(line).toContain(`\u001b[31m\u001b[7m${text}`);
    expect(stripVTControlCharacters(line).trimEnd()).toBe(`  leader   ${text}`.trimEnd());
  });

  it.each([
    [undefined, true, "nobody yet"],
    [leader(0), false, "nobody, there is nothing left to lead"],
  ])("the screen says why nobody leads: %#", (seen, active, text) => {
    const lines = renderRun({ ...computing, view: view({ active }), leader: seen }, screen);
    expect(lines[5]).toBe(`  leader   ${text}`);
  });

  it.each([80, 60, 30])("the screen stays within %d columns whatever it shows", (columns) => {
    const long: RunFacts = {
      ...computing,
      ...{ view: view({ run: "r".repeat(63) }), about: "x".repeat(200) },
      workers: [{ name: "instance-of-a-long-name-11", doing: "y".repeat(100), done: "z".repeat(40) }],
      notes: [{ atMs: 3_600_000, text: "y".repeat(200), style: "red" }],
    };
    for (const color of [false, true])
      for (const line of renderRun(long, { columns, rows: 24, color }))
        expect(stripVTControlCharacters(line).length).toBeLessThan(columns);
  });

  it("the screen has no more lines than the terminal, and says how many workers it leaves out", () => {
    const workers = Array.from({ length: 40 }, (_, at) => ({ name: `n${at}`, doing: "pack 1 for 1 s" }));
    const lines = renderRun({ ...computing, workers, address: "http://127.0.0.1" }, screen);
    expect(lines.length).toBeLessThan(24);
    expect(lines.find((line) => line.includes("more"))).toBe("  32 more at work");
  });

  it("a run without a plan has no bar", () => {
    const { packs: _packs, ...planless } = view({ word: "planning" });
    expect(renderRun({ ...computing, view: planless as RunView }, screen)[2]).toBe("  no plan yet");
  });
});
