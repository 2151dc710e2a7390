import type { Contest, RaceOutcome } from "../acquire/contest.ts";
import { cappedCall } from "../cappedCall.ts";
import type { EndCause } from "../events.ts";
import { judge } from "../judge.ts";
import { encodeRecord, type LeaderRecord } from "../record/record.ts";
import type { Hold } from "./hold.ts";
import { type Leadership, LostLeadership } from "./leadership.ts";

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

/** Runs the task for the claimed term, lets it drain, and gives the lease back. */
export async function leadTerm(contest: Contest, hold: Hold, record: LeaderRecord): Promise<RaceOutcome> {
  const { ports, settings, request } = contest;
  const { clock } = ports;
  let over = false;
  let progressAtMs = clock.monotonicMs();
  const leadership: Leadership = {
    term: record.term,
    termid: record.termid,
    holder: record.holder,
    cameBy: record.cameBy,
    lastTerms: record.lastTerms,
    // Both look at the clocks first: a process that was stopped for a while has not run its timers yet.
    get signal() {
      hold.deadline.hasPassed();
      return hold.ending;
    },
    get lost() {
      hold.deadline.hasPassed();
      return hold.lost;
    },
    remainingMs: () =>
      over || hold.lost.aborted ? 0 : Math.min(hold.deadline.remainingMs(), hold.budgetLeftMs()),
    budgetLeftMs: () => hold.budgetLeftMs(),
    assertLeading() {
      hold.deadline.hasPassed();
      if (over) throw new LostLeadership(record.term, "over");
      if (!hold.lost.aborted) return;
      throw new LostLeadership(record.term, hold.endCause() ?? "over", hold.endError());
    },
    progress() {
      progressAtMs = clock.monotonicMs();
    },
    note(notes) {
      if (hold.record === undefined || over) return;
      // Text only, whatever a caller without types hands in: a record that does not decode would stop all others.
      const all = Object.entries({ ...hold.record.notes, ...notes })
        .map(([name, value]) => [name, String(value)] as const)
        .filter(([, value]) => value !== "");
      hold.record = { ...hold.record, notes: Object.fromEntries(all) };
    },
  };

  hold.startBeats();
  const stopGate = progressGate(contest, hold, () => progressAtMs);
  let failure: { readonly error: unknown } | undefined;
  const settled = new AbortController();
  const work = Promise.resolve()
    .then(() => request.lead(leadership))
    .then(
      () => hold.end("done"),
      (error: unknown) => {
        failure = { error };
        hold.end("failed", error);
      },
    )
    .finally(() => settled.abort());
  await Promise.race([work, fired(hold.ending)]);
  stopGate();
  await clock.sleep(settings.drainCapMs, settled.signal);
  const drained = settled.signal.aborted;
  over = true;
  const cause = hold.endCause() ?? "done";
  if (!drained) hold.letGo();
  const handedOver = drained && (await giveBack(contest, hold, cause));
  if (!drained) await hold.stopCalls();
  hold.close();
  const error = failure?.error ?? hold.endError();
  const { term, termid } = record;
  return { kind: "led", term, termid, cause, drained, handedOver, ...(error === undefined ? {} : { error }) };
}

/** Ends the term of a task that has stopped moving, so that another instance can try. */
function progressGate({ ports, settings }: Contest, hold: Hold, progressAtMs: () => number): () => void {
  if (settings.stallAfterMs === 0) return () => {};
  let takeBack = (): void => {};
  const look = (): void => {
    const leftMs = progressAtMs() + settings.stallAfterMs - ports.clock.monotonicMs();
    if (leftMs <= 0) hold.end("stalled");
    else takeBack = ports.clock.after(leftMs, look);
  };
  look();
  return () => takeBack();
}

const fired = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
