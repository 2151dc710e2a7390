import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeRecord, encodeRecord, type LeaderRecord } from "../../src/election/record/record.ts";

const full: LeaderRecord = {
  term: 12,
  termid: "2f6c1f9e-6c1b-4a35-8a53-6a3f5e0a2b11",
  state: "leading",
  holder: "Küche/№ 4 — instance",
  region: "west europe",
  sinceMs: Date.UTC(2030, 1, 2, 3, 4, 5),
  heartbeat: "0a1b2c3d-77",
  breakAfterMs: 4_000,
  cameBy: "broken",
  notes: { run: "primes 10¹²", line: "a\r\nb" },
  lastTerms: [{ term: 12, termid: "t", holder: "h", sinceMs: 5, cameBy: "broken" }],
};
/** The metadata of a record, of which some fields are different. */
const written = (change: object): Record<string, string> => {
  const { v, record } = encodeRecord(full);
  return { v, record: JSON.stringify({ ...JSON.parse(record), ...change }) };
};
const bytes = (metadata: Record<string, string>) =>
  Object.entries(metadata).reduce((sum, [name, value]) => sum + name.length + value.length, 0);

test("a record survives the metadata, whatever its texts are", () => {
  const texts = fc.string({ unit: "grapheme", maxLength: 60 });
  // zod leaves this one key out of a record, on purpose; no leader names a note so.
  const keys = texts.filter((text) => text !== "__proto__");
  fc.assert(
    fc.property(texts, texts, fc.dictionary(keys, texts, { maxKeys: 5 }), (holder, region, notes) => {
      const record = { ...full, holder, region: region === "" ? undefined : region, notes };
      const metadata = encodeRecord(record);
      for (const [name, value] of Object.entries(metadata)) {
        expect(name).toMatch(/^[a-z]+$/);
        expect(value).toMatch(/^[!-~]*$/);
      }
      expect(decodeRecord(metadata)).toEqual({ kind: "record", record });
    }),
  );
});

test("no metadata means that nobody has led", () => {
  expect(decodeRecord({})).toEqual({ kind: "none" });
});

test("a record of an older version counts as none, whatever it says", () => {
  const older = { v: "0", term: "57", termid: "t", state: "leading", holder: "YQ", breakafterms: "4000" };
  expect(decodeRecord(older)).toEqual({ kind: "none" });
});

test.each<[string, Record<string, string>]>([
  ["another product's metadata", { functioninstance: "abc" }],
  ["no version", { ...encodeRecord(full), v: "" }],
  ["no record", { v: "1" }],
  ["half a record", { v: "1", record: encodeRecord(full).record.slice(0, 80) }],
  ["a list", { v: "1", record: "[]" }],
  ["a term that is no number", written({ term: "-1" })],
  ["a term below 1", written({ term: 0 })],
  ["an unknown state", written({ state: "resting" })],
  ["a date that is none", written({ sinceMs: "yesterday" })],
  ["notes that are no texts", written({ notes: { a: 1 } })],
  ["past terms of another shape", written({ lastTerms: { a: 1 } })],
])("%s is unreadable, not an exception", (_name, metadata) => {
  expect(decodeRecord(metadata)).toMatchObject({ kind: "unreadable" });
});

test("a record of a later version is distinguished from garbage", () => {
  expect(decodeRecord({ ...written({ state: "dreaming" }), v: "2" })).toMatchObject({ kind: "newer" });
});

test("unknown metadata and unknown fields are ignored", () => {
  expect(decodeRecord({ ...written({ size: 9 }), colour: "red" })).toEqual({ kind: "record", record: full });
});

test("why a term ended survives, and a cause of a later version is none to rely on", () => {
  const ended = { ...full, state: "ended", ending: "budget" } as const;
  expect(decodeRecord(encodeRecord(ended))).toEqual({ kind: "record", record: ended });
  const later = decodeRecord(written({ ...ended, ending: "tired" }));
  expect(later).toMatchObject({ record: { ending: "failed" } });
});

test("what a holder says about itself survives, and a malformed value does not make the record unreadable", () => {
  const about = { app: "küche", LEASEFOLD_LEASE_S: "15" };
  expect(decodeRecord(encodeRecord({ ...full, about }))).toEqual({
    kind: "record",
    record: { ...full, about },
  });
  for (const odd of ["text", 7, [], { a: 1 }])
    expect(decodeRecord(written({ about: odd }))).toEqual({ kind: "record", record: full });
});

test("past terms keep how they began and ended", () => {
  const claimed = { term: 11, termid: "s", holder: "g", sinceMs: 1, cameBy: "expired", untilMs: 4 } as const;
  const record = { ...full, lastTerms: [claimed, ...full.lastTerms] };
  expect(decodeRecord(encodeRecord(record))).toEqual({ kind: "record", record });
});

test("a record always fits: notes are dropped first, then the oldest terms", () => {
  const holder = "№".repeat(128);
  const lastTerms = Array.from({ length: 16 }, (_, index) => ({
    term: index + 1,
    termid: "x".repeat(36),
    holder,
    sinceMs: 1,
    cameBy: "free" as const,
  }));
  const huge = {
    ...full,
    holder,
    lastTerms,
    about: { a: "b".repeat(2_000) },
    notes: { text: "n".repeat(9_000) },
  };
  const metadata = encodeRecord(huge);
  expect(bytes(metadata)).toBeLessThanOrEqual(8_192);
  const decoded = decodeRecord(metadata);
  if (decoded.kind !== "record") throw new Error("unreadable");
  expect(decoded.record.notes).toEqual({});
  expect(decoded.record.about).toBeUndefined();
  expect(decoded.record.lastTerms.at(-1)?.term).toBe(16);
  expect(bytes(encodeRecord({ ...full, notes: { text: "n".repeat(9_000) } }))).toBeLessThan(2_000);
});
