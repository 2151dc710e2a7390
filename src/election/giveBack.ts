import { cappedCall } from "./cappedCall.ts";
import type { Contest } from "./contest.ts";
import type { EndCause } from "./events.ts";
import type { Hold } from "./hold.ts";
import { judge } from "./judge.ts";
import { encodeRecord } from "./record.ts";

/**
 * The end of a hold, after its task has ended: the last record of a term, then the release by lease id, each sent once.
 * A poll that claimed nothing leaves its record as it is: a free lease says that nobody leads.
 * Nothing can cancel it, least of all the signal that asked for the end; each call is bounded by its cap.
 * Gives whether the release was confirmed.
 */
export async function giveBack(contest: Contest, hold: Hold, cause: EndCause): Promise<boolean> {
  const { ports, settings, request, emit } = contest;
  const { clock, lease } = ports;
  await hold.stopCalls();
  const marginMs = hold.deadline.remainingMs();
  hold.close();
  if (hold.isDefinitelyLost()) return false;
  if (hold.record?.state === "leading") {
    const { leaseLeftMs: _, ...last } = hold.record;
    const ended = { ...last, state: "ended" as const, beat: contest.nextBeat(), breakAfterMs: 0 };
    hold.record = ended;
    // Only for those who read the record; the lease id fences it, and the release does not depend on it.
    await cappedCall(clock, settings.requestCapMs, (signal) =>
      lease.writeRecord(hold.leaseId, encodeRecord(ended), { signal }),
    );
  }
  const reply = await cappedCall(clock, settings.requestCapMs, (signal) =>
    lease.release(hold.leaseId, { signal }),
  );
  const confirmed = reply.kind === "ok";
  const gone = reply.kind === "failed" && judge(reply.error) !== "transient";
  if (!gone) {
    emit({
      kind: "released",
      holder: request.holder,
      term: hold.record?.term ?? 0,
      cause,
      confirmed,
      marginMs,
    });
  }
  return confirmed;
}
