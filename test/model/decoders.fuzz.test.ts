import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeRecord } from "../../src/election/record/record.ts";
import { decodeBitmap } from "../../src/engine/model/bitmap.ts";
import { decodeClosedRun } from "../../src/engine/model/closedRun.ts";
import { canonicalJson, decodeJson } from "../../src/engine/model/decode.ts";
import { fileListSchema } from "../../src/engine/model/fileList.ts";
import { decodeMarker, encodeMarker } from "../../src/engine/model/marker.ts";
import { decodeMessage } from "../../src/engine/model/message.ts";
import {
  decodeFoldFacts,
  decodeVerified,
  encodeFoldFacts,
  encodeVerified,
  parseOutputFacts,
} from "../../src/engine/model/output.ts";
import { decodePrinted } from "../../src/engine/model/printed.ts";
import {
  answerSchema,
  failureSchema,
  manifestSchema,
  planSchema,
  segmentSchema,
  specSchema,
} from "../../src/engine/model/run.ts";
import { lastNumberOf, parseFailure, parseTried } from "../../src/engine/model/runBlobs.ts";
import { decodeMarks, decodeSchedule, encodeMarks } from "../../src/engine/model/schedule.ts";
import { stateSchema } from "../../src/engine/model/state.ts";
import { decodeGens } from "../../src/engine/model/tree.ts";
import { decodeHeartbeat, encodeHeartbeat } from "../../src/engine/model/workerHeartbeat.ts";
import { decodes } from "../support/decodes.ts";
import { fuzzRuns } from "../support/fuzzRuns.ts";
import { hostileBytes, hostileMetadata } from "../support/hostileValues.ts";
import { computing, manifest, marker, planOf, spec } from "../support/runFixtures.ts";

const runs = fuzzRuns(200, 5_000);

const common = { v: 1, run: "r", uid: "u", gen: 1, send: 1, turn: 0 };
const messages = [
  { ...common, kind: "plan" },
  { ...common, kind: "compute", shard: 0, pack: 0, from: 0, to: 1, tries: 1, repeat: true },
  { ...common, kind: "combine", level: 1, index: 0, members: "_w", childGens: "1x2" },
  { ...common, kind: "finish", terms: [{ term: 1, holder: "a" }] },
  { ...common, kind: "cleanup", shard: 0 },
  { ...common, kind: "sofar", tag: "t", nodes: "_w", open: [1] },
  { ...common, kind: "verify", tag: "t", pack: 0 },
];
const answer = {
  ...{ v: 1, ok: true, run: "r", uid: "u", generation: 1, blob: "r/u/answers/t.1-1-a.json" },
  ...{ contentType: "text/csv", bytes: 1, sha256: "0", chunks: 1, folded: 1, covers: [{ from: 0, to: 1 }] },
};
const failed = { v: 1, cause: "error", code: "x", message: "y", attempts: 1, chunks: { from: 0, to: 1 } };

const schedule = {
  ...{ v: 1, name: "s", cron: "* * * * *", timeZone: "UTC", overlap: "skip" },
  request: { calculation: "sum", params: { to: 1 }, cap: 1, tags: { night: "{date}" } },
};
/** What lists and the leader do with whatever decodes: each time becomes a date, and all of it bytes again. */
function tell(value: unknown): void {
  canonicalJson(value);
  for (const [key, one] of Object.entries(Object(value)))
    if (typeof one === "number" && /(Ms|next|last|skipped|until)$/.test(key)) new Date(2 * one).toISOString();
}

const cost = { dollars: 1, storageDollars: 1, computeDollars: 0, gbS: 0, executions: 1 };
const summary = {
  ...{ v: 1, run: "r", uid: "u", generation: 1, phase: "complete", calculation: "sum", params: { to: 1 } },
  ...{ finishedMs: 1, retriedMs: 1, cost, chunks: { total: 1, done: 1, failed: 0 } },
};
const printed = { generation: "1", instance: "a", more: "0" };

describe("whatever bytes are there", () => {
  test.each([
    ["a message", messages, (text: Buffer) => decodeMessage(text.toString("utf8"))],
    ["a spec", [spec], (bytes: Buffer) => decodeJson(specSchema, bytes, "it")],
    [
      "a plan",
      [{ ...planOf(10), segments: { attempt: "a", starts: [0, 5], sha256: [] } }],
      (bytes: Buffer) => decodeJson(planSchema, bytes, "it"),
    ],
    [
      "a segment of a plan",
      [{ v: 1, from: 0, inputs: [1, { a: 2 }] }],
      (bytes: Buffer) => decodeJson(segmentSchema, bytes, "it"),
    ],
    [
      "a state",
      [{ ...computing(100), open: { 0: { done: "_w" } }, sealed: { 1: { gen: 1, node: true } } }],
      (bytes: Buffer) => decodeJson(stateSchema, bytes, "it"),
    ],
    ["a manifest", [manifest], (bytes: Buffer) => decodeJson(manifestSchema, bytes, "it")],
    ["an answer so far", [answer], (bytes: Buffer) => decodeJson(answerSchema, bytes, "it")],
    ["a failure record", [failed], (bytes: Buffer) => decodeJson(failureSchema, bytes, "it")],
    ["a schedule", [schedule], (bytes: Buffer) => decodeSchedule(bytes, "_schedules/s")],
    ["a summary", [summary], (bytes: Buffer) => decodeClosedRun({ run: bytes.toString("base64url") }, "it")],
    ["a list of files", [{ files: [] }], (bytes: Buffer) => decodeJson(fileListSchema, bytes, "it")],
    ["lines that code printed", [{ atMs: 1 }], (bytes: Buffer) => decodePrinted(printed, bytes.toString())],
  ] as const)("%s decodes, is of a newer version, or is corrupt", (_what, valid, decode) => {
    for (const one of valid) expect(decodes(() => decode(Buffer.from(JSON.stringify(one))))).toBe(true);
    fc.assert(
      fc.property(hostileBytes(valid), (bytes) => void decodes(() => tell(decode(bytes)))),
      runs,
    );
  });
});

describe("whatever metadata is there", () => {
  const folded = encodeFoldFacts({ folded: 5, attempts: 6, code: ["a"], members: "_w" });
  const heartbeat = encodeHeartbeat({
    ...{ threads: 2, everyMs: 2_000, version: "1.2.3", codes: ["a@1"], memoryMb: 100, ended: "exit code 1" },
    works: [
      {
        ...{
          run: "r",
          uid: "u",
          work: { kind: "pack", shard: 0, pack: 7 },
          generation: 1,
          send: 1,
          ageMs: 1,
        },
        ...{ begun: true, isolated: false, chunks: { from: 7, to: 8 }, chunk: 7 },
      },
    ],
  });
  const verified = [
    encodeVerified({ sha256: "0".repeat(64), ms: 1 }),
    encodeVerified({ error: { code: "x", message: "y" } }),
  ];

  test.each([
    ["a marker", [encodeMarker(marker)], (some: Record<string, string>) => decodeMarker(some, "it")],
    ["a node's facts", [folded], (some: Record<string, string>) => decodeFoldFacts(some, "it")],
    ["a heartbeat", [heartbeat], (some: Record<string, string>) => decodeHeartbeat(some, "it")],
    [
      "the marks of a schedule",
      [encodeMarks({ next: 1, last: 1, skipped: 1 })],
      (some: Record<string, string>) => decodeMarks(some, "it"),
    ],
    ["a verified pack", verified, (some: Record<string, string>) => decodeVerified(some, "it")],
  ] as const)("%s decodes, is of a newer version, or is corrupt", (_what, valid, decode) => {
    for (const one of valid) expect(decodes(() => decode(one))).toBe(true);
    fc.assert(
      fc.property(hostileMetadata(valid), (some) => void decodes(() => tell(decode(some)))),
      runs,
    );
  });

  test("a lease record is a record, none, newer or unreadable", () => {
    const record = JSON.stringify({ term: 1, termid: "t", state: "leading", holder: "a", notes: {} });
    const valid = [
      { v: "2", record },
      { v: "1", term: "1", termid: "t", state: "leading", holder: "YQ" },
    ];
    fc.assert(
      fc.property(hostileMetadata(valid), (some) => {
        expect(["record", "none", "newer", "unreadable"]).toContain(decodeRecord(some).kind);
      }),
      runs,
    );
  });
});

test("names, content types and short texts of strangers are read without an error", () => {
  const part = fc.constantFrom(
    "/",
    ".",
    "failed",
    "node",
    "plan",
    "tried",
    "begun",
    "001",
    "-1",
    "x",
    ";",
    "ms=",
    "%",
  );
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.array(part, { maxLength: 12 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(text, (given) => {
      for (const read of [lastNumberOf, parseFailure, parseTried]) read(given);
      const { ms, attempt } = parseOutputFacts(given);
      expect(ms >= 0 && attempt >= 0).toBe(true);
      expect(decodeBitmap(given, 20)).toHaveLength(3);
      const gens = decodeGens(given, { from: 0, to: 3 });
      expect(gens === undefined || gens.length === 3).toBe(true);
    }),
    { ...runs, numRuns: 2 * (runs.numRuns ?? 1) },
  );
});
