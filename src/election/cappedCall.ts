import type { Clock } from "../storage/ports.ts";

/**
 * One instant on both local clocks. Neither is safe alone: the monotonic clock of some systems stands still
 * while the machine is suspended, and the wall clock may be set. Elapsed time is therefore the larger of the two.
 */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export const momentOf = (clock: Clock): Moment => ({
  monotonicMs: clock.monotonicMs(),
  wallMs: clock.wallMs(),
});

/** The more pessimistic answer of the two clocks: a wall clock set back never makes time shorter. */
export const elapsedMs = (since: Moment, now: Moment): number =>
  Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);

/** What became of one call. `sentAt` was taken before the request left: confirmed time counts from there. */
export type Reply<T> =
  | { readonly kind: "ok"; readonly value: T; readonly sentAt: Moment }
  | { readonly kind: "failed"; readonly error: unknown; readonly sentAt: Moment };

/** A call ended by its own cap, or because nobody wants its answer any more. Its effect is unknown. */
export class CallCutOff extends Error {
  override readonly name = "CallCutOff";
}

/**
 * Runs one storage call that may last `capMs` at most. It never rejects, and it ends on time even where the
 * call pays no heed to its signal, because a hung socket must not hold up whoever decides what comes next.
 * A reply that arrives after the cut is dropped.
 */
export function cappedCall<T>(
  clock: Clock,
  capMs: number,
  call: (signal: AbortSignal) => Promise<T>,
  giveUp?: AbortSignal,
): Promise<Reply<T>> {
  const sentAt = momentOf(clock);
  return new Promise((resolve) => {
    const controller = new AbortController();
    const finish = (reply: Reply<T>): void => {
      takeBack();
      giveUp?.removeEventListener("abort", cut);
      resolve(reply);
    };
    const cut = (): void => {
      finish({ kind: "failed", error: new CallCutOff(`No answer within ${capMs} ms.`), sentAt });
      controller.abort();
    };
    const takeBack = clock.after(capMs, cut);
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
