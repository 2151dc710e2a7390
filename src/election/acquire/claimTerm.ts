import { cappedCall } from "../cappedCall.ts";
import type { Hold } from "../hold/hold.ts";
import { leadingRecord, lookingRecord } from "../policy.ts";
import { currentLeaderOf, type Sight } from "../record/leaderView.ts";
import { writeRecordOnce } from "../record/writeRecord.ts";
import { stopWorkMs } from "../settings.ts";
import { type Contest, type RaceOutcome, stoppingNow, whyGiveUp } from "./contest.ts";

export type Claimed =
  | { readonly kind: "claimed" }
  /** No term. `outcome` says why; `raced`: another came first, so a contender that waits may go on waiting. */
  | { readonly kind: "not"; readonly outcome: RaceOutcome; readonly raced: boolean };

const not = (outcome: RaceOutcome, raced = false): Claimed => ({ kind: "not", outcome, raced });

/**
 * From a lease to a term: write the record once, on the ETag of the poll, so that challengers see life, ask whether
 * there is anything to lead, and only then use up a term. Leadership begins only with the claim's confirmation and
 * not before.
 */
export async function claimTerm(contest: Contest, hold: Hold): Promise<Claimed> {
  const { ports, settings, request, emit } = contest;
  const { cameBy, sight } = hold;
  const { atMs, ageMs } = sight;
  const last = sight.decoded.kind === "record" ? sight.decoded.record : undefined;
  const { holder, region, about } = request;
  emit({
    kind: "acquired",
    holder,
    term: last?.term ?? 0,
    cause: cameBy,
    marginMs: hold.deadline.remainingMs(),
  });

  const looking = lookingRecord(
    last,
    { holder, region, about },
    { cameBy, atMs, ageMs, beat: contest.nextBeat() },
  );
  const seen = await writeRecordOnce(contest, hold, looking, sight.etag, (one) => one.beat === looking.beat);
  if (seen.kind !== "written") return notWritten(contest, sight, seen);
  hold.record = looking;

  // Bounded, because renewals go on meanwhile: a look that hangs must not keep the lease from everyone.
  const asked = await cappedCall(
    ports.clock,
    stopWorkMs(settings),
    (signal) => request.worthLeading({ last, poll: { atMs, writtenMs: atMs - ageMs }, signal }),
    hold.ending,
  );
  const early = endedEarly(contest, hold, sight);
  if (early !== undefined) return not(early, hold.lost.aborted);
  if (asked.kind === "failed") return not({ kind: "unreachable", step: "worth-leading", error: asked.error });
  if (!asked.value) return not({ kind: "nothingToLead", lastTerm: looking.term });

  const termid = ports.random.uuid();
  const claim = { termid, beat: contest.nextBeat(), aboveTerm: request.aboveTerm ?? 0 };
  const leading = leadingRecord(looking, claim, settings);
  // From here on the term counts as used up, whatever the reply says: its number must not be given out again.
  hold.record = leading;
  const written = await writeRecordOnce(contest, hold, leading, seen.etag, (one) => one.termid === termid);
  if (written.kind !== "written") return notWritten(contest, sight, written);
  hold.deadline.beatConfirmed(written.sentAt);
  const late = endedEarly(contest, hold, sight);
  if (late !== undefined) return not(late, hold.lost.aborted);

  const marginMs = hold.deadline.remainingMs();
  emit({ kind: "claimed", holder, term: leading.term, cause: cameBy, termid, marginMs });
  if (last?.state === "leading") {
    emit({
      kind: "tookOver",
      holder,
      term: leading.term,
      cause: cameBy,
      from: last.holder,
      silentMs: sight.ageMs,
    });
  }
  return { kind: "claimed" };
}

function notWritten(
  contest: Contest,
  sight: Sight,
  written: { readonly kind: "lost" | "unknown"; readonly error: unknown },
): Claimed {
  const end = whyGiveUp(contest, written.error, "record");
  if (end !== undefined) return not(end);
  if (written.kind === "lost") return not({ kind: "follower", leader: currentLeaderOf(sight) }, true);
  return not({ kind: "unreachable", step: "record", error: written.error });
}

/** The lease was lost, or the invocation ended, before a term was claimed. */
function endedEarly(contest: Contest, hold: Hold, sight: Sight): RaceOutcome | undefined {
  if (!hold.deadline.hasPassed() && !hold.ending.aborted) return undefined;
  const cause = hold.endCause();
  if (cause === "stopping") return stoppingNow;
  if (cause === "budget") {
    return {
      kind: "refused",
      code: "too-little-budget",
      reason: "The invocation's time ran out before the claim.",
    };
  }
  if (cause === "lost") return { kind: "follower", leader: currentLeaderOf(sight) };
  const error = hold.endError() ?? new Error(`No confirmed lease for ${contest.settings.leaseDurationS} s.`);
  return { kind: "unreachable", step: "record", error };
}
