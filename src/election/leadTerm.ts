import type { Contest, RaceOutcome } from "./contest.ts";
import { giveBack } from "./giveBack.ts";
import type { Hold } from "./hold.ts";
import { type Leadership, LostLeadership } from "./leadership.ts";
import type { LeaderRecord } from "./record.ts";

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
