import fc from "fast-check";
import { expect, test } from "vitest";
import { whoLed } from "../../src/election/record/leaderView.ts";
import { decodeRecord, encodeRecord, type LeaderRecord } from "../../src/election/record/record.ts";

const full: LeaderRecord = {
  term: 12,
  termid: "2f6c1f9e-6c1b-4a35-8a53-6a3f5e0a2b11",
  state: "leading",
  holder: "Küche/№ 4 — instance",
  region: "west europe",
  sinceMs: Date.UTC(2030, 1, 2, 3, 4, 5),
  beat: "0a1b2c3d-77",
  breakAfterMs: 4_000,
  cameBy: "broken",
  notes: { run: "primes 10¹²", line: "a\r\nb" },
  lastTerms: [{ term: 12, termid: "t", holder: "h", sinceMs: 5 }],
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
        expect(value).toMatch(/^[\x20-\x7e]*$/);
      }
      expect(decodeRecord(metadata)).toEqual({ kind: "record", record });
    }),
  );
});

test("no metadata means that nobody has led", () => {
  expect(decodeRecord({})).toEqual({ kind: "none" });
});

test.each<[string, Record<string, string>]>([
  ["another product's metadata", { functioninstance: "abc" }],
  ["no version", { ...encodeRecord(full), v: "" }],
  ["a term that is no number", { ...encodeRecord(full), term: "-1" }],
  ["an unknown state", { ...encodeRecord(full), state: "resting" }],
  ["a date that is none", { ...encodeRecord(full), since: "yesterday" }],
  ["base64 garbage", { ...encodeRecord(full), holder: "%%%" }],
  ["notes that are no JSON", { ...encodeRecord(full), notes: "AAAA" }],
  ["past terms of another shape", { ...encodeRecord(full), lastterms: "eyJhIjoxfQ" }],
])("%s is unreadable, not an exception", (_name, metadata) => {
  expect(decodeRecord(metadata)).toMatchObject({ kind: "unreadable" });
});

test("a record of a later version is distinguished from garbage", () => {
  expect(decodeRecord({ ...encodeRecord(full), v: "2", state: "dreaming" })).toMatchObject({ kind: "newer" });
});

test("unknown metadata is ignored", () => {
  expect(decodeRecord({ ...encodeRecord(full), colour: "red" })).toEqual({ kind: "record", record: full });
});

test("why a term ended survives, and a cause of a later version is none to rely on", () => {
  const ended = { ...full, state: "ended", ending: "budget" } as const;
  expect(decodeRecord(encodeRecord(ended))).toEqual({ kind: "record", record: ended });
  const later = decodeRecord({ ...encodeRecord(ended), ending: "tired" });
  expect(later).toMatchObject({ record: { ending: "failed" } });
});

test("what a holder says about itself survives, and a malformed value does not make the record unreadable", () => {
  const about = { app: "küche", LEASEFOLD_LEASE_S: "15" };
  expect(decodeRecord(encodeRecord({ ...full, about }))).toEqual({
    kind: "record",
    record: { ...full, about },
  });
  for (const odd of ["%%%", "AAAA", Buffer.from('{"a":1}').toString("base64url")]) {
    expect(decodeRecord({ ...encodeRecord(full), about: odd })).toEqual({ kind: "record", record: full });
  }
});

test("who led survives a poll, and a malformed value does not make the record unreadable", () => {
  const led = { holder: "küche", region: "west", sinceMs: 5, cameBy: "free", untilMs: 9 } as const;
  const { region: _, ...last } = full;
  const polled: LeaderRecord = { ...last, state: "ended", holder: "another", led };
  expect(decodeRecord(encodeRecord(polled))).toEqual({ kind: "record", record: polled });
  expect(whoLed(polled, 77)).toEqual(led);
  for (const odd of ["%%%", "AAAA", Buffer.from('{"holder":1}').toString("base64url")]) {
    expect(decodeRecord({ ...encodeRecord(full), led: odd })).toEqual({ kind: "record", record: full });
  }
});

test("past terms keep how they began and ended, and older versions still read what they know of them", () => {
  const claimed = { term: 11, termid: "s", holder: "g", sinceMs: 1, cameBy: "expired", untilMs: 4 } as const;
  const record = { ...full, lastTerms: [claimed, ...full.lastTerms] };
  const { ends, ...older } = encodeRecord(record);
  expect(decodeRecord({ ...older, ends: ends as string })).toEqual({ kind: "record", record });
  const { cameBy: _by, untilMs: _until, ...known } = claimed;
  const plain = { kind: "record", record: { ...full, lastTerms: [known, ...full.lastTerms] } };
  expect(decodeRecord(older)).toEqual(plain);
  expect(decodeRecord({ ...older, ends: "AAAA" })).toEqual(plain);
  // Written for another list of terms.
  expect(decodeRecord({ ...older, ends: encodeRecord(full)["ends"] as string })).toEqual(plain);
});

test("after a poll of an older version the list of terms shows who led", () => {
  const lastTerms = [{ term: full.term, termid: full.termid, holder: "real-1", sinceMs: 5 }];
  const polled: LeaderRecord = { ...full, state: "ended", holder: "real-2", sinceMs: 90_000, lastTerms };
  expect(whoLed(polled, 95_000)).toEqual({ holder: "real-1", sinceMs: 5 });
});

test("a record always fits: notes are dropped first, then the oldest terms", () => {
  const holder = "№".repeat(128);
  const lastTerms = Array.from({ length: 16 }, (_, index) => ({
    term: index,
    termid: "x".repeat(36),
    holder,
    sinceMs: 1,
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
  expect(decoded.record.lastTerms.at(-1)?.term).toBe(15);
  expect(bytes(encodeRecord({ ...full, notes: { text: "n".repeat(9_000) } }))).toBeLessThan(2_000);
});
