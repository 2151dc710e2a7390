import { messageOf } from "../../engine/model/errors.ts";
import { type ClockReading, cappedCall, elapsedMs } from "../cappedCall.ts";
import { storageCodeOf } from "../leaseFailure.ts";
import { budgetEndsAtMs, decideAfterPoll, type WaitState } from "../policy.ts";
import { type NotLed, type RaceContext, refusalNow, refusalOf, stoppingRefusal } from "../raceContext.ts";
import { currentLeaderOf, type Poll } from "../record/leaderView.ts";
import { stopWorkMs } from "../settings.ts";
import { type AcquiredLease, acquireLease, type Polled, pollLease } from "./acquireLease.ts";

/**
 * How long a contender waits for a lease that is held. A tick does not wait at all. A tick started by a wake may have
 * been started because the leader died, so it waits until it has seen the heartbeat move, for at most the lease and two
 * seconds, which is longer than natural expiry takes. A watching contender waits until its budget ends.
 */
export function pollSchedule({ ports, settings, request }: RaceContext) {
  const { clock, random } = ports;
  const budgetUntilMs = budgetEndsAtMs(request.startedAtMonotonicMs, settings) - settings.leastTermMs;
  const wakeUntilMs = clock.monotonicMs() + settings.leaseDurationS * 1_000 + beyondLeaseMs;
  const tickUntilMs = request.startedBy === "wake" ? Math.min(wakeUntilMs, budgetUntilMs) : 0;
  const untilMs = settings.watching ? budgetUntilMs : tickUntilMs;
  let first: { readonly heartbeat: string | undefined } | undefined;
  let same: { readonly etag: string; readonly answeredAt: ClockReading } | undefined;
  const remainingMs = (): number => Math.max(0, untilMs - clock.monotonicMs());
  return {
    remainingMs,
    /**
     * Also remembers the first heartbeat, and the first poll that found this ETag. Counts from when that one was answered
     * to when this one was sent: the record was there before the former and is still there after the latter, however
     * long this process itself slept in between. By the monotonic clock alone, which nobody sets.
     */
    stateAt({ poll: { decoded, etag }, sentAt, answeredAt }: Polled): WaitState {
      first ??= { heartbeat: decoded.kind === "record" ? decoded.record.heartbeat : undefined };
      if (same?.etag !== etag) same = { etag, answeredAt };
      return {
        firstHeartbeat: first.heartbeat,
        remainingMs: remainingMs(),
        watching: settings.watching,
        unchangedMs: Math.max(0, sentAt.monotonicMs - same.answeredAt.monotonicMs),
      };
    },
    /** Until the next poll, spread a little so that waiting contenders do not poll in step. */
    pause: (): Promise<void> =>
      clock.sleep(
        settings.pollEveryMs * (0.9 + 0.2 * random.number()),
        request.pollNow?.() ?? request.stopping,
      ),
  };
}

const beyondLeaseMs = 2_000;

type Over = { readonly kind: "over"; readonly outcome: NotLed };
const over = (outcome: NotLed): Over => ({ kind: "over", outcome });
const follower = (poll: Poll): Over => over({ kind: "follower", leader: currentLeaderOf(poll) });

/**
 * Polls, waits where the schedule says so, breaks where the leader's own record allows it, and acquires, if there is
 * anything to lead. A follower costs one HEAD: no acquire, no 409.
 */
export async function acquireWhenFree(
  context: RaceContext,
  schedule: ReturnType<typeof pollSchedule>,
): Promise<AcquiredLease | Over> {
  const { ports, settings, request } = context;
  let poll: Poll | undefined;
  let failures = 0;
  let breaks = 0;
  let spread = false;
  const mayRetry = (): boolean => failures < settings.tries || schedule.remainingMs() > 0;
  for (;;) {
    const refusal = refusalNow(context);
    if (refusal?.code === "too-little-budget" && poll !== undefined) return follower(poll);
    if (refusal !== undefined) return over(refusal);

    const polled = await pollLease(context);
    if (polled.kind === "failed") {
      failures += 1;
      const end = refusalOf(context, polled.error, "poll");
      if (end !== undefined) return over(end);
      if (!mayRetry()) return over({ kind: "unreachable", step: "poll", error: polled.error });
      if (settings.watching) {
        const { error } = polled;
        context.emit(0, { kind: "unreachable", code: storageCodeOf(error), reason: messageOf(error) });
      }
      await ports.clock.sleep(settings.renewAgainMs, request.stopping);
      continue;
    }
    poll = polled.poll;
    if (poll.decoded.kind === "record") context.polled(poll.decoded.record);
    const decision = decideAfterPoll(poll, schedule.stateAt(polled), settings);
    if (decision.act === "refuse") {
      return over({ kind: "refused", code: decision.code, reason: decision.reason });
    }
    if (decision.act === "follow") return follower(poll);
    if (decision.act === "pollAgain") {
      await schedule.pause();
      continue;
    }
    if (!spread) {
      const unworthy = await askIfWorth(context, poll);
      if (unworthy !== undefined) return over(unworthy);
    }
    if (decision.act === "break" && !spread) {
      // Challengers that saw the same silence must not break each other's fresh lease: a lease call does not
      // change the ETag, so only time keeps them apart until the first of them has written its record.
      spread = true;
      const spreadMs = Math.max(settings.breakJitterMs, 4 * elapsedMs(polled.sentAt, polled.answeredAt));
      await ports.clock.sleep(ports.random.number() * spreadMs, request.stopping);
      continue;
    }
    if (decision.act === "break") {
      spread = false;
      breaks += 1;
      if (breaks > settings.tries && !mayRetry()) return follower(poll);
      if (!(await breakLease(context, decision.ifMatch))) {
        // The next poll shows why. A break that is always refused must not be retried without a pause.
        await schedule.pause();
        continue;
      }
    }
    const acquired = await acquireLease(
      context,
      decision.act === "acquire" ? decision.cameBy : "broken",
      poll,
    );
    if (acquired.kind === "acquired") return acquired;
    if (acquired.kind === "failed") {
      const { error } = acquired;
      const end = refusalOf(context, error, "acquire") ?? refusalNow(context);
      return over(end ?? { kind: "unreachable", step: "acquire", error });
    }
    if (acquired.kind === "gone") failures += 1;
    else {
      const term = poll.decoded.kind === "record" ? poll.decoded.record.term : 0;
      context.emit(term, { kind: "contended", code: acquired.code });
    }
    if (schedule.remainingMs() <= 0 && (acquired.kind === "contended" || !mayRetry())) return follower(poll);
    await schedule.pause();
  }
}

/** Nothing is held meanwhile; all the same a question that hangs must not keep this contender from everything else. */
async function askIfWorth(
  { ports, settings, request }: RaceContext,
  { decoded, atMs, ageMs }: Poll,
): Promise<NotLed | undefined> {
  const last = decoded.kind === "record" ? decoded.record : undefined;
  const asked = await cappedCall(
    ports.clock,
    stopWorkMs(settings),
    (signal) => request.worthLeading({ last, poll: { atMs, writtenMs: atMs - ageMs }, signal }),
    request.stopping,
  );
  if (request.stopping?.aborted) return stoppingRefusal;
  if (asked.kind === "failed") return { kind: "unreachable", step: "worth-leading", error: asked.error };
  return asked.value ? undefined : { kind: "nothingToLead", lastTerm: last?.term ?? 0 };
}

/** With the ETag of the poll: one heartbeat in between, and the break is refused. */
async function breakLease({ ports, call }: RaceContext, ifMatch: string): Promise<boolean> {
  const reply = await call((signal) => ports.lease.breakNow({ ifMatch, signal }));
  return reply.kind === "ok";
}
