import type { CameBy, EndCause } from "./record/record.ts";

interface Common {
  readonly holder: string;
  /** The last term known: the leader's own, or the one in the record. */
  readonly term: number;
}

/** What happens in an election, for logs and tests. `marginMs`: remaining time before work would have to stop. */
export type ElectionEvent = Common & ElectionEventDetail;

export type ElectionEventDetail =
  | { readonly kind: "acquired"; readonly cause: CameBy; readonly marginMs: number }
  | { readonly kind: "claimed"; readonly cause: CameBy; readonly termid: string; readonly marginMs: number }
  | { readonly kind: "renewed"; readonly marginMs: number }
  /** Nothing was confirmed in time, or the leader blob is gone. */
  | { readonly kind: "lost"; readonly cause: EndCause; readonly code: string }
  /** Another broke or acquired the lease. */
  | { readonly kind: "deposed"; readonly cause: EndCause; readonly code: string }
  /** `confirmed: false`: the reply is unknown; the lease expires by itself at the latest. */
  | {
      readonly kind: "released";
      readonly cause: EndCause;
      readonly confirmed: boolean;
      readonly marginMs: number;
    }
  /** Another acquired the lease first. */
  | { readonly kind: "contended"; readonly code: string }
  /** A contender that waits got no answer to a poll, and polls again. `reason` is for people. */
  | { readonly kind: "unreachable"; readonly code: string; readonly reason: string }
  /** Claimed after a leader that never wrote that it had ended. */
  | { readonly kind: "tookOver"; readonly cause: CameBy; readonly from: string; readonly silentMs: number };

export type OnElectionEvent = (event: ElectionEvent) => void;
