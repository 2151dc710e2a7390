import { expect, test } from "vitest";
import { decodeRecord, encodeRecord, type LeaderRecord } from "../../src/election/record/record.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { OtherVersionError } from "../../src/engine/model/errors.ts";
import { decodeMarker, encodeMarker } from "../../src/engine/model/marker.ts";
import { decodeMessage } from "../../src/engine/model/message.ts";
import { manifestSchema, specSchema } from "../../src/engine/model/run.ts";
import { stateSchema } from "../../src/engine/model/state.ts";
import { checkVersion } from "../../src/engine/model/versions.ts";
import { computing, manifest, spec } from "../support/runFixtures.ts";

const thrownBy = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error;
  }
};

test("a document of another version is of a newer or an older release, and says what is read", () => {
  const check = (v: number) => () => checkVersion("state", { v }, "the state of r");
  expect(thrownBy(check(2))).toBeInstanceOf(OtherVersionError);
  expect(thrownBy(check(2))).toMatchObject({
    code: "newer-version",
    message: "the state of r is of version 2, which a newer release wrote; this one reads 1",
  });
  expect(thrownBy(check(0))).toMatchObject({ code: "older-version" });
});

test.each([
  [undefined],
  [null],
  [7],
  [{}],
  [{ v: 1 }],
  [{ v: "2" }],
  [{ v: -1 }],
  [{ v: 1.5 }],
  [{ v: Number.NaN }],
])("what is of this version or tells none is left to its schema: %j", (value) => {
  expect(() => checkVersion("state", value, "it")).not.toThrow();
});

const record: LeaderRecord = {
  ...{ term: 1, termid: "t", state: "leading", holder: "a", sinceMs: 0, heartbeat: "b", breakAfterMs: 0 },
  ...{ cameBy: "free", notes: {}, lastTerms: [] },
};
const marker = encodeMarker({ uid: "u", want: "run", generation: 1, cap: 1, turn: 0, command: 0 });
const message = { v: 1, run: "r", uid: "u", gen: 1, send: 1, turn: 0, kind: "plan" };

test.each<[string, (v: number) => unknown]>([
  ["spec", (v) => decodeJson(specSchema, JSON.stringify({ ...spec, v }), "it")],
  ["state", (v) => decodeJson(stateSchema, JSON.stringify({ ...computing(4), v }), "it")],
  ["manifest", (v) => decodeJson(manifestSchema, JSON.stringify({ ...manifest, v }), "it")],
  ["marker", (v) => decodeMarker({ ...marker, v: `${v}` }, "r")],
  ["message", (v) => decodeMessage(JSON.stringify({ ...message, v }))],
])(
  "a %s of a version before or after that of this release is neither corrupt nor taken for it",
  (_kind, at) => {
    expect(at(1)).toBeTruthy();
    expect(thrownBy(() => at(0))).toMatchObject({ code: "older-version" });
    expect(thrownBy(() => at(2))).toMatchObject({ code: "newer-version" });
  },
);

test("a leader record of an older release counts as none: the lease is what protects, and its holder keeps it", () => {
  const encoded = encodeRecord(record);
  expect(decodeRecord(encoded).kind).toBe("record");
  expect(decodeRecord({ ...encoded, v: "0" }).kind).toBe("none");
  expect(decodeRecord({ ...encoded, v: "2" }).kind).toBe("newer");
});
