import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { rangesText } from "../../../src/engine/model/packs.ts";
import { readFreeOptions } from "../../cli/freeOptions.ts";
import { stateOf } from "../parts/runState.ts";
import { shellWord, submitCommand, submitCurl } from "../run/commands.ts";
import { groupText } from "../run/failures/failureGroups.ts";
import { figuresOf } from "../run/liveFigures.ts";
import { canRetry, commandText, retryButton, retryText, verbsOf } from "../run/steer/steering.ts";
import { agoText, pathOfRuns, rowOf } from "../runs/runRow.ts";
import { termRows } from "../system/leaderModel.ts";
import { at, hostileText, startMs, viewOf } from "./browser/fixture/fixtureRuns.ts";

const packs = { total: 100, done: 80, failed: 3, sent: 90, resent: 0 };
const chunks = { total: 1_000, done: 800, failed: 30 };
const failed = viewOf({ run: "x", word: "failed", phase: "failed", active: false, packs, chunks });
const working = viewOf({ run: "x", word: "computing", phase: "computing", active: true, packs, chunks });

test("a retry states exactly what has no partial, what stays, and the next generation", () => {
  expect(retryText(failed)).toBe(
    "Computes 20 packs (200 chunks) without a partial: 3 failed, 17 never finished. The 80 done stay as they are. The result is that of generation 2.",
  );
  expect(retryButton(failed)).toBe("Retry 20 packs");
  const { packs: _packs, chunks: _chunks, ...unplanned } = failed;
  expect(retryText(unplanned)).toContain("never planned");
  const all = { ...failed, packs: { ...packs, done: 100, failed: 0 }, chunks: { ...chunks, done: 1_000 } };
  expect([retryText(all), retryButton(all)]).toEqual([
    "Every pack has its partial: a retry only folds them again, as generation 2.",
    "Retry",
  ]);
});

test("only what makes sense for a run can be done with it", () => {
  expect(verbsOf(working)).toEqual(["pause", "cap", "cancel", "delete"]);
  expect(verbsOf({ ...working, paused: true })).toEqual(["resume", "cap", "cancel", "delete"]);
  const atMaxCost = { ...working, paused: true, pauseReason: "max-cost" } as const;
  expect(verbsOf(atMaxCost)).toEqual(["pause", "cap", "cancel", "delete"]);
  expect(verbsOf({ ...working, word: "cancelling" })).toEqual(["delete"]);
  expect(verbsOf({ ...working, word: "finishing", phase: "finishing" })).toEqual(["delete"]);
  expect(verbsOf({ ...working, keep: true })).toEqual(["cancel", "delete"]);
  const command = { number: 1, want: "cancelled", answer: "done" } as const;
  expect(verbsOf({ ...working, keep: true, command })).toEqual(["delete"]);
  expect(verbsOf({ ...working, word: "deleting" })).toEqual([]);
  expect(verbsOf(failed)).toEqual(["retry", "delete"]);
  const complete = viewOf({ run: "x", word: "complete", phase: "complete", active: false });
  expect([canRetry(complete), canRetry({ ...complete, word: "complete-with-gaps" })]).toEqual([false, true]);
  for (const code of ["inputs-changed", "plan-lost"])
    expect(canRetry({ ...failed, error: { code, message: "" } })).toBe(false);
});

test("a command that no leader has answered is told, one that is done is not", () => {
  const given = (answer: "pending" | "done" | "refused") =>
    commandText({ ...working, command: { number: 1, want: "paused", answer } });
  expect([given("pending"), given("done"), given("refused")]).toEqual([
    "pause: asked, a leader has not answered yet",
    undefined,
    "pause: refused by the leader",
  ]);
});

test.each(["plain", "two words", "it's", "$(id)", "`id`", "-rf", "a\nb", "", "!x", "*"])(
  "the word %j reaches a shell as it is",
  (word) => {
    expect(execFileSync("sh", ["-c", `printf %s ${shellWord(word)}`]).toString()).toBe(word);
  },
);

test("a copied command gives the CLI the very parameters of the run, whatever they are", () => {
  const params = {
    to: 1e11,
    where: `"Effect" != 'None'`,
    flag: true,
    list: [1, { a: "b" }],
    empty: "",
    evil: hostileText,
  };
  const command = submitCommand("my calc", params);
  const words = execFileSync("sh", ["-c", `for w in ${command}; do printf '%s\\0' "$w"; done`])
    .toString()
    .split("\0")
    .slice(0, -1);
  expect(words.slice(0, 3)).toEqual(["leasefold", "submit", "my calc"]);
  const pairs = words.slice(3).filter((word) => word !== "--param");
  const rows = [
    ["to", "integer"],
    ["where", "string"],
    ["flag", "boolean"],
    ["list", "array"],
    ["empty", "string"],
    ["evil", "string"],
  ].map(([name = "", type = ""]) => ({ name, type, description: "" }));
  expect(readFreeOptions([], pairs, rows)).toEqual(params);
});

test("a copied curl command sends the same body and no key", () => {
  const line = submitCurl("c", { a: "it's" }, "https://app/api/ui").replace(/^curl/, "printf '%s\\n'");
  const words = execFileSync("sh", ["-c", line]).toString().split("\n");
  expect(words).toContain('{"calculation":"c","params":{"a":"it\'s"}}');
  expect(words).toContain("https://app/api/runs");
  expect(line).toContain("$LEASEFOLD_KEY");
});

test("groups tell packs, chunks, other work and attempts", () => {
  const group = { code: "c", message: "m", sample: "m", tasks: [], attempts: 1 };
  expect(groupText({ ...group, packs: [3], chunks: [{ from: 30, to: 40 }] })).toBe(
    "1 pack (chunks 30–39), 1 attempt",
  );
  expect(groupText({ ...group, packs: [], chunks: [], tasks: ["plan"], attempts: 5 })).toBe(
    "plan, 5 attempts",
  );
  const many = Array.from({ length: 9 }, (_, index) => ({ from: index * 10, to: index * 10 + 1 }));
  expect(rangesText(many, 6)).toBe("0, 10, 20, 30, 40, 50, and 3 more");
});

test("a row shows what is known of a run, and an unreadable one its error", () => {
  expect(rowOf(failed, startMs + 3_700_000)).toMatchObject({
    age: "1 h ago",
    progress: "80 %",
    packs: "80 / 100, 3 failed",
    calculation: "primes to=100000000000 from=0",
    stopped: true,
  });
  expect(rowOf({ ...working, params: undefined }, startMs)).toMatchObject({
    ...{ calculation: "primes", stopped: false },
  });
  const shares = (view: RunView) => {
    const { done, failed, progress, packs } = rowOf(view, startMs);
    return [done, failed, progress, packs];
  };
  expect(shares(working)).toEqual([0.8, expect.closeTo(0.03), "83 %", "80 / 100, 3 failed"]);
  const early = { ...working, keep: true };
  const gaps = viewOf({ ...failed, word: "complete-with-gaps", phase: "complete" });
  for (const one of [early, gaps]) {
    expect(shares(one)).toEqual([0.8, 0, "80 %", "80 / 100, 3 missing"]);
    expect(figuresOf(one, 0).find(({ name }) => name === "packs")?.note).toBe("3 missing");
  }
  const gaveUp = { ...early, packs: { ...packs, failed: 0, givenUp: 20 } };
  expect(shares(gaveUp)).toEqual([0.8, 0, "80 %", "80 / 100, 20 given up"]);
  expect(figuresOf(gaveUp, 0).find(({ name }) => name === "packs")?.note).toBe("20 given up");
  const unreadable = {
    run: "x",
    word: "unreadable",
    active: false,
    error: { code: "bad", message: "no JSON" },
  } as const;
  expect(rowOf(unreadable, 0)).toEqual({
    ...{ id: "x", error: "no JSON", done: 0, failed: 0, stopped: false },
    state: { mark: "attention", tone: "bad", text: "unreadable" },
  });
  expect([agoText(0), agoText(59), agoText(60), agoText(200_000)]).toEqual([
    "just now",
    "59 s ago",
    "1 min ago",
    "2 d ago",
  ]);
  expect(pathOfRuns({ phase: "failed", cursor: "a b" })).toBe("runs?limit=50&phase=failed&cursor=a+b");
});

test("a state is a shape, a tone and words, also one of a newer version", () => {
  expect(stateOf({ word: "computing", paused: true, keep: true })).toEqual({
    ...{ mark: "paused", tone: "warn", text: "computing, paused, ending early" },
  });
  expect(stateOf({ word: "new-state" })).toEqual({ mark: "attention", tone: "warn", text: "new state" });
});

test("terms tell how long each led and how long nobody led before it, the newest first", () => {
  const terms = [
    { term: 1, holder: "a", since: at(0), until: at(10), cameBy: "free" as const },
    { term: 2, holder: "b", since: at(14), until: at(20), cameBy: "expired" as const },
    { term: 3, holder: "a", since: at(20.5), cameBy: "handed-over" as const },
  ];
  const rows = termRows(terms, true, startMs + 30_500);
  expect(rows.map(({ term, led, gap, open }) => [term, led, gap, open])).toEqual([
    [3, "10 s", undefined, true],
    [2, "6 s", "4 s", false],
    [1, "10 s", undefined, false],
  ]);
  expect(termRows([{ term: 1, holder: "a", since: at(0), cameBy: "free" }], false, startMs)[0]?.led).toBe(
    "–",
  );
});
