import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { type DemoView, plainNote, plainProgress, renderDemo } from "../../src/cli/demo/screen.ts";

const counting: DemoView = {
  to: 1_000_000_000_000,
  cores: 2,
  stage: "planning",
  elapsedMs: 14_300,
  packs: { done: 84, total: 200 },
  packsPerS: 6.4,
  leader: { kind: "leading", name: "node-1", term: 1, forMs: 9_400 },
  instances: [
    { name: "node-1", doing: "leading, computing 1 pack, 1 waiting", mood: "leading", packs: 28 },
    { name: "node-2", doing: "idle", mood: "idle", packs: 1_234 },
    { name: "node-3", doing: "killed", mood: "gone", packs: 27 },
  ],
  notes: Array.from({ length: 7 }, (_, at) => ({
    atMs: at * 10_000,
    text: `event ${at}`,
    mood: "plain" as const,
  })),
};
const screen = { columns: 80, color: false };

describe("the screen of the demo", () => {
  it("the screen shows progress, rate, leader, instances and the last five events within 80 columns", () => {
    expect(renderDemo(counting, screen)).toEqual([
      "Leasefold demo · primes up to 1,000,000,000,000 · 3 instances, 2 cores",
      "",
      "  ██████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░  42 %  84/200 packs",
      "  32.00 billion numbers/s · 6.4 packs/s · 0:14 · 0:18 left",
      "",
      "  leader   node-1 in term 1, for 9.4 s",
      "  node-1   leading, computing 1 pack, 1 waiting      28 packs",
      "  node-2   idle                                   1,234 packs",
      "  node-3   killed                                    27 packs",
      "",
      ...[2, 3, 4, 5, 6].map(
        (at) => `  ${Math.floor(at / 6)}:${`${(at * 10) % 60}`.padStart(2, "0")}  event ${at}`,
      ),
    ]);
  });

  it("the screen keeps the whole address of the dashboard, however many events follow", () => {
    const dashboard = `http://127.0.0.1:65535/api/ui#token=${"k".repeat(32)}`;
    const lines = renderDemo({ ...counting, dashboard }, screen);
    expect(lines[9]).toBe(`  watch    ${dashboard}`);
    expect(lines).toHaveLength(renderDemo(counting, screen).length + 1);
  });

  it("the screen shows in red for how long there has been no leader", () => {
    const leaderless: DemoView = { ...counting, leader: { kind: "nobody", forMs: 3_210 } };
    const line = renderDemo(leaderless, { columns: 80, color: true })[5] ?? "";
    expect(line).toContain("\u001b[31m\u001b[7m no leader for 3.2 s, workers go on ");
    expect(stripVTControlCharacters(line).trim()).toBe("leader    no leader for 3.2 s, workers go on");
  });

  it.each([80, 60, 30])("stays within %d columns whatever it shows", (columns) => {
    const long: DemoView = {
      ...counting,
      to: 99_999_999_999_999,
      packs: { done: 1_000_000, total: 10_000_000 },
      instances: [{ name: "instance-11", doing: "x".repeat(100), mood: "idle", packs: 1e9 }],
      notes: [{ atMs: 3_600_000, text: "y".repeat(200), mood: "bad" }],
    };
    for (const color of [false, true]) {
      for (const line of renderDemo(long, { columns, color })) {
        expect(stripVTControlCharacters(line).length).toBeLessThan(columns);
      }
    }
  });

  it("the screen shows the stage before the plan is made", () => {
    const { packs: _packs, packsPerS: _rate, ...rest } = counting;
    const starting: DemoView = { ...rest, to: undefined, stage: "starting", leader: { kind: "none-yet" } };
    const lines = renderDemo(starting, screen);
    expect(lines[0]).toBe("Leasefold demo · counting primes · 3 instances, 2 cores");
    expect(lines[2]).toBe("  starting");
    expect(lines[5]).toBe("  leader   nobody yet");
  });

  it("fits eight instances on 24 lines", () => {
    const instances = Array.from({ length: 8 }, (_, at) => ({
      name: `n${at}`,
      doing: "idle",
      mood: "idle" as const,
      packs: 0,
    }));
    expect(renderDemo({ ...counting, instances }, screen).length).toBeLessThan(24);
  });

  it("the progress is one line if the output is no terminal", () => {
    expect(plainProgress(counting)).toBe(
      "42 %  84/200 packs · 32.00 billion numbers/s · 6.4 packs/s · 0:14 · 0:18 left · node-1 leads in term 1",
    );
    expect(plainProgress({ ...counting, leader: { kind: "nobody", forMs: 800 } })).toMatch(
      /· no leader for 0\.8 s, workers go on$/,
    );
    expect(plainNote({ atMs: 65_000, text: "SIGKILL", mood: "bad" })).toBe("1:05  SIGKILL");
  });
});
