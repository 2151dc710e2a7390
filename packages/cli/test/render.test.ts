import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { virtualWorld } from "../../../test/support/virtualClock.ts";
import { type Cli, Session } from "../cli.ts";
import { liveLine, progressLine, shareOf } from "../render/progress.ts";
import { runDetails, tryingText } from "../render/runDetails.ts";
import { clipped, right, table, wrapped } from "../render/table.ts";
import {
  bytes,
  clip,
  count,
  dollars,
  duration,
  oneLine,
  percent,
  perSecond,
  shellText,
  wrap,
} from "../render/text.ts";
import { printed } from "./cliWorld.ts";

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Columns by a rule of its own: two for a grapheme of these scripts or of several parts that are no marks, else one. */
const columnsOf = (text: string): number =>
  [...graphemes.segment(text)].reduce(
    (sum, { segment }) =>
      sum + (/[\p{Script=Han}\p{Script=Katakana}\p{Emoji_Presentation}]|ー/u.test(segment) ? 2 : 1),
    0,
  );

describe("amounts", () => {
  it.each([
    [0, "0 s"],
    [2.96, "3 s"],
    [0.84, "0.8 s"],
    [9.94, "9.9 s"],
    [9.96, "10 s"],
    [59.4, "59 s"],
    [59.6, "1 min"],
    [192, "3 min 12 s"],
    [3600, "1 h"],
    [3601, "1 h"],
    [18_180, "5 h 3 min"],
    [187_200, "2 d 4 h"],
  ])("%d seconds are %s", (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });

  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1_234, "1.2 KB"],
    [999_960, "1.0 MB"],
    [3.4e9, "3.4 GB"],
    [5e15, "5000.0 TB"],
  ])("%d bytes are %s", (value, text) => {
    expect(bytes(value)).toBe(text);
  });

  it.each([
    [0, "$0.0000"],
    [0.0000123, "< $0.0001"],
    [0.00005, "$0.0001"],
    [0.0162, "$0.0162"],
    [0.5, "$0.5000"],
    [1_206.8, "$1,206.8000"],
  ])("%d dollars are %s", (value, text) => {
    expect(dollars(value)).toBe(text);
  });

  it("are grouped, rounded down to a percent, and rated with three digits", () => {
    expect([
      count(1_234_567),
      percent(999, 1000),
      percent(0, 0),
      perSecond(0.5),
      perSecond(12.34),
      perSecond(1234),
    ]).toEqual(["1,234,567", "99 %", "100 %", "0.50/s", "12.3/s", "1,234/s"]);
  });
});

describe("text of others", () => {
  it("text of others loses its control characters and stays on one line", () => {
    expect(oneLine("a\u001b[31mred\r\n b\u202e\u0007c\t")).toBe("a [31mred b c");
    expect(clip("abcdef", 4)).toBe("abc…");
    expect(clip("abcd", 4)).toBe("abcd");
  });

  it("a note is one line in our color, whatever text it tells", async () => {
    const err = printed({ color: true });
    const session = new Session({ err } as unknown as Cli, () => ({}));
    await session.note("r1: waits: \u001b[32mx\nr1: complete", "dim");
    expect(err.text()).toBe("\u001b[2mr1: waits: [32mx r1: complete\u001b[22m\n");
  });

  it.each(["plain", "with space", "$(id)", "`id`", 'say "it"', "it's $HOME", "a;b", "a\\b", "!!", "*"])(
    "in a command that is offered, a shell takes %s for one word",
    (text) => {
      expect(execFileSync("bash", ["-c", `printf %s ${shellText(text)}`]).toString()).toBe(text);
    },
  );

  it.each([
    ["データ/売上.csv", 8],
    ["👩‍👩‍👧‍👦 and 🇩🇪 and 🚀🚀🚀", 9],
    ["e\u0301e\u0301e\u0301e\u0301 combined", 6],
    ["plain words only", 7],
  ])("%s is cut and wrapped by the columns that it takes", (text, width) => {
    expect(columnsOf(clip(text, width))).toBeLessThanOrEqual(width);
    expect(columnsOf(clip(text, width))).toBeGreaterThanOrEqual(width - 1);
    const lines = wrap(text, width);
    for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(width);
    expect(lines.join("").replaceAll(" ", "").normalize()).toBe(text.replaceAll(" ", "").normalize());
  });
});

describe("an attempt at work that is still tried", () => {
  const one = { work: "00003/00000042", message: "boom", attempts: 2, attemptsMax: 5 };
  it.each([
    [
      "the chunk that its message names",
      { message: "chunk 17: boom" },
      "chunk 17: attempt 2 of 5: boom; still tried",
    ],
    ["its chunk", { chunks: { from: 7, to: 8 } }, "chunk 7: attempt 2 of 5: boom; still tried"],
    ["its chunks", { chunks: { from: 7, to: 9 } }, "chunks 7–8: attempt 2 of 5: boom; still tried"],
    ["its pack", {}, "pack 42: attempt 2 of 5: boom; still tried"],
    ["its node", { work: "node/1/00003" }, "node/1/00003: attempt 2 of 5: boom; still tried"],
    ["the plan once", { work: "plan", message: "plan: boom" }, "plan: attempt 2 of 5: boom; still tried"],
    ["no limit where none is known", { attemptsMax: undefined }, "pack 42: attempt 2: boom; still tried"],
  ])("names %s first", (_what, change, text) => {
    expect(tryingText({ ...one, ...change })).toBe(text);
  });
});

describe("a table", () => {
  const columns = ["NAME", right("SIZE"), clipped("TEXT")];

  it("clips one column to stay within the width", () => {
    const rows = [
      ["one", "1", "short"],
      ["three", "1,000", "x".repeat(100)],
    ];
    const text = table(printed({ columns: 40 }), columns, rows);
    expect(text).toBe(
      ["NAME    SIZE  TEXT", "one        1  short", `three  1,000  ${"x".repeat(25)}…`, ""].join("\n"),
    );
  });

  it("a column that wraps continues below", () => {
    const wrapping = ["NAME", wrapped("TEXT")];
    const rows = [
      ["one", "several words that take more than one line"],
      ["two", "x"],
    ];
    expect(table(printed({ columns: 24 }), wrapping, rows)).toBe(
      [
        "NAME  TEXT",
        "one   several words that",
        "      take more than one",
        "      line",
        "two   x",
        "",
      ].join("\n"),
    );
  });

  it("cells of wide characters and emoji leave the columns in line", () => {
    const rows = ["売上", "🚀", "e\u0301t\u00e9", "plain"].map((name) => [name, "1", "x".repeat(60)]);
    const lines = table(printed({ columns: 40 }), columns, rows)
      .trimEnd()
      .split("\n");
    for (const line of lines.slice(1)) {
      expect(columnsOf(line)).toBe(40);
      expect(columnsOf(line.slice(0, line.indexOf(" 1 ") + 2))).toBe(11);
    }
  });

  it("the colors of cells do not count as width", () => {
    const text = table(printed({ color: true }), columns, [[{ text: "one", style: "green" }, "1", "t"]]);
    expect(text.split("\n")[1]).toBe("\u001b[32mone \u001b[39m     1  t");
  });
});

const view: RunView = {
  run: "primes-20261121-7f3k2a",
  uid: "u",
  calculation: "primes",
  params: { to: 1_000_000_000 },
  phase: "computing",
  word: "computing",
  active: true,
  paused: false,
  keep: false,
  generation: 1,
  cap: 2000,
  packs: { total: 200, sent: 120, done: 84, failed: 1, resent: 2 },
  chunks: { total: 20_000, done: 8_400, failed: 100 },
  rate: { packsPerS: 12.34, chunksPerS: 1234 },
  timeLeft: { expectedS: 9.3, lowS: 7.5, highS: 13.2 },
  submittedAt: "2026-11-21T03:00:00.000Z",
  elapsedS: 7.2,
  terms: [
    { term: 3, holder: "node-1", since: "2026-11-21T03:00:01.000Z" },
    { term: 4, holder: "node-2", since: "2026-11-21T03:00:05.000Z" },
  ],
  command: { number: 2, want: "run", answer: "pending" },
  calls: { write: 86, list: 12, read: 90, other: 30, queue: 400, delete: 0 },
  ...{ dollars: 0.0015, storageDollars: 0.00076, computeDollars: 0.00074, gbS: 28, executions: 130 },
};

describe("a run", () => {
  it("has a line for each generation where there are several, and its max cost", () => {
    const { calls, dollars: _all, storageDollars, computeDollars, gbS, executions } = view;
    const cost = { calls, storageDollars, computeDollars, gbS, executions };
    const generations = [
      { generation: 1, elapsedS: 5, ...cost, dollars: 0.001 },
      { generation: 2, elapsedS: 2.2, ...cost, dollars: 0.0005 },
    ];
    const paused = { paused: true, pauseReason: "max-cost", maxCost: 0.002 } as const;
    const text = runDetails(printed(), { ...view, ...paused, generation: 2, generations });
    expect(text).toContain("computing, paused at its max cost\n");
    expect(text).toContain("  elapsed      7.2 s in 2 generations, about 9.3 s left (7.5 s to 13 s)\n");
    expect(text).toContain("  max cost     $0.0020, and more work does not fit.");
    expect(text).toContain("  generation   1: 5 s, 618 calls, about $0.0010\n");
    expect(text).toContain("  generation   2: 2.2 s, 618 calls, about $0.0005\n");
  });

  it("has a progress line that fits 80 columns", () => {
    expect(progressLine(view, 79)).toBe(
      "computing  ████░░░░░░  42 %  84/200 packs  1 failed  12.3/s  9.3 s left  term 4",
    );
    expect(
      progressLine(
        {
          ...view,
          packs: { total: 200, sent: 120, done: 84, failed: 0, resent: 0 },
          chunks: { total: 20_000, done: 8_400, failed: 0 },
        },
        79,
      ),
    ).toBe("computing  ████████░░░░░░░░░░░░  42 %  84/200 packs  12.3/s  9.3 s left  term 4");
    const { packs: _packs, rate: _rate, timeLeft: _left, ...unplanned } = view;
    expect(progressLine({ ...unplanned, phase: "planning", word: "planning" }, 79)).toBe(
      "planning  7.2 s  term 4",
    );
  });

  it.each(["failed", "cancelled"] as const)("has no full bar when it has %s", (phase) => {
    const ended = { ...view, phase, word: phase, active: false } as const;
    const all = { total: 200, sent: 200, done: 150, failed: 50, resent: 0 };
    expect(progressLine({ ...ended, packs: all }, 79)).toMatch(/ █+░+ {2}75 % {2}150\/200 packs/);
    expect(runDetails(printed(), { ...ended, packs: all })).toContain("░░ 75 %");
    const { packs: _packs, ...unplanned } = ended;
    expect(shareOf(unplanned)).toBe(0);
    const whole = {
      packs: { ...all, done: 200, failed: 0 },
      chunks: { total: 20_000, done: 20_000, failed: 0 },
    };
    expect(shareOf({ ...ended, phase: "complete", ...whole })).toBe(1);
  });

  it.each([40, 50, 80])("shows how far it is on %i columns", (columns) => {
    const text = runDetails(printed({ columns }), view);
    expect(text).toMatch(/ progress +█+░+ 42 %\n/);
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
    const ended = { ...view, word: "complete-with-gaps", active: false } as const;
    for (const one of [{ ...view, paused: true, keep: true }, ended])
      expect(progressLine(one, columns - 1)).toContain(" 42 %");
  });

  it("says how many of the packs in flight are computed and how many wait, while heartbeats tell", () => {
    const text = (threads: number) =>
      runDetails(printed(), { ...view, computedBy: { instances: 2, threads } });
    expect(text(4)).toContain("in flight    35: 4 computed by 2 instances, 31 wait\n");
    expect(text(40)).toContain("in flight    35: 35 computed by 2 instances, 0 wait\n");
    expect(runDetails(printed(), { ...view, active: false })).not.toContain("in flight    ");
  });

  it("does not call lost packs of a paused run in flight", () => {
    const paused = { ...view, paused: true };
    const text = (more: object) => runDetails(printed(), { ...paused, ...more }).replaceAll(/\s+/g, " ");
    expect(text({})).toContain("in flight none is seen; 35 that were sent wait for the run to go on");
    expect(text({ computedBy: { instances: 1, threads: 2 } })).toContain(
      "in flight 35: 2 computed by 1 instance, 33 wait for the run to go on",
    );
  });

  it("is told in full, one fact a line, within 80 columns", () => {
    const text = runDetails(printed(), view);
    expect(text).toBe(`primes-20261121-7f3k2a  computing
  calculation  primes {"to":1000000000}
  submitted    2026-11-21 03:00:00 UTC
  progress     ████████████░░░░░░░░░░░░░░░░░░ 42 %
  packs        84 of 200 done, 1 failed, 120 sent, 2 resent
  chunks       8,400 of 20,000 done, 100 failed
  rate         12.3/s packs, 1,234/s chunks
  in flight    35
  elapsed      7.2 s, about 9.3 s left (7.5 s to 13 s)
  led by       node-1 (term 3), node-2 (term 4)
  cap          2,000 packs in flight
  command      no. 2: pending
  calls        618 (write 86, list 12, read 90, other 30, queue 400)
  cost         about $0.0015: storage $0.0008, compute $0.0007 (28 GB-s, 130
               executions)
`);
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("says that a run is paused, or finishes with what is done", () => {
    const head = (change: Partial<RunView>) => runDetails(printed(), { ...view, ...change }).split("\n")[0];
    expect(head({ paused: true })).toBe("primes-20261121-7f3k2a  computing, paused");
    expect(head({ keep: true })).toBe("primes-20261121-7f3k2a  computing, ending early");
  });

  it("tells of a deadline and of what is still tried while it works", () => {
    const trying = {
      work: "00000/00000001",
      code: "x",
      message: "chunk 17: boom",
      attempts: 2,
      attemptsMax: 5,
    };
    const deadline = { at: "2026-11-22T10:20:30.000Z", keep: false };
    const text = runDetails(printed(), { ...view, trying, deadline });
    expect(text).toContain("  trying       chunk 17: attempt 2 of 5: boom; still tried\n");
    expect(text).toContain("  deadline     2026-11-22 10:20:30 UTC, then fails\n");
    const kept = runDetails(printed(), { ...view, deadline: { ...deadline, keep: true } });
    expect(kept).toContain("UTC, then finishes with what is done\n");
    const { packs: _packs, ...unplanned } = view;
    expect(runDetails(printed(), { ...unplanned, deadline: { ...deadline, keep: true } })).toContain(
      " UTC, then fails unless it is planned\n",
    );
    expect(runDetails(printed(), { ...view, active: false, deadline })).not.toContain("deadline");
  });

  it("names what its result misses", () => {
    const text = runDetails(printed(), {
      ...view,
      phase: "complete",
      word: "complete-with-gaps",
      active: false,
      result: {
        generation: 1,
        contentType: "application/json",
        bytes: 1234,
        sha256: "0123456789abcdef",
        folded: 19_900,
        complete: false,
        missing: [
          { from: 100, to: 200 },
          { from: 300, to: 301 },
        ],
        code: ["primes@1"],
      },
    });
    expect(text).toContain("complete with gaps");
    expect(text).toContain("  result       1.2 KB application/json, sha256 0123456789ab…\n");
    expect(text).toContain("  missing      chunks 100–199, 300\n");
    expect(text).not.toContain("cap");
  });
});

describe("a live line", () => {
  it("is rewritten in place on a terminal", async () => {
    const screen = printed({ tty: true });
    const live = liveLine(screen, virtualWorld().clock());
    await live.show("one", "a");
    await live.show("one", "a");
    await live.show("two", "a");
    await live.end();
    expect(screen.text()).toBe("\r\u001b[2Kone\r\u001b[2Ktwo\n");
  });

  it("without a terminal a live line is printed for each change, and otherwise once in five seconds", async () => {
    const world = virtualWorld();
    const screen = printed();
    const live = liveLine(screen, world.clock());
    await live.show("1 %", "computing");
    await live.show("2 %", "computing");
    await live.show("3 %", "finishing");
    await world.advance(5_001);
    await live.show("4 %", "finishing");
    await live.end();
    expect(screen.text()).toBe("1 %\n3 %\n4 %\n");
  });
});
