import { cappedCall } from "../../election/cappedCall.ts";
import type { Clock } from "../storage/ports.ts";
import type { QueueStore } from "../storage/queuePort.ts";

/** After a crash the message becomes visible within this time. */
const hiddenForS = 6;
const hideEveryMs = 2_000;
/** Each queue call is cut off after this. */
const requestCapMs = 2_000;

/**
 * One hidden message in the wake queue, hidden again and again while the leader lives. After the leader died it becomes
 * visible by itself and wakes an instance that can lead, so no instance has to stand by.
 *
 * Sends the first message at once. Never throws; the queue has to exist. `signal`: usually the leadership's, because a
 * leader that lost its term must not go on hiding the wake for the next one. It becomes visible within six seconds then, as
 * after a crash.
 *
 * Not promised: exactly one message. A lost reply may leave a second one, which costs one wake for nothing. Only a
 * leader may keep it, and its signal must fire when the term ends.
 */
export function keepDeadMansWake(
  { queues, clock }: { readonly queues: QueueStore; readonly clock: Clock },
  { queue, text, signal }: { readonly queue: string; readonly text: string; readonly signal?: AbortSignal },
) {
  const stop = new AbortController();
  let kept: { readonly id: string; readonly popReceipt: string } | undefined;
  const call = <T>(make: (cap: AbortSignal) => Promise<T>) => cappedCall(clock, requestCapMs, make);

  const send = async (visibleInS: number): Promise<boolean> => {
    const sent = await call((cap) => queues.send(queue, text, { visibleInS, signal: cap }));
    kept = sent.kind === "ok" ? sent.value : undefined;
    return sent.kind === "ok";
  };
  /** After an unknown reply the old receipt is retried: it is refused if the update had been made. */
  const showIn = async (visibleInS: number): Promise<boolean> => {
    if (kept === undefined) return send(visibleInS);
    const { id, popReceipt } = kept;
    const reply = await call((cap) => queues.update(queue, id, popReceipt, { visibleInS, signal: cap }));
    if (reply.kind === "failed") return false;
    if (reply.value.kind === "gone") return send(visibleInS);
    kept = { id, popReceipt: reply.value.popReceipt };
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
  if (signal?.aborted) leave();
  else signal?.addEventListener("abort", leave, { once: true });

  return {
    /** Makes it visible now: call it after the release, when work remains for a successor. */
    async handOver(): Promise<void> {
      leave();
      await keeping;
      if (!(await showIn(0))) await send(0);
    },
    /** Deletes it: nothing remains to lead. */
    async remove(): Promise<void> {
      leave();
      await keeping;
      if (kept === undefined) return;
      const { id, popReceipt } = kept;
      kept = undefined;
      await call((cap) => queues.remove(queue, id, popReceipt, { signal: cap }));
    },
  };
}
