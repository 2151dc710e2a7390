import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import {
  CalculationError,
  CorruptDataError,
  InputError,
  StorageError,
} from "../../src/engine/model/errors.ts";
import { failsEveryTime } from "../../src/engine/worker/attempt/fate.ts";

const passing = [
  "bad-calculation-file",
  "calculation-name",
  "calculation-threw",
  "dropped",
  "file-denied",
  "file-refused",
  "no-calculation-file",
  "no-library",
  "old-node",
  "query-too-large",
  "query-too-long",
  "out-of-memory",
  "thread-crashed",
  "thread-exited",
  "thread-not-started",
  "time-limit",
  "unknown-calculation",
];

const final = [
  "bad-encoding",
  "bad-file",
  "bad-source",
  "file-too-large",
  "no-chunks",
  "no-duckdb",
  "other-columns",
  "twin-columns",
  "query-failed",
  "source-not-allowed",
  "bad-key",
  "bad-number",
  "bad-parameter",
  "bad-plan",
  "bad-query",
  "bad-range",
  "bad-record",
  "bad-result",
  "bad-sketch",
  "bad-stop",
  "bad-sum",
  "empty-source",
  "file-changed",
  "file-missing",
  "input-too-deep",
  "input-too-large",
  "no-container",
  "no-files",
  "not-bytes",
  "not-json",
  "partial-too-large",
  "result-too-large",
  "too-many-chunks",
  "too-many-files",
  "unknown-format",
];

const failed = (code: string) => new CalculationError(code, "why");

describe("failsEveryTime", () => {
  test.each(passing)("another attempt may get past %s", (code) => {
    expect(failsEveryTime(failed(code), "compute")).toBe(false);
    expect(failsEveryTime(failed(code), "plan")).toBe(false);
  });

  test.each(final)("every attempt at a chunk meets %s", (code) => {
    expect(failsEveryTime(failed(code), "compute")).toBe(true);
  });

  test("a plan lists its files anew, so only what is wrong with their content lasts", () => {
    const inPlan = final.filter((code) => !failsEveryTime(failed(code), "plan"));
    expect(inPlan).toEqual(["file-changed", "file-missing"]);
    const waiting = final.filter((code) => !failsEveryTime(failed(code), "plan", { retryAfterS: [60] }));
    expect(waiting).toEqual(["empty-source", "file-changed", "file-missing"]);
  });

  test("no error but a calculation's is decided by its code", () => {
    const others = [
      new Error("not-json"),
      new InputError("invalid", "not-json", "why"),
      new CorruptDataError("not-json", "why"),
      new StorageError("refused", "not-json", 400, "why"),
      undefined,
    ];
    expect(others.filter((error) => failsEveryTime(error, "compute"))).toEqual([]);
  });
});

const root = resolve(import.meta.dirname, "../..");
const texts = ["src/calculations", "src/engine/calculation", "src/engine/worker", "packages/sql"].flatMap(
  (room) =>
    readdirSync(join(root, room), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => ({ room, text: readFileSync(join(root, room, name), "utf8") })),
);
const matches = (pattern: RegExp, rooms = /./): string[] =>
  texts
    .filter(({ room }) => rooms.test(room))
    .flatMap(({ text }) => [...text.matchAll(pattern)].map(([, match]) => match as string));
const sorted = (codes: readonly string[]): string[] => [...new Set(codes)].sort();

test("every code that a calculation can fail with has been decided", () => {
  const found = [
    ...matches(/new CalculationError\(\s*"([^"]+)"/g),
    ...matches(/checkBytes\([^)]*,\s*"([^"]+)",?\s*\)/g),
    // What is thrown in a thread arrives as a calculation's error, whatever its class.
    ...matches(/new (?:Config|Input)Error\(\s*(?:"(?:invalid|unknown)",\s*)?"([^"]+)"/g, /calculation/),
    // Why a file cannot be read.
    ...matches(/return \["([a-z-]+)",/g, /worker/),
  ];
  expect(sorted(found)).toEqual(sorted([...passing, ...final]));
});

test("a code that is no literal is one that an error had before, or a reason why a file cannot be read", () => {
  const expressions = matches(/new CalculationError\(\s*([^"\s][^,]*),/g);
  expect(sorted(expressions)).toEqual([
    "code",
    "error.code",
    "failRunCode",
    "found.code",
    "laterCode",
    "reply.code",
  ]);
});
