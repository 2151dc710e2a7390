import { describe, expect, test } from "vitest";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { CorruptDataError } from "../../src/engine/model/errors.ts";
import { decodeMarker } from "../../src/engine/model/marker.ts";
import { decodeMessage } from "../../src/engine/model/message.ts";
import { manifestSchema, planSchema, specSchema } from "../../src/engine/model/run.ts";
import { firstState, stateSchema } from "../../src/engine/model/state.ts";

/** Whatever becomes a segment of a blob's name. */
const bad = [
  "",
  ".",
  "..",
  "a/b",
  "../x",
  "a\\b",
  "a b",
  "ü",
  "-a",
  "a.b",
  "a%2fb",
  "a\n",
  "a".repeat(64),
  "\0",
];

const common = { v: 1, run: "r", uid: "u", gen: 1, send: 1, turn: 0 };
const plan = {
  v: 1,
  run: "r",
  uid: "u",
  code: "c@1",
  spec: "a".repeat(64),
  chunks: 1,
  packSize: 1,
  shardSize: 1,
  packMs: 1,
};
const state = firstState({ run: "r", uid: "u", generation: 1, cap: 1, nowMs: 0 });
const manifest = {
  ...{ spec: "a".repeat(64), plan: "a".repeat(64) },
  ...{ v: 1, run: "r", uid: "u", generation: 1, calculation: "c", requestHash: "h", attempt: "1-1-a" },
  ...{ blob: "r/u/001/1-1-a/result.json", contentType: "application/json", bytes: 1, sha256: "0" },
  ...{ chunks: 1, folded: 1, packs: 1, complete: true, missing: [] },
};
const json = (schema: Parameters<typeof decodeJson>[0]) => (value: object) =>
  decodeJson(schema, JSON.stringify(value), "it");
const message = (value: object) => decodeMessage(JSON.stringify(value));

const decoders: readonly {
  readonly what: string;
  readonly whole: object;
  readonly fields: readonly string[];
  readonly decode: (value: object) => unknown;
}[] = [
  { what: "a message", whole: { ...common, kind: "finish" }, fields: ["run", "uid"], decode: message },
  {
    what: "a question so far",
    whole: { ...common, kind: "sofar", tag: "t", nodes: "", open: [] },
    fields: ["run", "uid", "tag"],
    decode: message,
  },
  {
    what: "a question to verify",
    whole: { ...common, kind: "verify", tag: "t", pack: 0 },
    fields: ["run", "uid", "tag"],
    decode: message,
  },
  {
    what: "a marker",
    whole: { v: "1", uid: "u", want: "run", generation: "1", cap: "1", turn: "0", command: "0" },
    fields: ["uid"],
    decode: (value) => decodeMarker(value as Record<string, string>, "r"),
  },
  {
    what: "a spec",
    whole: { v: 1, run: "r", uid: "u", calculation: "c", params: {}, requestHash: "h" },
    fields: ["run", "uid"],
    decode: json(specSchema),
  },
  { what: "a plan", whole: plan, fields: ["run", "uid"], decode: json(planSchema) },
  { what: "a state", whole: state, fields: ["run", "uid"], decode: json(stateSchema) },
  { what: "a manifest", whole: manifest, fields: ["run", "uid", "attempt"], decode: json(manifestSchema) },
];

describe.each(decoders)("$what", ({ whole, fields, decode }) => {
  test("decodes with names that are ids", () => {
    expect(() => decode(whole)).not.toThrow();
  });

  test.each(fields.flatMap((field) => bad.map((name) => ({ field, name }))))(
    "does not decode with $field $name",
    ({ field, name }) => {
      expect(() => decode({ ...whole, [field]: name })).toThrow(CorruptDataError);
    },
  );
});

test("a plan does not decode whose segments name an attempt outside of their folder", () => {
  const segments = { attempt: "../../x", starts: [0] };
  expect(() => json(planSchema)({ ...plan, segments })).toThrow(CorruptDataError);
});
