import type { Clock } from "../../../src/engine/storage/ports.ts";

/**
 * When work has to stop, told from outside: from the requests that a process sent and the answers it was handed,
 * and from nothing that the election believes. It repeats point 6 of src/election/README.md in its own words.
 */
export interface StopWorkOracle {
  /** A lease call leaves. The returned function is told when its answer was handed over in time. */
  sends(call: OracleCall): () => void;
  /** Time left in ms for the holder of this term; negative when its deadline is past. */
  leftMs(termid: string): number;
  /** The lease under which this term was claimed. */
  leaseIdOf(termid: string): string | undefined;
}

interface OracleCall {
  readonly leaseId: string;
  readonly kind: "lease" | "record";
  /** Of a record that says `leading`. */
  readonly leading?: { readonly termid: string; readonly breakAfterMs: number } | undefined;
}

interface Known {
  leaseSent?: Instant;
  heartbeatSent?: Instant;
  firstClaimSent?: Instant;
  breakAfterMs: number;
}

interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function stopWorkOracle(
  clock: Clock,
  rule: { readonly leaseMs: number; readonly marginMs: number; readonly ageResolutionMs: number },
): StopWorkOracle {
  const leases = new Map<string, Known>();
  const leaseOfTerm = new Map<string, string>();
  const now = (): Instant => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });
  const knownOf = (leaseId: string): Known => {
    const known = leases.get(leaseId) ?? { breakAfterMs: 0 };
    leases.set(leaseId, known);
    return known;
  };
  const latest = (a: Instant | undefined, b: Instant): Instant =>
    a !== undefined && a.monotonicMs > b.monotonicMs ? a : b;
  /** Time that certainly has not passed less than this, as long as one of the two clocks is right. */
  const since = (instant: Instant, at: Instant): number =>
    Math.max(at.monotonicMs - instant.monotonicMs, at.wallMs - instant.wallMs);

  return {
    sends({ leaseId, kind, leading }) {
      const sent = now();
      const known = knownOf(leaseId);
      if (leading !== undefined) {
        leaseOfTerm.set(leading.termid, leaseId);
        known.firstClaimSent ??= sent;
        known.breakAfterMs = leading.breakAfterMs;
      }
      return () => {
        if (kind === "lease") known.leaseSent = latest(known.leaseSent, sent);
        else if (leading !== undefined) known.heartbeatSent = latest(known.heartbeatSent, sent);
      };
    },
    leaseIdOf: (termid) => leaseOfTerm.get(termid),
    leftMs(termid) {
      const known = leases.get(leaseOfTerm.get(termid) ?? "");
      if (known?.leaseSent === undefined) return Number.NEGATIVE_INFINITY;
      const at = now();
      const byLease = rule.leaseMs - rule.marginMs - since(known.leaseSent, at);
      if (known.breakAfterMs === 0) return byLease;
      // A claim whose reply was lost and that was read back counts from when it was first sent.
      const heartbeatSent = known.heartbeatSent ?? known.firstClaimSent;
      if (heartbeatSent === undefined) return Number.NEGATIVE_INFINITY;
      return Math.min(byLease, known.breakAfterMs - rule.ageResolutionMs - since(heartbeatSent, at));
    },
  };
}
