import type { LeaseView, Missing } from "../storage/ports.ts";
import { acquireLease, type TakenLease } from "./acquireLease.ts";
import { cappedCall } from "./cappedCall.ts";
import type { Contest, RaceOutcome } from "./contest.ts";
import { currentLeaderOf, type Sight, sightOf } from "./leaderView.ts";
import { elapsedMs, momentOf } from "./moment.ts";
import type { Patience } from "./patience.ts";
import { decideAfterLook } from "./policy.ts";
import { whyGiveUp, whyNotNow } from "./refusals.ts";

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
