import type { ClockReading } from "../cappedCall.ts";
import type { LeaseHold } from "../hold/leaseHold.ts";
import { endsLease, storageCodeOf } from "../leaseFailure.ts";
import { decideAfterReadBack, leadingRecord } from "../policy.ts";
import { type NotLed, type RaceContext, refusalOf, stoppingRefusal } from "../raceContext.ts";
import { currentLeaderOf, pollOf } from "../record/leaderView.ts";
import { encodeRecord, type LeaderRecord } from "../record/record.ts";

export type Claim =
  | { readonly kind: "claimed"; readonly record: LeaderRecord }
  /** No term. `raced`: another came first, so a contender that waits may go on waiting. */
  | { readonly kind: "not"; readonly outcome: NotLed; readonly raced: boolean };

const not = (outcome: NotLed, raced = false): Claim => ({ kind: "not", outcome, raced });

/** From a lease to a term, in one write. Leadership begins with its confirmation, not before. */
export async function claimTerm(context: RaceContext, hold: LeaseHold): Promise<Claim> {
  const { ports, settings, request, emit } = context;
  const { cameBy, poll } = hold;
  const { atMs, ageMs } = poll;
  const last = poll.decoded.kind === "record" ? poll.decoded.record : undefined;
  emit(last?.term ?? 0, { kind: "acquired", cause: cameBy, marginMs: hold.deadline.remainingMs() });

  const termid = ports.random.uuid();
  const { aboveTerm = 0 } = request;
  const times = { sinceMs: atMs, writtenMs: atMs - ageMs };
  const claim = { termid, heartbeat: context.nextHeartbeat(), cameBy, aboveTerm, ...times };
  const leading = leadingRecord(last, request, claim, settings);
  // From here on the term is used up, whatever the reply says: its number must not be claimed again.
  hold.record = leading;
  const written = await writeClaim(context, hold, leading);
  if (written.kind !== "written") return notWritten(context, hold, written);
  hold.deadline.heartbeatConfirmed(written.sentAt);
  const late = endedEarly(context, hold);
  if (late !== undefined) return not(late, hold.lost.aborted);

  emit(leading.term, { kind: "claimed", cause: cameBy, termid, marginMs: hold.deadline.remainingMs() });
  if (last?.state === "leading") {
    emit(leading.term, { kind: "tookOver", cause: cameBy, from: last.holder, silentMs: ageMs });
  }
  return { kind: "claimed", record: leading };
}

function notWritten(
  context: RaceContext,
  { poll }: LeaseHold,
  { kind, error }: { readonly kind: "lost" | "unknown"; readonly error: unknown },
): Claim {
  const end = refusalOf(context, error, "record");
  if (end !== undefined) return not(end);
  if (kind === "lost") return not({ kind: "follower", leader: currentLeaderOf(poll) }, true);
  return not({ kind: "unreachable", step: "record", error });
}

/** The lease was lost, or the invocation ended, before a term was claimed. */
function endedEarly({ settings }: RaceContext, hold: LeaseHold): NotLed | undefined {
  if (!hold.deadline.hasPassed() && !hold.ending.aborted) return undefined;
  switch (hold.endCause) {
    case "stopping":
      return stoppingRefusal;
    case "budget": {
      const reason = "The invocation's time ran out before the claim.";
      return { kind: "refused", code: "too-little-budget", reason };
    }
    case "lost":
      return { kind: "follower", leader: currentLeaderOf(hold.poll) };
    default: {
      const error = hold.endError ?? new Error(`No confirmed lease for ${settings.leaseDurationS} s.`);
      return { kind: "unreachable", step: "record", error };
    }
  }
}

type RecordWritten =
  /** `sentAt`: of the first request that may have written it. */
  | { readonly kind: "written"; readonly sentAt: ClockReading }
  | { readonly kind: "lost" | "unknown"; readonly error: unknown };

/**
 * Writes the claim once, under the lease id and with the ETag of the poll. The condition makes the write safe to retry: a
 * delayed first request cannot overwrite a later record. After an unknown reply the record is read back; it is ours
 * only by its termid, which no other write carries.
 */
async function writeClaim(
  { ports, settings, call }: RaceContext,
  hold: LeaseHold,
  record: LeaderRecord,
): Promise<RecordWritten> {
  const { clock, lease } = ports;
  const { etag: ifMatch } = hold.poll;
  const metadata = encodeRecord(record);
  let firstUnknown: ClockReading | undefined;
  let error: unknown;
  for (let attempt = 1; attempt <= settings.tries && !hold.lost.aborted; attempt += 1) {
    if (attempt > 1) await clock.sleep(settings.renewAgainMs, hold.lost);
    const reply = await call(
      (signal) => lease.writeRecord(hold.leaseId, metadata, { ifMatch, signal }),
      hold.lost,
    );
    if (reply.kind === "ok") return { kind: "written", sentAt: reply.sentAt };
    error = reply.error;
    const changed = storageCodeOf(error) === "ConditionNotMet";
    if (!changed && endsLease(error)) return { kind: "lost", error };
    if (!changed) firstUnknown ??= reply.sentAt;
    if (changed && firstUnknown === undefined) return { kind: "lost", error };
    const back = await call((signal) => lease.view({ signal }), hold.lost);
    if (back.kind === "failed") continue;
    const seen = back.value.kind === "missing" ? undefined : pollOf(back.value);
    const outcome = decideAfterReadBack(seen, ifMatch, record.termid);
    if (outcome === "lost") return { kind: "lost", error };
    if (outcome === "mine") return { kind: "written", sentAt: firstUnknown ?? reply.sentAt };
  }
  return { kind: "unknown", error };
}
