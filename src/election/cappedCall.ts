import type { Clock } from "../engine/storage/ports.ts";

/**
 * Both local clocks at one time. Neither is safe alone: the monotonic clock of some systems stands still while the
 * machine is suspended, and the wall clock may be set. Elapsed time is therefore the larger of the two.
 */
export interface ClockReading {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export const readClocks = (clock: Clock): ClockReading => ({
  monotonicMs: clock.monotonicMs(),
  wallMs: clock.wallMs(),
});

/** The more pessimistic answer of the two clocks: a wall clock set back never makes time shorter. */
export const elapsedMs = (since: ClockReading, now: ClockReading): number =>
  Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);

/** How one call ended. `sentAt` was read before the request was sent: confirmed time counts from there. */
export type Reply<T> =
  | { readonly kind: "ok"; readonly value: T; readonly sentAt: ClockReading }
  | { readonly kind: "failed"; readonly error: unknown; readonly sentAt: ClockReading };

/** A call ended by its cap, or because nobody wants its reply any more. Its effect is unknown. */
class CallCutOff extends Error {
  override readonly name = "CallCutOff";
}

/**
 * Runs one storage call for at most `capMs`. It never rejects, and it ends on time even if the call ignores its
 * signal, because a hung socket must not delay the next decision. A reply that arrives later is dropped.
 */
export function cappedCall<T>(
  clock: Clock,
  capMs: number,
  call: (signal: AbortSignal) => Promise<T>,
  giveUp?: AbortSignal,
): Promise<Reply<T>> {
  const sentAt = readClocks(clock);
  return new Promise((resolve) => {
    const controller = new AbortController();
    const finish = (reply: Reply<T>): void => {
      cancelCap();
      giveUp?.removeEventListener("abort", cut);
      resolve(reply);
    };
    const cut = (): void => {
      finish({ kind: "failed", error: new CallCutOff(`No answer within ${capMs} ms.`), sentAt });
      controller.abort();
    };
    const cancelCap = clock.after(capMs, cut);
    if (giveUp?.aborted) return cut();
    giveUp?.addEventListener("abort", cut, { once: true });
    Promise.resolve()
      .then(() => call(controller.signal))
      .then(
        (value) => finish({ kind: "ok", value, sentAt }),
        (error: unknown) => finish({ kind: "failed", error, sentAt }),
      );
  });
}
