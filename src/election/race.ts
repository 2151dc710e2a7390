import { ConfigError } from "../engine/model/errors.ts";
import { acquireWhenFree, pollSchedule } from "./acquire/acquireWhenFree.ts";
import { type Claim, claimTerm } from "./acquire/claimTerm.ts";
import { type ClaimedTerm, claimedTerm, releaseLease } from "./hold/leadTerm.ts";
import { LeaseHold } from "./hold/leaseHold.ts";
import { type NotLed, type RacePorts, type RaceRequest, raceContext } from "./raceContext.ts";
import type { ElectionSettings } from "./settings.ts";

/**
 * One race for one lease: poll, acquire, claim a term. Whoever gets the term leads it; its `lead` hands over at the end.
 *
 * Not promised: that there is only one leader at any moment. A lease ends while its holder may be paused or cut off,
 * and no check made here can outrun a write already on its way. With natural expiry the task's signal fires before
 * another can lead, provided this event loop runs and its clocks keep pace; with early takeover not even a lease
 * length lies between. Effects must therefore be conditional writes (docs/ARCHITECTURE.md). Nor that terms
 * keep growing over a deleted or rolled-back leader blob: a term's identity is its `termid`, and a caller that has
 * seen a higher term elsewhere passes it as `aboveTerm`.
 *
 * Whatever storage does is returned as an outcome. Throws `ConfigError` for a wrong request, nothing else.
 */
export async function race(
  ports: RacePorts,
  settings: ElectionSettings,
  request: RaceRequest,
): Promise<ClaimedTerm | NotLed> {
  if (request.holder.length < 1 || request.holder.length > 128 || (request.region?.length ?? 0) > 64) {
    throw new ConfigError("election-holder", "A holder has 1 to 128 characters, a region at most 64.");
  }
  const context = raceContext(ports, settings, request);
  const schedule = pollSchedule(context);
  for (;;) {
    const acquired = await acquireWhenFree(context, schedule);
    if (acquired.kind === "over") return acquired.outcome;
    const hold = new LeaseHold(context, acquired);
    const claim = await claimTerm(context, hold).catch(unknownFailure);
    if (claim.kind === "claimed") return claimedTerm(context, hold, claim.record);
    await releaseLease(context, hold, hold.endCause ?? "done");
    if (!claim.raced || schedule.remainingMs() <= 0) return claim.outcome;
    await schedule.pause();
  }
}

/** A bug, or a service that answers nonsense: the lease is released all the same. */
const unknownFailure = (error: unknown): Claim => ({
  kind: "not",
  raced: false,
  outcome: { kind: "unreachable", step: "record", error },
});
