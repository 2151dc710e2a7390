import { describe, expect, it, test } from "vitest";
import * as z from "zod";
import { lastTermsMax } from "../../src/election/record/record.ts";
import { closedBlobs } from "../../src/engine/model/closedRun.ts";
import {
  decodeJson,
  isDeeper,
  latestMs,
  parseJson,
  versionedSchemas,
} from "../../src/engine/model/decode.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { decodeMarker } from "../../src/engine/model/marker.ts";
import { decodeMessage } from "../../src/engine/model/message.ts";
import { decodeFoldFacts } from "../../src/engine/model/output.ts";
import { specSchema } from "../../src/engine/model/run.ts";
import { decodeSchedule } from "../../src/engine/model/schedule.ts";
import { stateSchema } from "../../src/engine/model/state.ts";
import { decodeHeartbeat } from "../../src/engine/model/workerHeartbeat.ts";

/** Each import brings schemas of stored documents. */
const imported = [
  ...[lastTermsMax, closedBlobs, decodeMarker, decodeMessage, decodeFoldFacts, specSchema],
  ...[decodeSchedule, decodeHeartbeat, stateSchema],
];

interface Json {
  readonly type?: unknown;
  readonly maximum?: number;
  readonly const?: unknown;
  readonly enum?: unknown;
}

/** The places of a schema whose numbers have no bound, or one beyond every date. */
function unbounded(schema: unknown, path = ""): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { type, maximum = Infinity, const: one, enum: some } = schema as Json;
  const isNumber = (type === "number" || type === "integer") && one === undefined && some === undefined;
  const here = isNumber && !(maximum <= latestMs) ? [path] : [];
  return [...here, ...Object.entries(schema).flatMap(([key, inner]) => unbounded(inner, `${path}.${key}`))];
}

test("every number of a stored document has a bound within which each sum of two is a date", () => {
  expect(imported).not.toContain(undefined);
  const schemas = versionedSchemas();
  expect(schemas.length).toBeGreaterThan(10);
  const found = schemas.flatMap(([schema, { kind }]) =>
    unbounded(z.toJSONSchema(schema, { unrepresentable: "any", io: "output" }), kind),
  );
  expect(found).toEqual([]);
  expect(new Date(2 * latestMs).toISOString()).toMatch(/^\+/);
});

describe("bytes become values", () => {
  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

  it("of so many levels and no more, however deep they are", () => {
    expect(isDeeper(parseJson(deep(limits.documentLevelsMax), "it"), limits.documentLevelsMax)).toBe(false);
    for (const levels of [limits.documentLevelsMax + 1, 20_000, 1_000_000])
      expect(() => parseJson(deep(levels), "it")).toThrow(/nested deeper than 200 levels/);
    expect(() => parseJson(`{"a":${'{"a":'.repeat(20_000)}1${"}".repeat(20_001)}`, "it")).toThrow(/nested/);
  });

  it("of so many bytes, of a request fewer than of others", () => {
    const long = JSON.stringify({ v: 1, run: "r", code: "x".repeat(limits.requestBytesMax) });
    expect(() => decodeJson(specSchema, long, "it")).toThrow(/at most 1048576 are read/);
    expect(() => decodeJson(stateSchema, long, "it")).toThrow(/does not decode/);
    const huge = { length: limits.documentBytesMax + 1 } as Uint8Array;
    expect(() => parseJson(huge, "it")).toThrow(/at most 67108864 are read/);
  });
});
