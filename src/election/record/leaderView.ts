import type { LeaseState, LeaseStore, LeaseView } from "../../engine/storage/ports.ts";
import { type Decoded, decodeRecord, type LeaderRecord } from "./record.ts";

/** One poll of the leader blob, decoded. Its age needs no local clock: both of its times are the service's. */
export interface Poll {
  readonly leaseState: LeaseState;
  readonly etag: string;
  /** The service's time of the poll. */
  readonly atMs: number;
  /** Since the record was last written, with a resolution of one second. */
  readonly ageMs: number;
  readonly decoded: Decoded;
}

export const pollOf = (view: LeaseView): Poll => ({
  leaseState: view.leaseState,
  etag: view.etag,
  atMs: view.dateMs,
  ageMs: Math.max(0, view.dateMs - view.lastModifiedMs),
  decoded: decodeRecord(view.metadata),
});

export const isHeld = ({ leaseState }: Poll): boolean => leaseState === "leased" || leaseState === "breaking";

/** Who leads, for readers of the record. */
export type CurrentLeader =
  | {
      readonly kind: "known";
      /** The record says `leading` and the lease is held. It may still be a leader that died a moment ago. */
      readonly leading: boolean;
      /** Since the last heartbeat (or the last write of any kind), by the service's clock. */
      readonly ageMs: number;
      readonly atMs: number;
      readonly leaseState: LeaseState;
      /** Remaining time of the lease, at least; only of a leader whose record has it. */
      readonly leaseLeftMs?: number;
      readonly record: LeaderRecord;
    }
  /** Nobody has ever led. */
  | { readonly kind: "none" }
  | { readonly kind: "unreadable"; readonly reason: string };

export function currentLeaderOf(poll: Poll): CurrentLeader {
  const { decoded, leaseState, ageMs, atMs } = poll;
  if (decoded.kind === "none") return { kind: "none" };
  if (decoded.kind !== "record") return { kind: "unreadable", reason: decoded.reason };
  const { record } = decoded;
  const leading = record.state === "leading" && isHeld(poll);
  const known = leading && record.leaseLeftMs !== undefined;
  return {
    kind: "known",
    leading,
    ageMs,
    atMs,
    leaseState,
    ...(known ? { leaseLeftMs: Math.max(0, (record.leaseLeftMs ?? 0) - ageMs) } : {}),
    record,
  };
}

/** One HEAD. Throws `StorageError` where storage does not answer: a failed read is never "nobody leads". */
export async function currentLeader(
  lease: Pick<LeaseStore, "view">,
  options: { readonly signal?: AbortSignal } = {},
): Promise<CurrentLeader> {
  const view = await lease.view(options);
  return view.kind === "missing" ? { kind: "none" } : currentLeaderOf(pollOf(view));
}
