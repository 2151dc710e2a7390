import { endsLease } from "../leaseFailure.ts";
import type { RaceContext } from "../raceContext.ts";
import { type EndCause, encodeRecord, type LeaderRecord } from "../record/record.ts";
import { type Leadership, LostLeadership } from "./leadership.ts";
import type { LeaseHold } from "./leaseHold.ts";

/** How leading a term ended. */
interface LedTerm {
  readonly cause: EndCause;
  /** The task has ended. */
  readonly drained: boolean;
  /** What the task threw, or storage's last error; a task that has not drained may still throw. */
  error(): unknown;
}

interface TaskState {
  over: boolean;
  progressAtMs: number;
}

/** Runs the task for the claimed term and lets it drain. */
export async function leadTerm(
  context: RaceContext,
  hold: LeaseHold,
  record: LeaderRecord,
): Promise<LedTerm> {
  const { ports, settings, request } = context;
  const { clock } = ports;
  const task: TaskState = { over: false, progressAtMs: clock.monotonicMs() };
  const leadership = leadershipOf(context, hold, record, task);
  hold.startBeats();
  const stopGate = progressGate(context, hold, task);
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
  task.over = true;
  return { cause: hold.endCause ?? "done", drained, error: () => failure?.error ?? hold.endError };
}

/** Whether a successor can lead right now. A task that has not drained keeps the lease until it expires. */
export async function handOver(
  context: RaceContext,
  hold: LeaseHold,
  { cause, drained, error }: LedTerm,
): Promise<boolean> {
  // A task that threw has not recorded all that it did, whatever asked it to end.
  if (drained) return releaseLease(context, hold, cause, error() === undefined ? cause : "failed");
  hold.abandon();
  await hold.stopCalls();
  hold.close();
  return false;
}

/**
 * The last record of a term, then the release by lease id, each sent once. A hold that claimed nothing leaves its record
 * as it is: a free lease says that nobody leads. Nothing can cancel this, least of all the signal that asked for the
 * end; each call is bounded by its cap. `recorded` is the cause that the record tells. Returns whether the release was
 * confirmed.
 */
export async function releaseLease(
  context: RaceContext,
  hold: LeaseHold,
  cause: EndCause,
  recorded: EndCause = cause,
): Promise<boolean> {
  const { ports, emit, call } = context;
  const { lease } = ports;
  await hold.stopCalls();
  const marginMs = hold.deadline.remainingMs();
  const ending = hold.lost.aborted ? "stop-work" : recorded;
  hold.close();
  if (hold.isDefinitelyLost) return false;
  if (hold.record?.state === "leading") {
    const { leaseLeftMs: _, ...last } = hold.record;
    const beat = context.nextBeat();
    const ended = { ...last, state: "ended" as const, ending, beat, breakAfterMs: 0 };
    hold.record = ended;
    // Its condition is the lease id, and the release does not depend on it. Without it no successor counts the term as
    // handed over.
    await call((signal) => lease.writeRecord(hold.leaseId, encodeRecord(ended), { signal }));
  }
  const reply = await call((signal) => lease.release(hold.leaseId, { signal }));
  const confirmed = reply.kind === "ok";
  if (confirmed || !endsLease(reply.error)) {
    emit(hold.record?.term ?? 0, { kind: "released", cause, confirmed, marginMs });
  }
  return confirmed;
}

/** The signals and `assertLeading` read the clocks first: a stopped process has not run its timers yet. */
function leadershipOf(
  { ports }: RaceContext,
  hold: LeaseHold,
  record: LeaderRecord,
  task: TaskState,
): Leadership {
  const { term, termid, holder, cameBy } = record;
  return {
    ...{ term, termid, holder, cameBy },
    get signal() {
      hold.deadline.hasPassed();
      return hold.ending;
    },
    get lost() {
      hold.deadline.hasPassed();
      return hold.lost;
    },
    remainingMs: () =>
      task.over || hold.lost.aborted ? 0 : Math.min(hold.deadline.remainingMs(), hold.budgetLeftMs()),
    assertLeading() {
      hold.deadline.hasPassed();
      if (task.over) throw new LostLeadership(term, "over");
      if (hold.lost.aborted) throw new LostLeadership(term, hold.endCause ?? "over", hold.endError);
    },
    progress() {
      task.progressAtMs = ports.clock.monotonicMs();
    },
    note(notes) {
      if (hold.record === undefined || task.over) return;
      // Text only, whatever a caller without types passes: a record that does not decode would stop all others.
      const all = Object.entries({ ...hold.record.notes, ...notes })
        .map(([name, value]) => [name, String(value)] as const)
        .filter(([, value]) => value !== "");
      hold.record = { ...hold.record, notes: Object.fromEntries(all) };
    },
  };
}

/** Ends the term of a task that makes no progress, so that another instance can try. Returns what cancels it. */
function progressGate({ ports, settings }: RaceContext, hold: LeaseHold, task: TaskState): () => void {
  if (settings.stallAfterMs === 0) return () => {};
  let cancel = (): void => {};
  const check = (): void => {
    const remainingMs = task.progressAtMs + settings.stallAfterMs - ports.clock.monotonicMs();
    if (remainingMs <= 0) hold.end("stalled");
    else cancel = ports.clock.after(remainingMs, check);
  };
  check();
  return () => cancel();
}

const fired = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
