import type { Mutation } from "../../code/mutation.ts";
import type { Checker } from "../checkers.ts";

/** A safety condition taken out of the code under test. */
export interface Mutant extends Mutation {
  /** What the mutant lacks. */
  readonly lacks: string;
  readonly killedBy: Checker;
  /** The first seed to try, or the first call at which to try a fault; only to save time. Default seed 1. */
  readonly from?: { readonly seed: number } | { readonly call: number };
}

/**
 * Each condition that safety rests on, in the order in which a leader meets it. Jitter is left out: it keeps
 * challengers from each other's throat and protects nothing.
 */
export const mutants: readonly Mutant[] = [
  {
    lacks: "If-Match on the break",
    killedBy: "nobody followed too early",
    from: { seed: 21 },
    in: "breakLease",
    find: "ports.lease.breakNow({ ifMatch, signal })",
    replace: "ports.lease.breakNow({ signal, ...(ifMatch === '' ? { ifMatch } : {}) })",
  },
  {
    lacks: "the leader's own threshold for a break",
    killedBy: "nobody followed too early",
    from: { seed: 13 },
    in: "mayBreak",
    find: "const thresholdMs = Math.max(record.breakAfterMs, 3",
    replace: "const thresholdMs = Math.max(settings.breakAfterMs, 3",
  },
  {
    lacks: "any threshold for the age of a record",
    killedBy: "nobody followed too early",
    in: "mayBreak",
    find: "return ageMs >= thresholdMs ||",
    replace: "return ageMs >= 2_000 ||",
  },
  {
    lacks: "any threshold for a record that stays the same",
    killedBy: "nobody followed too early",
    in: "mayBreak",
    find: "unchangedMs >= thresholdMs - ageResolutionMs;",
    replace: "unchangedMs >= 1_200;",
  },
  {
    lacks: "a new count with each record",
    killedBy: "nobody followed too early",
    in: "pollSchedule",
    find: "if (same?.etag !== etag) same =",
    replace: "same ??=",
  },
  {
    lacks: "counting from the answer of the first poll of a record (from its request)",
    killedBy: "nobody followed too early",
    from: { seed: 1116 },
    in: "pollSchedule",
    find: "same = { etag, answeredAt };",
    replace: "same = { etag, answeredAt: sentAt };",
  },
  {
    lacks: "the monotonic clock for a record that stays the same (wall)",
    killedBy: "nobody followed too early",
    from: { seed: 769 },
    in: "pollSchedule",
    find: "sentAt.monotonicMs - same.answeredAt.monotonicMs",
    replace: "sentAt.wallMs - same.answeredAt.wallMs",
  },
  {
    lacks: "one lease id per series of tries (another with each try)",
    killedBy: "no lease left behind",
    from: { call: 4 },
    in: "acquireLease",
    find: "lease.acquire(leaseId, settings.leaseDurationS, { ifMatch: poll.etag, signal }),",
    replace:
      "lease.acquire(attempt === 1 ? leaseId : ports.random.uuid(), settings.leaseDurationS, { ifMatch: poll.etag, signal }),",
  },
  {
    lacks: "If-Match on the acquire",
    killedBy: "terms grow",
    from: { seed: 3660 },
    in: "acquireLease",
    find: "{ ifMatch: poll.etag, signal }",
    replace: "{ signal }",
  },
  {
    lacks: "a new lease id for each series (one for the life of a process)",
    killedBy: "stop-work deadline",
    from: { seed: 27 },
    in: "acquireLease",
    find: "const leaseId = ports.random.uuid();",
    replace:
      "const leaseId = '00000000-0000-4000-8000-' + (request as object as { holder: string }).holder.slice(9).padStart(12, '0');",
  },
  {
    lacks: "the lease id on the claim",
    killedBy: "claims under the lease",
    from: { call: 5 },
    in: "memoryLease",
    find: "account.checkLease(blob, leaseId);\n      return { etag: account.put(container, name, { ...blob",
    replace:
      "if (options?.ifMatch === undefined || !checked['record']?.includes('\"state\":\"leading\"')) account.checkLease(blob, leaseId);\n      return { etag: account.put(container, name, { ...blob",
  },
  {
    lacks: "the lease id on heartbeats",
    killedBy: "terms grow",
    in: "memoryLease",
    find: "account.checkLease(blob, leaseId);\n      return { etag: account.put(container, name, { ...blob",
    replace:
      "if (options?.ifMatch !== undefined || !checked['record']?.includes('\"state\":\"leading\"')) account.checkLease(blob, leaseId);\n      return { etag: account.put(container, name, { ...blob",
  },
  {
    lacks: "If-Match on the claim",
    killedBy: "nothing late over later",
    from: { call: 4 },
    in: "writeClaim",
    find: "lease.writeRecord(hold.leaseId, metadata, { ifMatch, signal }),",
    replace: "lease.writeRecord(hold.leaseId, metadata, { signal }),",
  },
  {
    lacks: "a term above the last one",
    killedBy: "terms grow",
    in: "leadingRecord",
    find: "const term = Math.max(last?.term ?? 0, claim.aboveTerm) + 1;",
    replace: "const term = Math.max(last?.term ?? 0, claim.aboveTerm, 1);",
  },
  {
    lacks: "a term above the one that state has seen",
    killedBy: "terms grow",
    in: "leadingRecord",
    find: "const term = Math.max(last?.term ?? 0, claim.aboveTerm) + 1;",
    replace: "const term = (last?.term ?? 0) + 1;",
  },
  {
    lacks: "reading back the termid of a claim whose reply was lost (taken for mine)",
    killedBy: "claims under the lease",
    from: { call: 5 },
    in: "decideAfterReadBack",
    find: 'if (seen.decoded.kind === "record" && seen.decoded.record.termid === termid) return "mine";',
    replace: 'if (seen.decoded.kind === "record") return "mine";',
  },
  {
    lacks: "telling terms apart by termid (the number is enough)",
    killedBy: "claims under the lease",
    from: { call: 5 },
    in: "writeClaim",
    find: "decideAfterReadBack(seen, ifMatch, record.termid)",
    replace:
      "decideAfterReadBack(seen, ifMatch, seen?.decoded.kind === 'record' && seen.decoded.record.term === record.term ? seen.decoded.record.termid : '')",
  },
  {
    lacks: "the margin before the lease ends",
    killedBy: "stop-work deadline",
    from: { seed: 5 },
    in: "stopWorkMs",
    find: "settings.leaseDurationS * 1_000 - settings.marginMs;",
    replace: "settings.leaseDurationS * 1_000 - 1;",
  },
  {
    lacks: "the second part of the deadline, by heartbeats",
    killedBy: "nobody followed too early",
    in: "stopWorkDeadline",
    find: "if (heartbeat === undefined || settings.breakAfterMs === 0) return byLease;",
    replace: "if (heartbeat === undefined || settings.breakAfterMs >= 0) return byLease;",
  },
  {
    lacks: "the second that a record's age may be off",
    killedBy: "stop-work deadline",
    in: "stopWorkDeadline",
    find: "settings.breakAfterMs - ageResolutionMs - elapsedMs(heartbeat, now)",
    replace: "settings.breakAfterMs - 0 * ageResolutionMs - elapsedMs(heartbeat!, now)",
  },
  {
    lacks: "counting from the time a request was sent (from its reply)",
    killedBy: "stop-work deadline",
    from: { seed: 46 },
    in: "cappedCall",
    find: '(value) => finish({ kind: "ok", value, sentAt }),',
    replace: '(value) => finish({ kind: "ok", value, sentAt: readClocks(clock) }),',
  },
  {
    lacks: "the wall clock (monotonic alone)",
    killedBy: "nobody followed too early",
    in: "elapsedMs",
    find: "Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);",
    replace: "now.monotonicMs - since.monotonicMs;",
  },
  {
    lacks: "the monotonic clock (wall alone)",
    killedBy: "stop-work deadline",
    from: { seed: 58 },
    in: "elapsedMs",
    find: "Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);",
    replace: "now.wallMs - since.wallMs;",
  },
  {
    lacks: "a timer of the deadline's own",
    killedBy: "stop-work deadline",
    in: "stopWorkDeadline",
    find: "cancel = clock.after(Math.min(untilPassedMs(), checkEveryMs), arm);",
    replace: "cancel = () => {};",
  },
  {
    lacks: "reading the clocks right before an effect",
    killedBy: "stop-work deadline",
    from: { seed: 15 },
    in: "leadershipOf",
    find: "assertLeading() {\n      hold.deadline.hasPassed();",
    replace: "assertLeading() {",
  },
  {
    lacks: "waiting for a confirmed renewal (a failed one counts)",
    killedBy: "stop-work deadline",
    from: { seed: 5 },
    in: "LeaseHold",
    find: 'if (reply.kind === "ok") {\n        this.deadline.leaseConfirmed(reply.sentAt);',
    replace: 'this.deadline.leaseConfirmed(reply.sentAt);\n      if (reply.kind === "ok") {',
  },
  {
    lacks: "the takeover of the state",
    killedBy: "no older effect",
    in: "takeOverState",
    find: "await chain.write(written);",
    replace: "void written;",
  },
  {
    lacks: "a takeover only over a lower term",
    killedBy: "one writer per term",
    in: "takeOverState",
    find: "if (!ours && state.term >= leader.term) throw new DeposedError(state.term);",
    replace: "",
  },
  {
    lacks: "If-Match on the state",
    killedBy: "no older effect",
    in: "writesOf",
    find: 'if (blob === undefined || blob.etag !== write.ifMatch) return { kind: "conflict" };',
    replace: 'if (blob === undefined) return { kind: "conflict" };',
  },
  {
    lacks: "draining before the release",
    killedBy: "drained before release",
    in: "runTask",
    find: "await clock.sleep(settings.drainCapMs, over.signal);\n  const drained = over.signal.aborted;",
    replace: "const drained = true;",
  },
  {
    lacks: "releasing by its own lease id",
    killedBy: "nobody followed too early",
    in: "releaseLease",
    find: "lease.release(hold.leaseId, { signal })",
    replace: "lease.breakNow({ signal })",
  },
  {
    lacks: "a release after tries whose outcome is unknown",
    killedBy: "no lease left behind",
    from: { call: 4 },
    in: "acquireLease",
    find: "await call((signal) => lease.release(leaseId, { signal }));",
    replace: "",
  },
];
