import { ConfigError } from "../model/errors.ts";
import { type Claimed, claimTerm } from "./acquire/claimTerm.ts";
import type { Contest, RaceOutcome, RacePorts, RaceRequest } from "./acquire/contest.ts";
import { patienceOf, takeLease } from "./acquire/takeLease.ts";
import { holdLease } from "./hold/hold.ts";
import { giveBack, leadTerm } from "./hold/leadTerm.ts";
import type { ElectionSettings } from "./settings.ts";

/**
 * One race for one lease: look, acquire, claim a term, run the task while leading, drain, release.
 *
 * Not promised: that there is only one leader at any moment. A lease ends while its holder may be paused or cut
 * off, and no check made here can outrun a write already on its way. With natural expiry the task's signal
 * fires before another can lead, provided this event loop runs and its clocks keep pace; with early takeover
 * not even a lease length lies between. Effects must therefore be fenced by conditional writes (DESIGN,
 * section 3). Not promised either: that terms keep growing over a deleted or rolled-back leader blob. A term's
 * identity is its `termid`, and a caller that has seen a higher term elsewhere hands it in as `aboveTerm`.
 *
 * Whatever storage does comes back as an outcome. It throws `ConfigError` for a wrong request, nothing else.
 */
export async function race(
  ports: RacePorts,
  settings: ElectionSettings,
  request: RaceRequest,
): Promise<RaceOutcome> {
  if (request.holder.length < 1 || request.holder.length > 128 || (request.region?.length ?? 0) > 64) {
    throw new ConfigError("election-holder", "A holder has 1 to 128 characters, a region at most 64.");
  }
  const contest = contestOf(ports, settings, request);
  const patience = patienceOf(contest);
  for (;;) {
    const taken = await takeLease(contest, patience);
    if (taken.kind === "over") return taken.outcome;
    const hold = holdLease(contest, taken);
    const claimed = await claimTerm(contest, hold).catch(unexpected);
    if (claimed.kind === "claimed" && hold.record !== undefined) return leadTerm(contest, hold, hold.record);
    await giveBack(contest, hold, hold.endCause() ?? "done");
    if (claimed.kind === "not" && (!claimed.raced || patience.leftMs() <= 0)) return claimed.outcome;
    await patience.pause();
  }
}

/** A bug, or a service that answers nonsense: the lease is given back all the same. */
const unexpected = (error: unknown): Claimed => ({
  kind: "not",
  raced: false,
  outcome: { kind: "unreachable", step: "record", error },
});

function contestOf(ports: RacePorts, settings: ElectionSettings, request: RaceRequest): Contest {
  const mark = ports.random.uuid().slice(0, 8);
  let writes = 0;
  return {
    ports,
    settings,
    request,
    emit: (event) => quietly(() => ports.on?.(event)),
    saw: (record) => quietly(() => ports.onLook?.(record)),
    nextBeat: () => `${mark}-${++writes}`,
  };
}

/** A listener that fails must not cost the lease. */
function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // What it does with its own failures is its own affair.
  }
}
