import type { LeaseView, Missing } from "../../storage/ports.ts";
import { cappedCall, elapsedMs, momentOf } from "../cappedCall.ts";
import { budgetEndsAtMs, decideAfterLook, type Waiting } from "../policy.ts";
import { currentLeaderOf, type Sight, sightOf } from "../record/leaderView.ts";
import { acquireLease, type TakenLease } from "./acquireLease.ts";
import { type Contest, type RaceOutcome, whyGiveUp, whyNotNow } from "./contest.ts";

/**
 * How long a contender waits for a lease that is held. A tick does not wait at all. A tick started by a wake
 * may have been called because the leader died, so it waits until it has seen the beat move, for at most the
 * lease and two seconds, which is longer than natural expiry takes. A watching contender waits for ever.
 */
export interface Patience {
  leftMs(): number;
  /** Also remembers the first beat. */
  waiting(sight: Sight): Waiting;
  /** Until the next look, spread a little so that waiting contenders do not look in step. */
  pause(): Promise<void>;
}

const beyondLeaseMs = 2_000;

export function patienceOf({ ports, settings, request }: Contest): Patience {
  const { clock, random } = ports;
  const budgetUntilMs = budgetEndsAtMs(request.startedAtMonotonicMs, settings) - settings.leastTermMs;
  const wakeUntilMs = clock.monotonicMs() + settings.leaseDurationS * 1_000 + beyondLeaseMs;
  const tickUntilMs = request.startedBy === "wake" ? Math.min(wakeUntilMs, budgetUntilMs) : 0;
  const untilMs = settings.watching ? budgetUntilMs : tickUntilMs;
  let first: { readonly beat: string | undefined } | undefined;
  const leftMs = (): number => Math.max(0, untilMs - clock.monotonicMs());
  return {
    leftMs,
    waiting(sight) {
      first ??= { beat: sight.decoded.kind === "record" ? sight.decoded.record.beat : undefined };
      return { firstBeat: first.beat, waitLeftMs: leftMs(), watching: settings.watching };
    },
    pause: () => clock.sleep(settings.lookAgainMs * (0.9 + 0.2 * random.number()), request.stopping),
  };
}

type Over = { readonly kind: "over"; readonly outcome: RaceOutcome };
const over = (outcome: RaceOutcome): Over => ({ kind: "over", outcome });
const follower = (sight: Sight): Over => over({ kind: "follower", leader: currentLeaderOf(sight) });

/**
 * Looks, waits where waiting is asked for, breaks where the leader's own record allows it, and acquires.
 * A follower costs one HEAD: no acquire, no 409.
 */
export async function takeLease(contest: Contest, patience: Patience): Promise<TakenLease | Over> {
  const { ports, settings, request } = contest;
  let sight: Sight | undefined;
  let failures = 0;
  let breaks = 0;
  let jittered = false;
  const mayTryOn = (): boolean => failures < settings.tries || patience.leftMs() > 0;
  for (;;) {
    const refusal = whyNotNow(contest);
    if (refusal?.code === "too-little-budget" && sight !== undefined) return follower(sight);
    if (refusal !== undefined) return over(refusal);

    const look = await lookOnce(contest);
    if (look.kind === "failed") {
      failures += 1;
      const end = whyGiveUp(contest, look.error, "look");
      if (end !== undefined) return over(end);
      if (!mayTryOn()) return over({ kind: "unreachable", step: "look", error: look.error });
      await ports.clock.sleep(settings.renewAgainMs, request.stopping);
      continue;
    }
    sight = look.sight;
    if (sight.decoded.kind === "record") contest.saw(sight.decoded.record);
    const decision = decideAfterLook(sight, patience.waiting(sight), settings);
    if (decision.act === "refuse") {
      return over({ kind: "refused", code: decision.code, reason: decision.reason });
    }
    if (decision.act === "follow") return follower(sight);
    if (decision.act === "lookAgain") {
      await patience.pause();
      continue;
    }
    if (decision.act === "break" && !jittered) {
      // Challengers that saw the same silence must not break each other's fresh lease: a lease call does not
      // move the ETag, so only time keeps them apart until the first of them has written its record.
      jittered = true;
      const spreadMs = Math.max(settings.breakJitterMs, 4 * look.tookMs);
      await ports.clock.sleep(ports.random.number() * spreadMs, request.stopping);
      continue;
    }
    if (decision.act === "break") {
      jittered = false;
      breaks += 1;
      if (breaks > settings.tries && !mayTryOn()) return follower(sight);
      if (!(await breakLease(contest, decision.ifMatch))) {
        // Whatever it was, the next look shows it. A break that is always refused must not be tried without a pause.
        await patience.pause();
        continue;
      }
    }
    const taken = await acquireLease(contest, decision.act === "acquire" ? decision.cameBy : "broken", sight);
    if (taken.kind === "taken" || taken.kind === "over") return taken;
    if (taken.kind === "gone") failures += 1;
    if (patience.leftMs() <= 0 && (taken.kind === "contended" || !mayTryOn())) return follower(sight);
    await patience.pause();
  }
}

type Looked =
  | { readonly kind: "seen"; readonly sight: Sight; readonly tookMs: number }
  | { readonly kind: "failed"; readonly error: unknown };

/** A missing blob or container is made; whoever leads from it then starts at term 1. */
async function lookOnce(contest: Contest): Promise<Looked> {
  const { ports, settings, request } = contest;
  const { clock, lease } = ports;
  const call = <T>(make: (signal: AbortSignal) => Promise<T>) =>
    cappedCall(clock, settings.requestCapMs, make, request.stopping);
  let reply = await call<LeaseView | Missing>((signal) => lease.view({ signal }));
  if (reply.kind === "ok" && reply.value.kind === "missing") {
    const made = await call((signal) => lease.ensure({ signal }));
    if (made.kind === "failed") return made;
    reply = await call<LeaseView | Missing>((signal) => lease.view({ signal }));
  }
  if (reply.kind === "failed") return reply;
  if (reply.value.kind === "missing") {
    return { kind: "failed", error: new Error("The leader blob went away as soon as it was made.") };
  }
  const tookMs = elapsedMs(reply.sentAt, momentOf(clock));
  return { kind: "seen", sight: sightOf(reply.value), tookMs };
}

/** With the ETag of the look: one beat in between, and it is refused. */
async function breakLease({ ports, settings }: Contest, ifMatch: string): Promise<boolean> {
  const reply = await cappedCall(ports.clock, settings.requestCapMs, (signal) =>
    ports.lease.breakNow({ ifMatch, signal }),
  );
  return reply.kind === "ok";
}
