import type { Clock } from "../../storage/ports.ts";
import type { QueueStore } from "../../storage/queuePort.ts";
import { cappedCall } from "../cappedCall.ts";

/**
 * One hidden message in the wake queue, hidden again and again while its keeper lives. When the keeper dies it
 * surfaces by itself and calls for a new leader, with nobody standing by.
 *
 * Not promised: exactly one message. A reply that got lost may leave a second one, which costs one wake for
 * nothing. It must be kept by a leader only, and its signal must fire when the term ends.
 */
export interface DeadMansWake {
  /** Makes it visible now: call it after the release, when work is left for a successor. */
  handOver(): Promise<void>;
  /** Deletes it: nothing is left to lead. */
  remove(): Promise<void>;
  /** Lets go of it as a crash would; it surfaces within `hiddenForS`. The signal does the same. */
  leave(): void;
}

export interface DeadMansWakeOptions {
  readonly queue: string;
  readonly text: string;
  /** Default 6 s. */
  readonly hiddenForS?: number;
  /** Default 2,000, a third of the above. */
  readonly hideEveryMs?: number;
  /** Each queue call is cut off after this. Default 2,000. */
  readonly requestCapMs?: number;
  /** Usually the leadership's: a keeper that lost its term must not go on hiding the call for the next one. */
  readonly signal?: AbortSignal;
}

export const hideEveryMsDefault = 2_000;

/** Puts the first message at once. Never throws; the queue has to exist. */
export function keepDeadMansWake(
  ports: { readonly queues: QueueStore; readonly clock: Clock },
  options: DeadMansWakeOptions,
): DeadMansWake {
  const { queues, clock } = ports;
  const { queue, text, hiddenForS = 6, hideEveryMs = hideEveryMsDefault, requestCapMs = 2_000 } = options;
  const stop = new AbortController();
  let kept: { readonly id: string; readonly popReceipt: string } | undefined;

  const send = async (visibleInS: number): Promise<boolean> => {
    const sent = await cappedCall(clock, requestCapMs, (signal) =>
      queues.send(queue, text, { visibleInS, signal }),
    );
    kept = sent.kind === "ok" ? sent.value : undefined;
    return sent.kind === "ok";
  };
  /** After an unknown reply the old receipt is tried again: it is refused if the update had been made. */
  const showIn = async (visibleInS: number): Promise<boolean> => {
    const message = kept;
    if (message === undefined) return send(visibleInS);
    const reply = await cappedCall(clock, requestCapMs, (signal) =>
      queues.update(queue, message.id, message.popReceipt, { visibleInS, signal }),
    );
    if (reply.kind === "failed") return false;
    if (reply.value.kind === "gone") return send(visibleInS);
    kept = { id: message.id, popReceipt: reply.value.popReceipt };
    return true;
  };
  const keeping = (async () => {
    for (;;) {
      const startedMs = clock.monotonicMs();
      await showIn(hiddenForS);
      await clock.sleep(Math.max(0, hideEveryMs - (clock.monotonicMs() - startedMs)), stop.signal);
      if (stop.signal.aborted) return;
    }
  })();
  const leave = (): void => stop.abort();
  const onSignal = (): void => leave();
  if (options.signal?.aborted) leave();
  else options.signal?.addEventListener("abort", onSignal, { once: true });

  return {
    leave,
    async handOver() {
      leave();
      await keeping;
      if (!(await showIn(0))) await send(0);
    },
    async remove() {
      leave();
      await keeping;
      const message = kept;
      if (message === undefined) return;
      kept = undefined;
      await cappedCall(clock, requestCapMs, (signal) =>
        queues.remove(queue, message.id, message.popReceipt, { signal }),
      );
    },
  };
}
