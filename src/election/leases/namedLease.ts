import { LeasefoldError, StorageError } from "../../engine/model/errors.ts";
import { type AcquiredLease, acquireLease, disappeared, pollLease } from "../acquire/acquireLease.ts";
import { cappedCall, elapsedMs, readClocks } from "../cappedCall.ts";
import { stopWorkDeadline } from "../hold/stopWorkDeadline.ts";
import { endsLease, storageCodeOf } from "../leaseFailure.ts";
import { errorOfOutcome, type LeaseCalls, refusalOf } from "../raceContext.ts";
import { isHeld } from "../record/leaderView.ts";
import { stopWorkMs } from "../settings.ts";
import { type Content, type LeaseParts, leaseContents, type NextContent } from "./contents.ts";

export type AcquireAttempt =
  | AcquiredLease
  | { readonly kind: "heldByOther" }
  | { readonly kind: "stopped" }
  /** `definite`: a retry would not help. */
  | { readonly kind: "failed"; readonly error: unknown; readonly definite: boolean };

const failed = (error: unknown, definite = false): AcquireAttempt => ({ kind: "failed", error, definite });

/** One poll, and one series of attempts with one lease id where the lease is free. A held lease costs one HEAD. */
export async function acquireNamed(parts: LeaseParts, stopping: AbortSignal): Promise<AcquireAttempt> {
  const { blob, clock, random, settings } = parts;
  const calls: LeaseCalls = {
    ports: { lease: blob, clock, random },
    settings,
    request: { stopping },
    call: (make, giveUp) => cappedCall(clock, settings.requestCapMs, make, giveUp),
  };
  const polled = await pollLease(calls);
  if (stopping.aborted) return { kind: "stopped" };
  if (polled.kind === "failed") {
    return failed(polled.error, polled.error instanceof StorageError && polled.error.kind !== "busy");
  }
  if (isHeld(polled.poll)) return { kind: "heldByOther" };

  const acquired = await acquireLease(calls, "free", polled.poll);
  switch (acquired.kind) {
    case "acquired":
      // A process that was stopped meanwhile has a lease without any remaining time to work under it.
      if (elapsedMs(acquired.sentAt, readClocks(clock)) < stopWorkMs(settings)) return acquired;
      await calls.call((signal) => blob.release(acquired.leaseId, { signal }));
      return failed(new StorageError("busy", "", undefined, "the reply to the acquire came too late"));
    case "contended":
      return { kind: "heldByOther" };
    case "gone":
      return failed(disappeared());
    case "failed": {
      const { error } = acquired;
      const refusal = refusalOf(calls, error, "acquire");
      if (refusal?.code === "stopping") return { kind: "stopped" };
      const definite = refusal !== undefined;
      return failed(errorOfOutcome(refusal ?? { kind: "unreachable", step: "acquire", error }), definite);
    }
  }
}

/** Why a named lease is not held any more. */
export type LeaseEnd =
  /** Released by its holder. */
  | "released"
  /** No renewal was confirmed in time. */
  | "stop-work"
  /** Storage answered so: another broke it or acquired it, or the blob is gone. */
  | "lost";

/** Thrown instead of an effect, and the reason of a lease's signal. */
export class LeaseLost extends LeasefoldError {
  readonly lease: string;
  readonly end: LeaseEnd;
  constructor(lease: string, end: LeaseEnd, cause?: unknown) {
    super("lease-lost", `The lease ${JSON.stringify(lease)} is not held any more: ${end}.`, {
      retry: "later",
      details: { lease, end },
      cause,
    });
    this.lease = lease;
    this.end = end;
  }
}

/** A named lease while this process holds it. It is renewed by itself. */
export interface NamedLease {
  readonly name: string;
  /**
   * Fires when work under this lease has to stop: lost, not confirmed in time (`marginMs` before another can acquire
   * it, provided this event loop runs), or released. Its reason is a `LeaseLost`.
   */
  readonly signal: AbortSignal;
  /** Confirmed remaining time to work, in ms. 0 when it is over. */
  remainingMs(): number;
  /** Throws `LeaseLost` if the lease is over by now; call it right before an effect. */
  assertHeld(): void;
  read(): Promise<Content>;
  /**
   * Replaces the content under the lease id and `If-Match`, so that a former holder cannot: bytes or text, or a
   * function from the present content to the next. One update at a time, in the order of the calls. A lost reply is
   * resolved by reading back. Throws `LeaseLost`, `InputError` for a content too large, and `StorageError` when no
   * definite reply came in time: the update may then have been made.
   */
  update(next: NextContent): Promise<Content>;
  /**
   * Call it when the work under the lease has ended. Never rejects, never sent twice. `false`: not confirmed; the
   * lease then expires by itself.
   */
  release(): Promise<boolean>;
}

interface HoldEvents {
  /** Called once, with the end. `code`: of the storage error, or `""`. */
  onEnd(end: LeaseEnd, code: string): void;
  onRelease(confirmed: boolean): void;
}

/** `renew` is one renewal, for the scheduler. */
export function holdNamed(
  parts: LeaseParts,
  { leaseId, sentAt }: AcquiredLease,
  events: HoldEvents,
): { readonly lease: NamedLease; renew(): Promise<boolean> } {
  const { name, blob, clock, settings } = parts;
  const over = new AbortController();
  let ended: LeaseEnd | undefined;
  let releasing: Promise<boolean> | undefined;

  const end = (how: LeaseEnd, error?: unknown): void => {
    if (ended !== undefined) return;
    ended = how;
    // A deadline that has passed has closed itself, and may do so before it is even assigned here.
    if (how !== "stop-work") deadline.close();
    over.abort(new LeaseLost(name, how, error));
    events.onEnd(how, storageCodeOf(error));
  };
  const deadline = stopWorkDeadline(clock, settings, sentAt, () => end("stop-work"));
  const assertHeld = (): void => {
    deadline.hasPassed();
    if (over.signal.aborted) throw over.signal.reason;
  };
  const onLost = (error: unknown): void => end("lost", error);
  const call = <T>(make: (signal: AbortSignal) => Promise<T>, giveUp?: AbortSignal) =>
    cappedCall(clock, settings.requestCapMs, make, giveUp);

  const release = async (): Promise<boolean> => {
    const wasLost = ended === "lost";
    end("released");
    if (wasLost) return false;
    // After the stop-work deadline it is most likely still ours on storage's side, and nothing is done under it now.
    const { kind } = await call((signal) => blob.release(leaseId, { signal }));
    if (ended === "released") events.onRelease(kind === "ok");
    return kind === "ok";
  };

  return {
    lease: {
      ...leaseContents(parts, { leaseId, signal: over.signal, assertHeld, onLost }),
      name,
      get signal() {
        deadline.hasPassed();
        return over.signal;
      },
      remainingMs: () => (over.signal.aborted ? 0 : deadline.remainingMs()),
      assertHeld,
      release() {
        releasing ??= release();
        return releasing;
      },
    },
    async renew() {
      const reply = await call((signal) => blob.renew(leaseId, { signal }), over.signal);
      if (reply.kind === "ok") deadline.leaseConfirmed(reply.sentAt);
      else if (endsLease(reply.error)) onLost(reply.error);
      return reply.kind === "ok";
    },
  };
}
