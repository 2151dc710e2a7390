import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { attemptsFor } from "../../src/engine/calculation/chunkAttempts.ts";
import { judgements, lostAfterMs, verdictOf } from "../../src/engine/leader/inFlight/judge.ts";
import { backOff } from "../../src/engine/model/backOff.ts";
import {
  CalculationError,
  LeasefoldError,
  laterCode,
  OtherVersionError,
  StorageError,
} from "../../src/engine/model/errors.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import {
  attemptAfter,
  attemptAskedFor,
  delayOf,
  failsEveryTime,
  fateOf,
} from "../../src/engine/worker/attempt/fate.ts";
import { OtherCodeError } from "../../src/engine/worker/attempt/rightCode.ts";
import { NoThreadError } from "../../src/engine/worker/threads/threadSlots.ts";
import { computing } from "../support/runFixtures.ts";

/** The page about work in flight is held against what the code does with each of its reasons. */

const root = resolve(import.meta.dirname, "../..");
const page = readFileSync(join(root, "src/engine/leader/inFlight/README.md"), "utf8");

/** The rows of the table whose first column has this header. */
function rowsOf(header: string): string[][] {
  const [, rows = ""] =
    new RegExp(`^ *\\| ${header} \\|.*\\n *\\|[-|: ]+\\n((?: *\\|.*\\n)+)`, "m").exec(page) ?? [];
  return rows
    .trim()
    .split("\n")
    .map((row) =>
      row
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

test("the judgements of the page are those of the code, in their order", () => {
  const told = rowsOf("it is").map(([is, , does]) => ({ is, does }));
  expect(told).toEqual(judgements.map((row) => ({ is: row.is, does: row.do })));
});

const message: WorkMessage = {
  ...{ v: 1, kind: "compute", run: "r", uid: "u", gen: 1, send: 1, turn: 0 },
  ...{ shard: 0, pack: 0, from: 0, to: 1 },
};
const delivery = { queue: "q", text: "", attempt: 1, urgent: false, waitedMs: 0 };
const drawn = (number: number) => ({ number: () => number, uuid: () => "" });
const fate = (error: unknown): string => fateOf(error, { last: false, asked: false });
const number = (value: number): string => String(Number(value.toFixed(1)));

/** The pauses before each of the attempts that the page counts. */
const pauses = (error: unknown): string => {
  const all = Array.from({ length: limits.attemptsDefault - 1 }, (_, tries) => {
    const { laterS } = attemptAfter({ ...message, tries }, error, {});
    return `${laterS} s`;
  });
  return `after ${(new Set(all).size === 1 ? all.slice(0, 1) : all).join(", ")}`;
};
const attempts = `${limits.attemptsDefault} attempts of a send`;
const delay = (error: unknown, urgent = false, drawnNumber = 0): number =>
  delayOf(error, { ...delivery, urgent }, drawn(drawnNumber));

const threw = new CalculationError("calculation-threw", "no");
const wrong = new CalculationError("calculation-threw", "no", { details: { program: true } });
const thread = new CalculationError("thread-exited", "no");
const bug = new Error("no");
const busy = new StorageError("busy", "ServerBusy", 503, "busy");
const stopping = new LeasefoldError("stopping", "this instance stops", { retry: "later" });
const other = new OtherCodeError("a@1", "a@2");
const hopeless = new CalculationError("not-json", "no");
const asks = new CalculationError(laterCode, "later", { details: { laterS: 7 } });

/** How many sends that end so there are until the work has failed. */
function sendsOf(cause: "error" | "unreported", code: string): number {
  for (let sends = 1; ; sends += 1) {
    const ended = Array.from({ length: sends }, (_, at) => ({
      ...{ send: at + 1, cause, code, message: "", final: false },
    }));
    if (verdictOf(ended, { send: sends, awaitedFrom: 1 }).kind === "fail") return sends;
  }
}
/** Whether sends that end so never fail the work by themselves. */
const againAlways = (code: string): boolean =>
  verdictOf(
    Array.from({ length: 50 }, (_, at) => ({
      send: at + 1,
      cause: "unreported",
      code,
      message: "",
      final: false,
    })),
    { send: 50, awaitedFrom: 1 },
  ).kind === "replace";
const lostMs = (durationsMs: number[]): number => lostAfterMs({ ...computing(20), durationsMs });

/** The first words of each reason, with what the code says: what becomes of it, after how long, and how often. */
const reasons: readonly (readonly [string, string, string, string])[] = [
  [
    "threw in user code",
    fate(threw),
    pauses(threw),
    `${attempts}, ${attemptsFor(wrong, 5)} where the code is wrong`,
  ],
  ["ended its thread", fate(thread), pauses(thread), attempts],
  ["had another error that may pass", fate(bug), pauses(bug), attempts],
  [
    "asked for a later attempt",
    attemptAskedFor(message, asks)?.laterS === 7 ? "next-attempt" : "",
    "after the seconds that it names",
    `${backOff.asksMax} times, ${backOff.waitMaxS} s of waits`,
  ],
  ["met busy storage", fate(busy), `after ${delay(busy)} s`, "no limit: it counts as no attempt"],
  [
    "was cut off by an instance that stops",
    fate(stopping),
    `after ${delay(stopping)} s`,
    "no limit: it counts as no attempt",
  ],
  [
    "found every thread of its process overdue, one of them with another run",
    fate(new NoThreadError(Promise.resolve())),
    "after 0 s",
    "no limit: it counts as no attempt",
  ],
  [
    "met a document of another version",
    fate(new OtherVersionError("newer-version", "no")),
    `after ${limits.retryDelayS} s`,
    limits.heldForNewerMax * limits.retryDelayS === 86_400 ? "for a day" : "",
  ],
  [
    "had other code",
    fate(other),
    `after ${delay(other, false, 1)} to ${delay(other)} s, urgent work ${delay(other, true, 1)} to ${delay(other, true)} s`,
    `${limits.identityWaitMs / 1_000} s without an outcome`,
  ],
  [
    "had an error that every attempt would meet",
    fateOf(hopeless, { last: failsEveryTime(hopeless, "compute"), asked: false }),
    "never",
    `${sendsOf("error", "not-json")} send`,
  ],
  [
    "reached its time limit",
    fate(new CalculationError("time-limit", "")),
    "at once",
    `${sendsOf("error", "time-limit")} sends`,
  ],
  [
    "ended its process, isolated there",
    "end",
    "at once, isolated",
    `${sendsOf("unreported", "process-ended")} sends`,
  ],
  ["was delivered again", "end", "at once, isolated", againAlways("lost") ? "until it dies isolated" : ""],
  [
    "had its message moved to a poison queue",
    "end",
    "at once",
    `${sendsOf("unreported", "poison")} such sends`,
  ],
  ["died", "resend isolated", "at once, isolated", "until it dies isolated"],
  [
    "is lost",
    "resend",
    `after ${number(lostMs([1]) / 1_000)} to ${number(lostMs([1e6]) / 1_000)} s, doubled by each loss up to ${2 ** limits.lostDoublings} times`,
    `${limits.lostMax} losses`,
  ],
  ["is slow", "copy", "after 3 × p95, twice the longest pack and 2 s", "1 copy"],
];

/** Which function decides where an attempt has this fate. */
const deciders: Readonly<Record<string, string>> = {
  "next-attempt": "`fateOf`",
  "put-back": "`fateOf`",
  "enqueue-again": "`fateOf`",
  end: "`verdictOf`",
  resend: "`judge`",
  "resend isolated": "`judge`",
  copy: "`judge`",
};

describe("each reason for which work is computed again", () => {
  const told = rowsOf("the attempt or its process");
  test("is in the page", () => {
    expect(told.length).toBe(reasons.length);
  });
  test.each(reasons)("%s", (reason, does, after, most) => {
    const row = told.find(([what = ""]) => what === reason || new RegExp(`^${reason}[:, (]`).test(what));
    const by = after === "never" ? "`fateOf`" : deciders[does];
    expect(row?.slice(1)).toEqual([by, after, most]);
  });
});
