import type { AcquiredLease } from "../acquire/acquireLease.ts";
import { cappedCall, elapsedMs, readClocks } from "../cappedCall.ts";
import { endsLease, storageCodeOf } from "../leaseFailure.ts";
import { budgetEndsAtMs, nextRenewalMs } from "../policy.ts";
import type { RaceContext } from "../raceContext.ts";
import type { Poll } from "../record/leaderView.ts";
import { type CameBy, type EndCause, encodeRecord, type LeaderRecord } from "../record/record.ts";
import { LostLeadership } from "./leadership.ts";
import { type StopWorkDeadline, stopWorkDeadline } from "./stopWorkDeadline.ts";

/** A lease while it is held: renewed, with heartbeats, watched by its stop-work deadline, and ended once. */
export class LeaseHold {
  readonly leaseId: string;
  readonly cameBy: CameBy;
  /** The poll that the acquire was conditional on. */
  readonly poll: Poll;
  readonly deadline: StopWorkDeadline;
  /** The record as it was last sent. */
  record: LeaderRecord | undefined;
  /** The first cause. */
  endCause: EndCause | undefined;
  /** Storage's error when the lease was lost. */
  endError: unknown;
  /** Storage answered that the lease is lost: there is nothing to release. */
  isDefinitelyLost = false;

  readonly #context: RaceContext;
  readonly #ending = new AbortController();
  readonly #lost = new AbortController();
  readonly #calls = new AbortController();
  readonly #loops: Promise<void>[] = [];
  readonly #budgetAtMs: number;
  readonly #cancelBudget: () => void;
  #closed = false;

  /** Renewals begin at once, heartbeats only with the term. */
  constructor(context: RaceContext, acquired: AcquiredLease) {
    const { ports, settings, request } = context;
    const { clock } = ports;
    this.#context = context;
    this.leaseId = acquired.leaseId;
    this.cameBy = acquired.cameBy;
    this.poll = acquired.poll;
    this.deadline = stopWorkDeadline(clock, settings, acquired.sentAt, () => this.end("stop-work"));
    this.#budgetAtMs = budgetEndsAtMs(request.startedAtMonotonicMs, settings);
    this.#cancelBudget = Number.isFinite(this.#budgetAtMs)
      ? clock.after(this.budgetLeftMs(), () => this.end("budget"))
      : () => {};
    if (request.stopping?.aborted) this.#onStopping();
    else request.stopping?.addEventListener("abort", this.#onStopping, { once: true });
    const sinceMs = elapsedMs(acquired.sentAt, readClocks(clock));
    this.#run(this.#renew(nextRenewalMs(true, sinceMs, settings)));
  }

  readonly #onStopping = (): void => this.end("stopping");

  /** Fires with the first cause of the end. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Fires when no effect may follow any more. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  budgetLeftMs(): number {
    return Math.max(0, this.#budgetAtMs - this.#context.ports.clock.monotonicMs());
  }

  end(cause: EndCause, error?: unknown): void {
    if (this.#closed) return;
    if ((cause === "lost" || cause === "stop-work") && !this.lost.aborted) {
      this.isDefinitelyLost = cause === "lost";
      this.#calls.abort();
      this.#lose(cause, error);
      const code = storageCodeOf(error);
      const kind = this.isDefinitelyLost && code.startsWith("Lease") ? "deposed" : "lost";
      this.#context.emit(this.#term, { kind, cause, code });
    }
    if (cause === "stalled") this.#calls.abort();
    if (this.endCause !== undefined) return;
    this.endCause = cause;
    this.endError = error;
    this.#ending.abort(this.lost.aborted ? this.lost.reason : new LostLeadership(this.#term, cause, error));
  }

  /** For a task that does not end: nothing may follow from it, and the lease is left to expire. */
  abandon(): void {
    this.#calls.abort();
    if (this.lost.aborted) return;
    const cause = this.endCause ?? "stop-work";
    this.#lose(cause);
    this.#context.emit(this.#term, { kind: "lost", cause, code: "" });
  }

  startHeartbeats(): void {
    this.#run(this.#heartbeat());
  }

  /** Ends renewals and heartbeats and waits for the one in flight; the deadline stays. */
  async stopCalls(): Promise<void> {
    this.#calls.abort();
    await Promise.all(this.#loops);
  }

  /** Nothing may follow from this hold any more; its timers are canceled. */
  close(): void {
    this.#closed = true;
    this.deadline.close();
    this.#lose(this.endCause ?? "over");
    this.#cancelBudget();
    this.#context.request.stopping?.removeEventListener("abort", this.#onStopping);
  }

  get #term(): number {
    return this.record?.term ?? 0;
  }

  #lose(cause: EndCause | "over", error?: unknown): void {
    this.#lost.abort(new LostLeadership(this.#term, cause, error));
  }

  /** A bug in a loop ends the term; it must not end the process as an unhandled rejection. */
  #run(loop: Promise<void>): void {
    this.#loops.push(loop.catch((error: unknown) => this.end("failed", error)));
  }

  async #renew(firstMs: number): Promise<void> {
    const { ports, settings, call, emit } = this.#context;
    const { clock, lease } = ports;
    const { signal: stop } = this.#calls;
    for (let waitMs = firstMs; ; ) {
      await clock.sleep(waitMs, stop);
      if (stop.aborted) return;
      const reply = await call((signal) => lease.renew(this.leaseId, { signal }), stop);
      if (stop.aborted || (reply.kind === "failed" && this.#endedBy(reply.error))) return;
      if (reply.kind === "ok") {
        this.deadline.leaseConfirmed(reply.sentAt);
        const marginMs = this.deadline.remainingMs();
        if (marginMs > 0) emit(this.#term, { kind: "renewed", marginMs });
      }
      waitMs = nextRenewalMs(reply.kind === "ok", elapsedMs(reply.sentAt, readClocks(clock)), settings);
    }
  }

  async #heartbeat(): Promise<void> {
    const { ports, settings, nextHeartbeat } = this.#context;
    const { clock, lease } = ports;
    const { signal: stop } = this.#calls;
    for (let waitMs = settings.heartbeatEveryMs; ; ) {
      await clock.sleep(waitMs, stop);
      if (stop.aborted || this.record === undefined) return;
      this.record = { ...this.record, heartbeat: nextHeartbeat(), leaseLeftMs: this.deadline.leaseLeftMs() };
      const metadata = encodeRecord(this.record);
      // Not given up when the calls stop: it must not arrive after its successor, the `ended` record.
      const reply = await cappedCall(clock, settings.heartbeatCapMs, (signal) =>
        lease.writeRecord(this.leaseId, metadata, { signal }),
      );
      if (stop.aborted || (reply.kind === "failed" && this.#endedBy(reply.error))) return;
      if (reply.kind === "ok") this.deadline.heartbeatConfirmed(reply.sentAt);
      waitMs = Math.max(0, settings.heartbeatEveryMs - elapsedMs(reply.sentAt, readClocks(clock)));
    }
  }

  /** Whether a failed call ended the lease; otherwise the loop goes on. */
  #endedBy(error: unknown): boolean {
    if (!endsLease(error)) return false;
    this.end("lost", error);
    return true;
  }
}
