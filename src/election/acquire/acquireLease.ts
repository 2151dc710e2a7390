import { cappedCall, type Moment } from "../cappedCall.ts";
import { judge, storageCodeOf } from "../judge.ts";
import type { Sight } from "../record/leaderView.ts";
import type { CameBy } from "../record/record.ts";
import { type Contest, type RaceOutcome, whyGiveUp, whyNotNow } from "./contest.ts";

/** A lease of ours, without a term as yet. */
export interface TakenLease {
  readonly kind: "taken";
  readonly leaseId: string;
  /** When the acquire that was confirmed left. */
  readonly sentAt: Moment;
  readonly cameBy: CameBy;
  /** The poll before it. The acquire was conditional on its ETag, so this is the record under the lease as well. */
  readonly sight: Sight;
}

export type Acquired =
  | TakenLease
  | { readonly kind: "over"; readonly outcome: RaceOutcome }
  /** Another was first. */
  | { readonly kind: "contended" }
  /** The blob went away between the look and the acquire. */
  | { readonly kind: "gone" };

/**
 * One series of tries with one lease id, chosen here and never used again. The same id may acquire its own
 * lease once more, so a reply that got lost does no harm. The ETag of the look makes the request worthless once
 * anybody has written the record: one that was held up on its way, and arrives when its lease has long been given
 * back, would otherwise take the lease again for an id that late writes of an older term still carry.
 */
export async function acquireLease(contest: Contest, cameBy: CameBy, sight: Sight): Promise<Acquired> {
  const { ports, settings, request } = contest;
  const { clock, lease } = ports;
  const leaseId = ports.random.uuid();
  const { stopping } = request;
  let error: unknown;
  for (let attempt = 1; attempt <= settings.tries && !stopping?.aborted; attempt += 1) {
    if (attempt > 1) await clock.sleep(settings.renewAgainMs, stopping);
    const reply = await cappedCall(
      clock,
      settings.requestCapMs,
      (signal) => lease.acquire(leaseId, settings.leaseDurationS, { ifMatch: sight.etag, signal }),
      stopping,
    );
    if (reply.kind === "ok") {
      return { kind: "taken", leaseId, sentAt: reply.sentAt, cameBy, sight };
    }
    error = reply.error;
    const verdict = judge(error);
    const moved = storageCodeOf(error) === "ConditionNotMet";
    if (verdict === "contention" || moved) {
      const term = sight.decoded.kind === "record" ? sight.decoded.record.term : 0;
      contest.emit({ kind: "contended", holder: request.holder, term, code: storageCodeOf(error) });
      return { kind: "contended" };
    }
    if (verdict === "loss") return { kind: "gone" };
    const refusal = whyGiveUp(contest, error, "acquire");
    if (refusal !== undefined && refusal.code !== "stopping") return { kind: "over", outcome: refusal };
  }
  // One of the tries may have been carried out: do not leave a lease without a holder for its whole length.
  await cappedCall(clock, settings.requestCapMs, (signal) => lease.release(leaseId, { signal }));
  return {
    kind: "over",
    outcome: whyNotNow(contest) ?? { kind: "unreachable", step: "acquire", error },
  };
}
