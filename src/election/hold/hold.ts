import type { TakenLease } from "../acquire/acquireLease.ts";
import type { Contest } from "../acquire/contest.ts";
import { cappedCall, elapsedMs, momentOf } from "../cappedCall.ts";
import type { EndCause } from "../events.ts";
import { judge, storageCodeOf } from "../judge.ts";
import { budgetEndsAtMs, nextRenewalMs } from "../policy.ts";
import { encodeRecord, type LeaderRecord } from "../record/record.ts";
import { LostLeadership } from "./leadership.ts";
import { type StopWorkDeadline, stopWorkDeadline } from "./stopWorkDeadline.ts";

/** A lease while it is held: renewed, beaten for, watched by its stop-work deadline, and ended once. */
export interface Hold extends TakenLease {
  readonly deadline: StopWorkDeadline;
  /** Fires with the first cause of the end. */
  readonly ending: AbortSignal;
  /** Fires when no effect may follow any more. */
  readonly lost: AbortSignal;
  /** The record as it was last sent. */
  record: LeaderRecord | undefined;
  endCause(): EndCause | undefined;
  /** What storage said when the lease was lost. */
  endError(): unknown;
  end(cause: EndCause, error?: unknown): void;
  /** The task does not end: nothing may follow from it, and the lease is left to expire. */
  letGo(): void;
  /** Storage said so in words: there is nothing to release. */
  isDefinitelyLost(): boolean;
  budgetLeftMs(): number;
  startBeats(): void;
  /** Ends renewals and beats and waits for the one in flight; the deadline stays. */
  stopCalls(): Promise<void>;
  /** Nothing may follow from this hold any more; its timers are taken back. */
  close(): void;
}

export function holdLease(contest: Contest, taken: TakenLease): Hold {
  const { ports, settings, request } = contest;
  const { clock, lease } = ports;
  const ending = new AbortController();
  const lost = new AbortController();
  const calls = new AbortController();
  const loops: Promise<void>[] = [];
  const budgetAtMs = budgetEndsAtMs(request.startedAtMonotonicMs, settings);
  let record: LeaderRecord | undefined;
  let endCause: EndCause | undefined;
  let endError: unknown;
  let definite = false;
  let closed = false;

  const term = (): number => record?.term ?? 0;
  const end = (cause: EndCause, error?: unknown): void => {
    if (closed) return;
    const isLoss = cause === "lost" || cause === "stop-work";
    if (isLoss && !lost.signal.aborted) {
      definite = cause === "lost";
      calls.abort();
      lost.abort(new LostLeadership(term(), cause, error));
      const code = storageCodeOf(error);
      const kind = definite && code.startsWith("Lease") ? "deposed" : "lost";
      contest.emit({ kind, holder: request.holder, term: term(), cause, code });
    }
    if (cause === "stalled") calls.abort();
    if (endCause !== undefined) return;
    endCause = cause;
    endError = error;
    ending.abort(lost.signal.aborted ? lost.signal.reason : new LostLeadership(term(), cause, error));
  };
  const deadline = stopWorkDeadline(clock, settings, taken.sentAt, () => end("stop-work"));
  /** Whether to go on after a failed call. */
  const survives = (error: unknown): boolean => {
    if (judge(error) === "transient") return true;
    end("lost", error);
    return false;
  };

  async function renew(): Promise<void> {
    let waitMs = nextRenewalMs(true, elapsedMs(taken.sentAt, momentOf(clock)), settings);
    for (;;) {
      await clock.sleep(waitMs, calls.signal);
      if (calls.signal.aborted) return;
      const reply = await cappedCall(
        clock,
        settings.requestCapMs,
        (signal) => lease.renew(taken.leaseId, { signal }),
        calls.signal,
      );
      if (calls.signal.aborted || (reply.kind === "failed" && !survives(reply.error))) return;
      if (reply.kind === "ok") {
        deadline.leaseConfirmed(reply.sentAt);
        const marginMs = deadline.remainingMs();
        if (marginMs > 0) contest.emit({ kind: "renewed", holder: request.holder, term: term(), marginMs });
      }
      waitMs = nextRenewalMs(reply.kind === "ok", elapsedMs(reply.sentAt, momentOf(clock)), settings);
    }
  }

  async function beat(): Promise<void> {
    for (let waitMs = settings.beatEveryMs; ; ) {
      await clock.sleep(waitMs, calls.signal);
      if (calls.signal.aborted || record === undefined) return;
      record = { ...record, beat: contest.nextBeat(), leaseLeftMs: deadline.leaseLeftMs() };
      const metadata = encodeRecord(record);
      // Not given up when the calls stop: its successor, the `ended` record, must not be overtaken by it.
      const reply = await cappedCall(clock, settings.beatCapMs, (signal) =>
        lease.writeRecord(taken.leaseId, metadata, { signal }),
      );
      if (calls.signal.aborted || (reply.kind === "failed" && !survives(reply.error))) return;
      if (reply.kind === "ok") deadline.beatConfirmed(reply.sentAt);
      waitMs = Math.max(0, settings.beatEveryMs - elapsedMs(reply.sentAt, momentOf(clock)));
    }
  }

  /** A bug in a loop ends the term; it must not end the process as an unhandled rejection. */
  const keep = (loop: Promise<void>): void => {
    loops.push(loop.catch((error: unknown) => end("failed", error)));
  };
  const onStopping = (): void => end("stopping");
  const takeBudgetBack = Number.isFinite(budgetAtMs)
    ? clock.after(Math.max(0, budgetAtMs - clock.monotonicMs()), () => end("budget"))
    : () => {};
  if (request.stopping?.aborted) onStopping();
  else request.stopping?.addEventListener("abort", onStopping, { once: true });
  keep(renew());
  return {
    ...taken,
    deadline,
    ending: ending.signal,
    lost: lost.signal,
    get record() {
      return record;
    },
    set record(next) {
      record = next;
    },
    endCause: () => endCause,
    endError: () => endError,
    end,
    letGo() {
      calls.abort();
      if (lost.signal.aborted) return;
      const cause = endCause ?? "stop-work";
      lost.abort(new LostLeadership(term(), cause));
      contest.emit({ kind: "lost", holder: request.holder, term: term(), cause, code: "" });
    },
    isDefinitelyLost: () => definite,
    budgetLeftMs: () => Math.max(0, budgetAtMs - clock.monotonicMs()),
    startBeats: () => keep(beat()),
    async stopCalls() {
      calls.abort();
      await Promise.all(loops);
    },
    close() {
      closed = true;
      deadline.close();
      lost.abort(new LostLeadership(term(), endCause ?? "over"));
      takeBudgetBack();
      request.stopping?.removeEventListener("abort", onStopping);
    },
  };
}
