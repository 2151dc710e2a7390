import { LeasefoldError } from "../../model/errors.ts";
import type { Clock, ContentLease, Random } from "../../storage/ports.ts";
import type { TakenLease } from "../acquire/acquireLease.ts";
import { cappedCall } from "../cappedCall.ts";
import { stopWorkDeadline } from "../hold/stopWorkDeadline.ts";
import { judge, storageCodeOf } from "../judge.ts";
import { type Content, type Contents, leaseContents, type NextContent } from "./contents.ts";
import type { LeasesSettings } from "./settings.ts";

/** Why a named lease is not held any more. */
export type LeaseEnd =
  /** Given back by its holder. */
  | "released"
  /** No renewal was confirmed in time. */
  | "stop-work"
  /** Storage said so: another broke it or has it, or the blob is gone. */
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

/** A named lease while this process holds it. Renewals happen by themselves. */
export interface NamedLease {
  readonly name: string;
  /**
   * Fires when work under this lease has to stop: lost, not confirmed in time (`marginMs` before it can be
   * another's, provided this event loop runs), or released. Its reason is a `LeaseLost`.
   */
  readonly signal: AbortSignal;
  /** Confirmed time left to work, in ms. 0 when it is over. */
  remainingMs(): number;
  /** Throws `LeaseLost` if the lease is over at this very moment; call it right before an effect. */
  assertHeld(): void;
  read(): Promise<Content>;
  /**
   * Replaces the content under the lease id and `If-Match`, so a holder of the past cannot: bytes or text, or a
   * function from the present content to the next. One update at a time, in the order asked for. A reply that got
   * lost is resolved by reading back. Throws `LeaseLost`, `InputError` for a content too large, and `StorageError`
   * when nothing definite was heard in time: the update may then have been made.
   */
  update(next: NextContent): Promise<Content>;
  /**
   * Gives it back: call it when the work under it has ended. Never rejects, never sent twice. `false`: not
   * confirmed; the lease then ends by itself.
   */
  release(): Promise<boolean>;
}

export interface HeldPorts {
  readonly blob: ContentLease;
  readonly clock: Clock;
  readonly random: Random;
  readonly holder: string;
  /** Called once, with the end. `code`: of the storage error, or `""`. */
  onEnd(end: LeaseEnd, code: string): void;
  onRelease(confirmed: boolean): void;
}

/** `renew` is one renewal, for the scheduler. */
export function heldLease(
  ports: HeldPorts,
  settings: LeasesSettings,
  name: string,
  taken: TakenLease,
): { readonly lease: NamedLease; renew(): Promise<boolean> } {
  const { blob, clock } = ports;
  const over = new AbortController();
  let ended: LeaseEnd | undefined;
  let releasing: Promise<boolean> | undefined;

  const end = (how: LeaseEnd, error?: unknown): void => {
    if (ended !== undefined) return;
    ended = how;
    // A deadline that has passed has closed itself, and may do so before it is even assigned here.
    if (how !== "stop-work") deadline.close();
    over.abort(new LeaseLost(name, how, error));
    ports.onEnd(how, storageCodeOf(error));
  };
  const deadline = stopWorkDeadline(clock, settings, taken.sentAt, () => end("stop-work"));
  const assertHeld = (): void => {
    deadline.hasPassed();
    if (over.signal.aborted) throw over.signal.reason;
  };
  const contents: Contents = leaseContents(ports, settings, taken.leaseId, {
    name,
    signal: over.signal,
    assertHeld,
    onLost: (error) => end("lost", error),
  });

  const giveBack = async (): Promise<boolean> => {
    const wasLost = ended === "lost";
    end("released");
    if (wasLost) return false;
    // After the stop-work deadline it is most likely still ours on storage's side, and nothing is done under it now.
    const reply = await cappedCall(clock, settings.requestCapMs, (signal) =>
      blob.release(taken.leaseId, { signal }),
    );
    const confirmed = reply.kind === "ok";
    if (ended === "released") ports.onRelease(confirmed);
    return confirmed;
  };

  return {
    lease: {
      name,
      get signal() {
        deadline.hasPassed();
        return over.signal;
      },
      remainingMs: () => (over.signal.aborted ? 0 : deadline.remainingMs()),
      assertHeld,
      read: contents.read,
      update: contents.update,
      release() {
        releasing ??= giveBack();
        return releasing;
      },
    },
    async renew() {
      const reply = await cappedCall(
        clock,
        settings.requestCapMs,
        (signal) => blob.renew(taken.leaseId, { signal }),
        over.signal,
      );
      if (reply.kind === "ok") deadline.leaseConfirmed(reply.sentAt);
      else if (judge(reply.error) !== "transient") end("lost", reply.error);
      return reply.kind === "ok";
    },
  };
}
