import { describe, expect, test } from "vitest";
import { decodeRecord, encodeRecord, type LeaderRecord } from "../../src/election/record/record.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { CorruptDataError, OtherVersionError } from "../../src/engine/model/errors.ts";
import { decodeMarker, encodeMarker } from "../../src/engine/model/marker.ts";
import { decodeMessage } from "../../src/engine/model/message.ts";
import { manifestSchema, specSchema } from "../../src/engine/model/run.ts";
import { stateSchema } from "../../src/engine/model/state.ts";
import { inWrittenForm } from "../../src/engine/model/versions.ts";
import { computing, manifest, spec } from "../support/runFixtures.ts";

/** Made-up neighbors of version 1: 0 called the cap by another name, and 2 counts it in tens. */
const reads = {
  0: ({ most, ...rest }: Readonly<Record<string, unknown>>) => ({ ...rest, cap: most }),
  2: ({ tens, ...rest }: Readonly<Record<string, unknown>>) => ({ ...rest, cap: 10 * Number(tens) }),
};
const read = (value: unknown) => inWrittenForm("state", value, "the state of r", reads);

const thrownBy = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error;
  }
};

describe("a document of another version", () => {
  test.each([
    { v: 0, run: "r", most: 20 },
    { v: 1, run: "r", cap: 20 },
    { v: 2, run: "r", tens: 2 },
  ])("is put into the form that is written: %j", (value) => {
    expect(read(value)).toEqual({ v: 1, run: "r", cap: 20 });
  });

  test("without a reader is of a newer or an older release, and says what is read", () => {
    expect(thrownBy(() => read({ v: 3 }))).toMatchObject({
      code: "newer-version",
      message: "the state of r is of version 3, which a newer release wrote; this one reads 0 and 1 and 2",
    });
    const older = thrownBy(() => inWrittenForm("leader", { v: 1 }, "the record", {}));
    expect(older).toBeInstanceOf(OtherVersionError);
    expect(older).toMatchObject({
      code: "older-version",
      message: expect.stringMatching(/this one reads 2$/),
    });
  });

  test("which its reader cannot read is corrupt", () => {
    const broken = () =>
      inWrittenForm("state", { v: 2 }, "it", { 2: ({ a }) => ({ b: (a as string).length }) });
    expect(thrownBy(broken)).toBeInstanceOf(CorruptDataError);
  });

  test.each([[undefined], [null], [7], [{}], [{ v: "2" }], [{ v: -1 }], [{ v: 1.5 }], [{ v: Number.NaN }]])(
    "what tells no version is left to its schema: %j",
    (value) => {
      expect(read(value)).toBe(value);
    },
  );
});

const record: LeaderRecord = {
  ...{ term: 1, termid: "t", state: "leading", holder: "a", sinceMs: 0, beat: "b", breakAfterMs: 0 },
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
  expect(decodeRecord({ ...encoded, v: "1" }).kind).toBe("none");
  expect(decodeRecord({ ...encoded, v: "3" }).kind).toBe("newer");
});
