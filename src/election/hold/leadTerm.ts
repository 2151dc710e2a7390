import type { Clock } from "../../engine/storage/ports.ts";
import { endsLease } from "../leaseFailure.ts";
import type { Led, RaceContext } from "../raceContext.ts";
import { type EndCause, encodeRecord, type LeaderRecord } from "../record/record.ts";
import type { ElectionSettings } from "../settings.ts";
import { type Leadership, LostLeadership } from "./leadership.ts";
import type { LeaseHold } from "./leaseHold.ts";

/** A term that was claimed. Its lease is renewed from now on, so whoever has it leads it, once. */
export interface ClaimedTerm {
  readonly kind: "claimed";
  readonly leadership: Leadership;
  /**
   * Runs the task until it ends or has to end, lets it drain, and hands over. Never rejects: what the task throws is in
   * the outcome, and then no successor takes the term for one that was handed over.
   */
  lead<T>(task: (leadership: Leadership) => Promise<T>): Promise<LedTask<T>>;
}

interface LedTask<T> {
  readonly outcome: Led;
  /** Absent where the task threw or has not drained. */
  readonly value?: { readonly of: T };
  /** Once the task is over, which may be long after its term. */
  readonly settled: Promise<void>;
}

interface TaskState {
  over: boolean;
  progressAtMs: number;
}

export function claimedTerm(context: RaceContext, hold: LeaseHold, record: LeaderRecord): ClaimedTerm {
  const { clock } = context.ports;
  const state: TaskState = { over: false, progressAtMs: clock.monotonicMs() };
  const leadership = leadershipOf(context, hold, record, state);
  return {
    kind: "claimed",
    leadership,
    async lead(task) {
      const { term, termid } = record;
      const led = await runTask(context, hold, state, () => task(leadership));
      const cause = hold.endCause ?? "done";
      const handedOver = await handOver(context, hold, cause, led);
      const error = led.error();
      const outcome = { kind: "led", term, termid, cause, drained: led.drained, handedOver } as const;
      return {
        outcome: error === undefined ? outcome : { ...outcome, error },
        ...(led.value === undefined ? {} : { value: led.value }),
        settled: led.settled,
      };
    },
  };
}

interface RanTask<T> {
  readonly value: { readonly of: T } | undefined;
  /** What the task threw, or storage's last error; a task that has not drained may still throw. */
  error(): unknown;
  readonly drained: boolean;
  readonly settled: Promise<void>;
}

async function runTask<T>(
  { ports: { clock }, settings }: RaceContext,
  hold: LeaseHold,
  state: TaskState,
  task: () => Promise<T>,
): Promise<RanTask<T>> {
  hold.startHeartbeats();
  const stopGate = progressGate(clock, settings, hold, state);
  let value: { readonly of: T } | undefined;
  let failure: { readonly error: unknown } | undefined;
  const over = new AbortController();
  const settled = Promise.resolve()
    .then(task)
    .then(
      (of) => {
        value = { of };
        hold.end("done");
      },
      (error: unknown) => {
        failure = { error };
        hold.end("failed", error);
      },
    )
    .finally(() => over.abort());
  await Promise.race([settled, fired(hold.ending)]);
  stopGate();
  await clock.sleep(settings.drainCapMs, over.signal);
  const drained = over.signal.aborted;
  state.over = true;
  return { value, error: () => failure?.error ?? hold.endError, drained, settled };
}

/** Whether a successor can lead right now. A task that has not drained keeps the lease until it expires. */
async function handOver(
  context: RaceContext,
  hold: LeaseHold,
  cause: EndCause,
  { drained, error }: RanTask<unknown>,
): Promise<boolean> {
  // A task that threw has not recorded all that it did, whatever asked it to end.
  if (drained) return releaseLease(context, hold, cause, error() === undefined ? cause : "failed");
  hold.abandon();
  await hold.stopCalls();
  hold.close();
  return false;
}

/**
 * The last record of a term, then the release by lease id, each sent once. A hold that sent no claim leaves the record as
 * it is: a free lease says that nobody leads. Nothing can cancel this, least of all the signal that asked for the
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
    const heartbeat = context.nextHeartbeat();
    const ended = { ...last, state: "ended" as const, ending, heartbeat, breakAfterMs: 0 };
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
function progressGate(
  clock: Clock,
  settings: ElectionSettings,
  hold: LeaseHold,
  task: TaskState,
): () => void {
  if (settings.stallAfterMs === 0) return () => {};
  let cancel = (): void => {};
  const check = (): void => {
    const remainingMs = task.progressAtMs + settings.stallAfterMs - clock.monotonicMs();
    if (remainingMs <= 0) hold.end("stalled");
    else cancel = clock.after(remainingMs, check);
  };
  check();
  return () => cancel();
}

const fired = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
