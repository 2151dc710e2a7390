import { describe, expect, test } from "vitest";
import {
  classifyFailure,
  endsLease,
  type LeaseFailure,
  storageCodeOf,
} from "../../src/election/leaseFailure.ts";
import {
  budgetEndsAtMs,
  decideAfterPoll,
  decideAfterReadBack,
  decideBudget,
  leadingRecord,
  nextRenewalMs,
  type WaitState,
} from "../../src/election/policy.ts";
import type { Poll } from "../../src/election/record/leaderView.ts";
import type { LeaderRecord } from "../../src/election/record/record.ts";
import { electionSettings } from "../../src/election/settings.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import type { LeaseState } from "../../src/engine/storage/ports.ts";

const settings = electionSettings();

const record: LeaderRecord = {
  term: 7,
  termid: "seven",
  state: "leading",
  holder: "a",
  sinceMs: 0,
  heartbeat: "x-1",
  breakAfterMs: 4_000,
  cameBy: "free",
  notes: {},
  lastTerms: [],
};
const polled = (leaseState: LeaseState, more: Partial<LeaderRecord> | "none" = {}, ageMs = 0): Poll => ({
  leaseState,
  etag: "e",
  atMs: 0,
  ageMs,
  decoded: more === "none" ? { kind: "none" } : { kind: "record", record: { ...record, ...more } },
});
const tick: WaitState = { firstHeartbeat: "x-1", remainingMs: 0, watching: false, unchangedMs: 0 };
const wake: WaitState = { ...tick, remainingMs: 9_000 };
const watch: WaitState = { ...wake, watching: true };

describe("after a poll", () => {
  test.each<[string, Poll, WaitState, object]>([
    ["free, never led: acquire", polled("available", "none"), tick, { act: "acquire", cameBy: "free" }],
    [
      "free, just ended: acquire",
      polled("available", { state: "ended", ending: "done" }, 2_000),
      tick,
      { cameBy: "handed-over" },
    ],
    [
      "free, ended long ago: acquire",
      polled("available", { state: "ended" }, 99_000),
      tick,
      { cameBy: "free" },
    ],
    ["expired: acquire", polled("expired"), tick, { act: "acquire", cameBy: "expired" }],
    ["broken: acquire", polled("broken"), tick, { act: "acquire", cameBy: "broken" }],
    ["held and live: follow", polled("leased", {}, 1_000), tick, { act: "follow" }],
    ["being broken by hand: follow", polled("breaking", {}, 1_000), tick, { act: "follow" }],
    ["held, no record: follow", polled("leased", "none"), tick, { act: "follow" }],
    ["held, heartbeat not moved, woken: poll again", polled("leased"), wake, { act: "pollAgain" }],
    ["held, heartbeat moved, woken: follow", polled("leased", { heartbeat: "x-2" }), wake, { act: "follow" }],
    ["held, no record, woken: poll again", polled("leased", "none"), wake, { act: "pollAgain" }],
    [
      "held, ended, woken: poll again",
      polled("leased", { heartbeat: "x-2", state: "ended" }),
      wake,
      { act: "pollAgain" },
    ],
    [
      "held, heartbeat moved, watching: poll again",
      polled("leased", { heartbeat: "x-2" }),
      watch,
      { act: "pollAgain" },
    ],
    ["one second below the threshold: follow", polled("leased", {}, 3_000), tick, { act: "follow" }],
    ["at the threshold: break", polled("leased", {}, 4_000), tick, { act: "break", ifMatch: "e" }],
    ["at the threshold, breaking: break", polled("breaking", {}, 4_000), tick, { act: "break" }],
    [
      "threshold below three heartbeats: not yet",
      polled("leased", { breakAfterMs: 2_000 }, 3_000),
      tick,
      { act: "follow" },
    ],
    [
      "a longer threshold is obeyed",
      polled("leased", { breakAfterMs: 9_000 }, 8_000),
      tick,
      { act: "follow" },
    ],
    [
      "young by storage's times, unchanged for less than the leader's own deadline: poll again",
      polled("leased", {}, 3_000),
      { ...watch, unchangedMs: 2_999 },
      { act: "pollAgain" },
    ],
    [
      "young by storage's times, unchanged for as long as the leader's own deadline: break",
      polled("leased", {}, 3_000),
      { ...watch, unchangedMs: 3_000 },
      { act: "break", ifMatch: "e" },
    ],
    [
      "unchanged for less than three heartbeats of the challenger's own: not yet",
      polled("leased", { breakAfterMs: 2_000 }, 3_000),
      { ...watch, unchangedMs: 2_999 },
      { act: "pollAgain" },
    ],
    [
      "unchanged for less than a longer threshold: not yet",
      polled("leased", { breakAfterMs: 9_000 }, 8_000),
      { ...watch, unchangedMs: 7_999 },
      { act: "pollAgain" },
    ],
    [
      "unchanged without a threshold: never",
      polled("leased", { breakAfterMs: 0 }),
      { ...watch, unchangedMs: 99_000 },
      { act: "pollAgain" },
    ],
    ["no threshold: never", polled("leased", { breakAfterMs: 0 }, 99_000), tick, { act: "follow" }],
    ["no record: never", polled("leased", "none", 99_000), tick, { act: "follow" }],
    ["ended: never", polled("leased", { state: "ended" }, 99_000), tick, { act: "follow" }],
    [
      "written by a newer version: refuse",
      { ...polled("available"), decoded: { kind: "newer", reason: "v2" } },
      tick,
      { act: "refuse", code: "record-newer" },
    ],
    [
      "written by something else: refuse, even when free",
      { ...polled("available"), decoded: { kind: "unreadable", reason: "?" } },
      watch,
      { act: "refuse", code: "record-unreadable" },
    ],
  ])("%s", (_name, seen, waiting, decision) => {
    expect(decideAfterPoll(seen, waiting, settings)).toMatchObject(decision);
  });
});

describe("after a write whose reply is unknown", () => {
  test.each<[string, Poll | undefined, string]>([
    ["my termid is there: mine", polled("leased", { termid: "mine" }), "mine"],
    ["the ETag has not moved: unwritten", polled("leased"), "unwritten"],
    ["another wrote: lost", { ...polled("leased"), etag: "f" }, "lost"],
    ["the same term under another id: lost", { ...polled("leased", { term: 8 }), etag: "f" }, "lost"],
    ["the blob is gone: lost", undefined, "lost"],
  ])("%s", (_name, seen, verdict) => {
    expect(decideAfterReadBack(seen, "e", "mine")).toBe(verdict);
  });
});

describe("storage codes", () => {
  test.each<[string, LeaseFailure]>([
    ["LeaseAlreadyPresent", "contention"],
    ["LeaseIsBreakingAndCannotBeAcquired", "contention"],
    ["LeaseIdMismatchWithLeaseOperation", "loss"],
    ["LeaseIdMismatchWithBlobOperation", "loss"],
    ["LeaseIsBrokenAndCannotBeRenewed", "loss"],
    ["LeaseNotPresentWithLeaseOperation", "loss"],
    ["LeaseNotPresentWithBlobOperation", "loss"],
    ["ConditionNotMet", "loss"],
    ["BlobNotFound", "loss"],
    ["ContainerNotFound", "loss"],
    ["ContainerBeingDeleted", "loss"],
    ["ServerBusy", "transient"],
    ["", "transient"],
    ["SomethingNew", "transient"],
    ["toString", "transient"],
    ["LeaseIdMissing", "bug"],
    ["MetadataTooLarge", "bug"],
  ])("%s is %s, whatever the status", (code, failure) => {
    for (const status of [409, 412, 500]) {
      expect(classifyFailure(new StorageError("refused", code, status, code))).toBe(failure);
    }
  });

  test("an error that is none of storage's says nothing about the lease", () => {
    const error = new TypeError("x");
    expect([classifyFailure(error), endsLease(error), storageCodeOf("x")]).toEqual(["transient", false, ""]);
    expect(classifyFailure(undefined)).toBe("transient");
  });

  test("a denied call does not end a lease, because it says nothing about who holds it", () => {
    const error = new StorageError("denied", "AuthorizationFailure", 403, "denied");
    expect([classifyFailure(error), endsLease(error)]).toEqual(["denied", false]);
  });
});

test("renewals come a third of the lease after the last confirmed one left, a second after a failure", () => {
  expect([nextRenewalMs(true, 300, settings), nextRenewalMs(false, 2_000, settings)]).toEqual([4_700, 1_000]);
  expect(nextRenewalMs(true, 9_000, settings)).toBe(0);
});

test("the budget ends at the earlier of its own end and the host's timeout less its margin", () => {
  const both = electionSettings({ budgetMs: 200_000, functionTimeoutMs: 300_000, functionMarginMs: 60_000 });
  expect(budgetEndsAtMs(1_000, both)).toBe(201_000);
  expect(budgetEndsAtMs(1_000, { ...both, functionMarginMs: 120_000 })).toBe(181_000);
  expect(decideBudget(186_000, 1_000, both)).toBeUndefined();
  expect(decideBudget(186_001, 1_000, both)).toBe("too-little-budget");
  expect(decideBudget(0, 1_000, both)).toBe("clock-backwards");
});

test("a claim raises the term and appends itself to the last sixteen, of which the one before has ended", () => {
  const who = { holder: "b", region: "west" };
  const times = { sinceMs: 5_000, writtenMs: 4_100 };
  const claim = { termid: "eight", heartbeat: "y-2", cameBy: "expired", aboveTerm: 0, ...times } as const;
  const early = { ...settings, breakAfterMs: 5_000 };
  const eight = { term: 8, termid: "eight", holder: "b", sinceMs: 5_000, cameBy: "expired" };
  expect(leadingRecord(record, who, claim, early)).toEqual({
    ...{ ...eight, region: "west", state: "leading", heartbeat: "y-2", breakAfterMs: 5_000, notes: {} },
    lastTerms: [eight],
  });
  expect(leadingRecord(record, who, { ...claim, aboveTerm: 30 }, settings).term).toBe(31);
  expect(leadingRecord(undefined, who, claim, settings)).toMatchObject({ term: 1, lastTerms: [{ term: 1 }] });
  const six = { term: 6, termid: "six", holder: "a", sinceMs: 0, cameBy: "free", untilMs: 1 } as const;
  const seven = { term: 7, termid: "seven", holder: "a", sinceMs: 2, cameBy: "free" } as const;
  const { lastTerms } = leadingRecord({ ...record, lastTerms: [six, seven] }, who, claim, settings);
  expect(lastTerms).toEqual([six, { ...seven, untilMs: 4_100 }, eight]);
  const sixteen = Array.from({ length: 16 }, () => six);
  expect(leadingRecord({ ...record, lastTerms: sixteen }, who, claim, settings).lastTerms).toHaveLength(16);
});
