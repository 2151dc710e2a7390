import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { noCalls } from "../../src/engine/model/calls.ts";
import type { ClosedRun } from "../../src/engine/model/closedRun.ts";
import { costOf } from "../../src/engine/model/cost.ts";
import { endedRunOf, endedRunSchema } from "../../src/engine/model/endedRun.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { Manifest } from "../../src/engine/model/run.ts";

const closed: ClosedRun = {
  ...{ run: "r1", uid: "u1", generation: 2, phase: "complete", calculation: "sum", params: { to: 3 } },
  ...{ packs: { total: 5, done: 4, failed: 1 }, chunks: { total: 10, done: 8, failed: 2 } },
  ...{
    finishedMs: 1.7e12,
    retriedMs: 1.6e12,
    cost: costOf(noCalls, { mbMs: 2_048_000, executions: 3 }),
    by: "user:ada",
  },
  tags: { team: "risk" },
};
const manifest = {
  ...{ blob: "r1/u1/002/1-1-abc/result.json", contentType: "application/json", bytes: 7, sha256: "ab" },
  missing: Array.from({ length: 30 }, (_, at) => ({ from: 2 * at, to: 2 * at + 1 })),
} as unknown as Manifest;
const around = { createdMs: 1.5e12, results: "leasefold-results", manifest };

test("the completion event of a complete run says where its result is, what it lacks and what it cost", () => {
  const { type, timestamp, data } = endedRunOf(closed, around);
  expect([type, timestamp, data.startedAt]).toEqual([
    ...["run.complete", "2023-11-14T22:13:20.000Z", "2020-09-13T12:26:40.000Z"],
  ]);
  expect(data).toMatchObject({ id: "u1-2", tags: { team: "risk" }, by: "user:ada" });
  expect(data.result).toMatchObject({
    ...{ path: "/api/runs/r1/result?generation=2", container: "leasefold-results", blob: manifest.blob },
  });
  expect(data.gaps).toHaveLength(20);
  expect(data.cost.gbS).toBe(2);
});

test("the completion event of a run that failed before it was planned names no result", () => {
  const { data } = endedRunOf(
    {
      ...{
        run: "r1",
        uid: "u1",
        generation: 1,
        phase: "failed",
        calculation: "",
        finishedMs: 5,
        cost: closed.cost,
      },
      error: { code: "plan-failed", message: "no" },
    },
    { ...around, manifest: undefined },
  );
  const encoded = JSON.parse(JSON.stringify(data)) as object;
  expect(Object.keys(encoded)).not.toEqual(expect.arrayContaining(["result"]));
  expect(encoded).toMatchObject({ outcome: "failed", error: { code: "plan-failed" } });
});

test("a completion event decodes and fits a message of a queue, whatever the documents of its run hold", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.constantFrom("\u0000", "\ud83d", "漢").chain((one) => fc.nat(9_000).map((times) => one.repeat(times))),
  );
  const ms = fc.oneof(fc.nat(), fc.constantFrom(0, 8.64e15, 1e300, Number.MAX_VALUE));
  fc.assert(
    fc.property(text, text, text, ms, ms, (calculation, code, message, finishedMs, createdMs) => {
      const run = { ...closed, retriedMs: undefined, finishedMs, calculation, error: { code, message } };
      const body = JSON.stringify(endedRunOf(run, { ...around, createdMs }));
      expect(Buffer.byteLength(body)).toBeLessThan(limits.messageBytesMax / 2);
      expect(endedRunSchema.safeParse(JSON.parse(body)).error?.issues).toBeUndefined();
    }),
  );
});

test("the example of the page is a completion event", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/OPERATIONS.md"), "utf8");
  const example: unknown = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "");
  expect(endedRunSchema.parse(example)).toEqual(example);
});
