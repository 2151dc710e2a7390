import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeRecord } from "../../src/election/record/record.ts";
import {
  type ElectionSettings,
  electionSettings,
  leasesSettings,
  stopWorkMs,
} from "../../src/election/settings.ts";
import { ConfigError, InputError, StorageError } from "../../src/engine/model/errors.ts";
import { electionBlob, namedLeaseBlob } from "../../src/engine/model/names.ts";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import type { LeaseStore } from "../../src/engine/storage/ports.ts";
import { raceAndLead } from "../support/raceAndLead.ts";
import { virtualWorld } from "../support/virtualClock.ts";
import { blob, container, contenders } from "./contenders.ts";
import { type Fault, faultyLease, type LeaseOp } from "./faultyLease.ts";

/** Whatever is wrong is named by a code, at start or as a refusal to lead; nothing is left to nobody. */
const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);

beforeAll(() => void process.on("unhandledRejection", note));
afterAll(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

const nan = Number.NaN;
const codeOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigError || error instanceof InputError) return error.code;
    throw error;
  }
  return "no error";
};

describe("settings", () => {
  test.each<[string, Partial<ElectionSettings>]>([
    ["lease length", { leaseDurationS: 14 }],
    ["lease length", { leaseDurationS: 61 }],
    ["lease length", { leaseDurationS: nan }],
    ["every interval and cap is above zero", { renewAgainMs: 0 }],
    ["every interval and cap is above zero", { heartbeatEveryMs: nan }],
    ["every interval and cap is above zero", { pollEveryMs: -1 }],
    ["every interval and cap is above zero", { breakJitterMs: 0 }],
    ["every interval and cap is above zero", { drainCapMs: Number.POSITIVE_INFINITY }],
    ["request cap < renew interval", { requestCapMs: 5_000 }],
    ["request cap < renew interval", { renewEveryMs: nan }],
    ["renew interval < stop-work deadline", { renewEveryMs: 13_000 }],
    ["renew interval < stop-work deadline", { marginMs: 20_000 }],
    ["break threshold is 0 or a positive whole number", { breakAfterMs: nan }],
    ["break threshold is 0 or a positive whole number", { breakAfterMs: 4_000.5 }],
    ["break threshold >= 3 heartbeats + 1 s", { breakAfterMs: 3_999 }],
    ["break threshold >= 3 heartbeats + 1 s", { breakAfterMs: 6_000, heartbeatEveryMs: 2_000 }],
    [
      "heartbeat interval + 2 x heartbeat cap < break threshold - 1 s",
      { breakAfterMs: 4_000, heartbeatCapMs: 1_000 },
    ],
    ["heartbeat cap < heartbeat interval", { heartbeatCapMs: 1_000 }],
    ["break threshold < lease length", { breakAfterMs: 15_000 }],
    ["stall limit", { stallAfterMs: nan }],
    ["tries", { tries: 1.5 }],
    ["budget > 0", { budgetMs: nan }],
    ["budget < function timeout", { budgetMs: 90_000, functionTimeoutMs: 90_000 }],
    ["drain cap + 2 x request cap < function margin", { functionTimeoutMs: 90_000, functionMarginMs: 9_000 }],
    ["function margin < function timeout", { functionTimeoutMs: 12_000 }],
    ["least term", { functionTimeoutMs: nan }],
    ["least term", { leastTermMs: nan }],
    [
      "least term <= budget: leastTermMs, by default a lease length, is 15000 and budgetMs 14000",
      { budgetMs: 14_000 },
    ],
    ["there is no breakafterMs; there are leaseDurationS, ", { breakafterMs: 4_000 } as object],
    ["renewEveryMs is a number", { renewEveryMs: "5000" } as object],
    ["stallAfterMs is a number", { stallAfterMs: null } as object],
    ["watching is a boolean", { watching: 1 } as object],
  ])("that break the relation %s are refused: %j", (relation, chosen) => {
    const check = () => electionSettings(chosen);
    expect(codeOf(check)).toBe("election-settings");
    expect(check).toThrow(relation);
  });

  test("that are undefined are the default", () => {
    const undefinedOnes = { budgetMs: undefined, leaseDurationS: undefined } as object;
    expect(electionSettings(undefinedOnes)).toEqual(electionSettings());
  });

  test.each([
    ["breakAfterMs", { breakAfterMs: 4_000 }],
    ["budgetMs", { budgetMs: 60_000 }],
    ["lookagainMs", { lookagainMs: 100 }],
  ])("of leases that are none of theirs are refused: %s", (name, chosen) => {
    expect(() => leasesSettings(chosen as object)).toThrow(
      `Leases: there is no ${name}; there are leaseDurationS,`,
    );
  });

  test("are refused, or every relation that safety rests on holds", () => {
    const ms = fc.oneof(
      fc.integer({ min: -1, max: 30_000 }),
      fc.constantFrom(nan, 0.5, Number.POSITIVE_INFINITY),
    );
    const names = [
      ...["leaseDurationS", "marginMs", "renewEveryMs", "renewAgainMs", "requestCapMs", "heartbeatEveryMs"],
      ...[
        "heartbeatCapMs",
        "breakAfterMs",
        "functionTimeoutMs",
        "functionMarginMs",
        "budgetMs",
        "drainCapMs",
      ],
    ];
    const some = fc.dictionary(fc.constantFrom(...names), ms, { maxKeys: 4 });
    fc.assert(
      fc.property(some, (chosen) => {
        let s: ElectionSettings;
        try {
          s = electionSettings(chosen);
        } catch (error) {
          return error instanceof ConfigError && error.code === "election-settings";
        }
        const lease = s.requestCapMs < s.renewEveryMs && s.renewEveryMs < stopWorkMs(s);
        const inTime = stopWorkMs(s) < s.leaseDurationS * 1_000;
        const early =
          s.breakAfterMs === 0 || s.heartbeatEveryMs + 2 * s.heartbeatCapMs < s.breakAfterMs - 1_000;
        return lease && inTime && early;
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("names", () => {
  test.each<[string, string]>([
    ["nothing", ""],
    ["a thousand and one characters", "x".repeat(1_001)],
    ["a dot alone", "."],
    ["a folder above", "a/../b"],
    ["a slash at the end", "a/"],
    ["a backslash", "a\\b"],
    ["a control character", "a\nb"],
  ])("%s is no name for a lease or an election", (_what, name) => {
    expect([codeOf(() => namedLeaseBlob(name)), codeOf(() => electionBlob(name))]).toEqual([
      "bad-name",
      "bad-name",
    ]);
  });

  test.each<[string, { holder: string; region?: string }]>([
    ["no holder", { holder: "" }],
    ["a holder of 129 characters", { holder: "h".repeat(129) }],
    ["a region of 65 characters", { holder: "h", region: "r".repeat(65) }],
  ])("%s is a wrong request", async (_what, request) => {
    const one = contenders().contender("node-1");
    await expect(one.race(request)).rejects.toMatchObject({ code: "election-holder" });
  });

  test("a container whose name the service does not take is a refusal, not a wait", async () => {
    const world = virtualWorld();
    const clock = world.clock();
    const lease = memoryStorage({ clock, random: world.random }).lease("Not_A_Container", "leader");
    const outcome = raceAndLead({ lease, clock, random: world.random }, electionSettings(), {
      holder: "node-1",
      startedAtMonotonicMs: 0,
      worthLeading: async () => true,
      lead: async () => {},
    });
    expect(await world.finish(outcome, 10_000)).toMatchObject({ kind: "refused", code: "bad-request" });
  });
});

describe("a record that is not ours", () => {
  const ours = encodeRecord({
    ...{ term: 3, termid: "t", state: "ended", holder: "h", sinceMs: 0, heartbeat: "b-1", breakAfterMs: 0 },
    ...{ cameBy: "free", notes: {}, lastTerms: [] },
  });
  test.each<[string, string, Record<string, string>]>([
    ["of another product", "record-unreadable", { owner: "someone" }],
    ["with half of our fields", "record-unreadable", { v: "1", record: '{"term":3}' }],
    [
      "with a term beyond all numbers",
      "record-unreadable",
      { ...ours, record: ours.record.replace('"term":3', `"term":${"9".repeat(30)}`) },
    ],
    ["of a later version", "record-newer", { ...ours, v: "2" }],
  ])("%s is refused as %s and left as it is", async (_what, code, metadata) => {
    const arena = contenders({ settings: { watching: true } });
    await arena.storage.blobs.ensureContainer(container);
    await arena.storage.blobs.create(container, blob, "", { metadata });
    const outcome = await arena.world.finish(arena.contender("node-1").race(), 10_000);
    expect(outcome).toMatchObject({ kind: "refused", code });
    expect(await arena.view()).toMatchObject({ metadata, leaseState: "available" });
  });

  test("that appears between the poll and the acquire makes the acquire fail", async () => {
    const metadata = { owner: "someone" };
    const arena = contenders({
      between: (lease) => ({
        ...lease,
        async acquire(...request) {
          const { etag } = await arena.view();
          await arena.storage.blobs.setMetadata(container, blob, metadata, { ifMatch: etag });
          return lease.acquire(...request);
        },
      }),
    });
    const outcome = await arena.world.finish(arena.contender("node-1").race(), 10_000);
    expect(outcome).toMatchObject({ kind: "follower" });
    expect(await arena.view()).toMatchObject({ metadata, leaseState: "available" });
  });
});

describe("a container", () => {
  test("that is missing is created, with the record in it", async () => {
    const arena = contenders();
    const outcome = await arena.world.finish(arena.contender("node-1").race({ work: async () => {} }));
    expect(outcome).toMatchObject({ kind: "led", term: 1 });
  });

  const denying =
    (denied: LeaseOp) =>
    (lease: LeaseStore): LeaseStore => {
      const refuse = (): Promise<never> =>
        Promise.reject(new StorageError("denied", "AuthorizationPermissionMismatch", 403, "no"));
      const fault = (op: LeaseOp): Fault => (op === denied ? { code: "denied" } : "none");
      const faulty = faultyLease(lease, fault);
      const turn =
        <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
        (...args: A): Promise<T> =>
          call(...args).catch((error: unknown) =>
            error instanceof StorageError && error.storageCode === "denied"
              ? refuse()
              : Promise.reject(error),
          );
      return {
        ensure: turn(faulty.ensure),
        view: turn(faulty.view),
        acquire: turn(faulty.acquire),
        renew: turn(faulty.renew),
        release: turn(faulty.release),
        breakNow: turn(faulty.breakNow),
        writeRecord: turn(faulty.writeRecord),
      };
    };

  test.each<LeaseOp>(["view", "ensure", "acquire", "write leading"])(
    "that forbids %s is a refusal at once, with no lease left behind",
    async (op) => {
      const arena = contenders({ settings: { watching: true }, between: denying(op) });
      const outcome = await arena.world.finish(arena.contender("node-1").race(), 10_000);
      expect(outcome).toMatchObject({
        kind: "refused",
        code: "denied",
        error: { storageCode: "AuthorizationPermissionMismatch" },
      });
      expect(arena.world.nowMs()).toBeLessThan(3_000);
      if (op !== "view" && op !== "ensure") expect((await arena.view()).leaseState).toBe("available");
    },
  );

  test("that a leader may no longer write costs the term by its deadline, and no more", async () => {
    const arena = contenders({ between: denying("renew") });
    const outcome = await arena.world.finish(arena.contender("node-1").race(), 20_000);
    expect(outcome).toMatchObject({ kind: "led", cause: "stop-work" });
  });
});

describe("a clock that runs backwards", () => {
  test("before the race is a refusal without any call", async () => {
    const arena = contenders();
    const one = arena.contender("node-1");
    one.clock.loseMonotonic(5_000);
    const outcome = await one.race({ startedAtMonotonicMs: 1_000 });
    expect(outcome).toMatchObject({ kind: "refused", code: "clock-backwards" });
    expect(arena.storage.meter.counts().other).toBe(0);
  });

  test.each(["monotonic", "wall"] as const)(
    "in the middle of a term does not prolong it: %s",
    async (which) => {
      const arena = contenders({
        between: (lease) => faultyLease(lease, (op) => (op === "renew" ? "hang" : "none")),
      });
      const one = arena.contender("node-1");
      const outcome = one.race();
      await arena.world.advance(3_000);
      if (which === "wall") one.clock.jumpWall(-3_600_000);
      else one.clock.loseMonotonic(3_600_000);
      expect(await arena.world.finish(outcome, 60_000)).toMatchObject({ kind: "led", cause: "stop-work" });
      expect(arena.world.nowMs()).toBeLessThan(19_000);
    },
  );
});
