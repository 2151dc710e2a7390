import { describe, expect, it } from "vitest";
import {
  type BlobLease,
  type LeaseRequest,
  leaseAfterWrite,
  leaseStateAt,
  noLease,
  refusalOfWrite,
  requestLease,
} from "../../src/engine/storage/memory/leaseTable.ts";

const nowMs = 100_000;
const durationMs = 15_000;
const restMs = 10_000;

/** The lease of A in each of the five states, now. */
const leases = {
  available: noLease,
  leased: { set: "leased", id: "A", durationMs, untilMs: nowMs + restMs },
  breaking: { set: "breaking", id: "A", durationMs, untilMs: nowMs + restMs },
  broken: { set: "broken", id: "A", durationMs, untilMs: 0 },
  expired: { set: "leased", id: "A", durationMs, untilMs: nowMs },
} as const satisfies Record<string, BlobLease>;
type State = keyof typeof leases;

const requests = {
  "acquire A": { op: "acquire", id: "A", durationMs: 60_000 },
  "acquire B": { op: "acquire", id: "B", durationMs: 60_000 },
  "renew A": { op: "renew", id: "A" },
  "renew B": { op: "renew", id: "B" },
  "release A": { op: "release", id: "A" },
  "release B": { op: "release", id: "B" },
  "break 0": { op: "break", periodMs: 0 },
  "break 5": { op: "break", periodMs: 5000 },
  "break 60": { op: "break", periodMs: 60_000 },
  break: { op: "break" },
} as const satisfies Record<string, LeaseRequest>;

const mismatch = "LeaseIdMismatchWithLeaseOperation";
const broken = "LeaseIsBrokenAndCannotBeRenewed";
const present = "LeaseAlreadyPresent";
const absent = "LeaseNotPresentWithLeaseOperation";
const breaking = "LeaseIsBreakingAndCannotBeAcquired";

/** Next state and its holder, or the refusal; the columns are the states in the order of `leases`. */
const table: Record<keyof typeof requests, readonly [string, string, string, string, string]> = {
  "acquire A": ["leased A", "leased A", breaking, "leased A", "leased A"],
  "acquire B": ["leased B", present, present, "leased B", "leased B"],
  "renew A": [mismatch, "leased A", broken, broken, "leased A"],
  "renew B": [mismatch, mismatch, mismatch, mismatch, mismatch],
  "release A": [mismatch, "available ", "available ", "available ", "available "],
  "release B": [mismatch, mismatch, mismatch, mismatch, mismatch],
  "break 0": [absent, "broken A", "broken A", "broken A", "broken A"],
  "break 5": [absent, "breaking A", "breaking A", "broken A", "broken A"],
  "break 60": [absent, "breaking A", "breaking A", "broken A", "broken A"],
  break: [absent, "breaking A", "breaking A", "broken A", "broken A"],
};

const cases = Object.entries(table).flatMap(([request, outcomes]) =>
  outcomes.map((outcome, index) => ({
    request: request as keyof typeof requests,
    state: Object.keys(leases)[index] as State,
    outcome,
  })),
);

describe("the lease table", () => {
  it.each(cases)(
    "answers $request on a lease that is $state with $outcome",
    ({ request, state, outcome }) => {
      const answer = requestLease(leases[state], requests[request], nowMs);
      const found =
        "refusal" in answer ? answer.refusal : `${leaseStateAt(answer.lease, nowMs)} ${answer.lease.id}`;
      expect(found).toBe(outcome);
    },
  );

  it.each([
    ["acquire A", nowMs + 60_000],
    ["renew A", nowMs + durationMs],
    ["break 5", nowMs + 5000],
    ["break 60", nowMs + restMs],
    ["break", nowMs + restMs],
  ] as const)("sets the end of the lease on %s", (request, untilMs) => {
    expect(requestLease(leases.leased, requests[request], nowMs)).toMatchObject({ lease: { untilMs } });
  });

  it("never lengthens a break that is under way", () => {
    const answer = requestLease(leases.breaking, requests["break 60"], nowMs);
    expect(answer).toMatchObject({ lease: { untilMs: leases.breaking.untilMs } });
  });

  it("lets a break end in its own time", () => {
    expect(leaseStateAt(leases.breaking, nowMs + restMs - 1)).toBe("breaking");
    expect(leaseStateAt(leases.breaking, nowMs + restMs)).toBe("broken");
  });

  const missing = "LeaseIdMissing";
  const notPresent = "LeaseNotPresentWithBlobOperation";
  const another = "LeaseIdMismatchWithBlobOperation";
  const writes: [State, string | undefined, string | undefined, string | undefined][] = [
    ["available", undefined, notPresent, notPresent],
    ["leased", missing, undefined, another],
    ["breaking", missing, undefined, another],
    ["broken", undefined, notPresent, notPresent],
    ["expired", undefined, notPresent, notPresent],
  ];
  it.each(writes)("guards the writes on a lease that is %s", (state, withoutId, withA, withB) => {
    expect(refusalOfWrite(leases[state], undefined, nowMs)).toBe(withoutId);
    expect(refusalOfWrite(leases[state], "A", nowMs)).toBe(withA);
    expect(refusalOfWrite(leases[state], "B", nowMs)).toBe(withB);
  });

  it("ends a lease that is over at the first write, and no other", () => {
    expect(leaseAfterWrite(leases.expired, nowMs)).toEqual(noLease);
    expect(leaseAfterWrite(leases.broken, nowMs)).toEqual(noLease);
    expect(leaseAfterWrite(leases.leased, nowMs)).toEqual(leases.leased);
    expect(leaseAfterWrite(leases.breaking, nowMs)).toEqual(leases.breaking);
  });
});
