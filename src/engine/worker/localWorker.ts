import { messageOf } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { logEvents } from "../model/log.ts";
import { encodeMessage, type LocalSend, type WorkMessage } from "../model/message.ts";
import { hasCode } from "./attempt/rightCode.ts";
import { handlePoison, handleWork } from "./handleWork.ts";
import type { Delivery, WorkerPorts } from "./ports.ts";

/**
 * This process's worker for the leader of the same process (`leader/perform/localWork.ts`): it handles a message that is in no
 * queue, as a first delivery.
 *
 * Not promised: that all that it takes is begun here. What no thread has taken in time goes to the queue.
 */
export function localWorker(
  ports: WorkerPorts,
  handlers = {
    work: (one: Delivery) => handleWork(ports, one),
    recordPoison: (one: Delivery) => handlePoison(ports, one),
  },
) {
  const { clock, deliveries, instance, names, storage } = ports;
  const waiting = new Set<() => void>();
  const isFree = (): boolean => deliveries.now < instance.threads;

  /** Whether a thread is free, or those before it will have left one by then. */
  function beginsSoon(expectedMs = Number.POSITIVE_INFINITY): boolean {
    const before = deliveries.now + waiting.size - instance.threads;
    return before < 0 || (expectedMs * (before + 1)) / instance.threads <= limits.beginsHereMs;
  }

  function beginSome(): void {
    for (const begin of waiting) if (isFree()) begin();
  }

  /** When a thread is free; in the queue if none is in time. */
  function inTurn(delivery: Delivery, stopping: AbortSignal | undefined): Promise<void> {
    const enqueue = async () => void (await storage.queues.send(delivery.queue, delivery.text));
    const begin = () => (stopping?.aborted === true ? enqueue() : handlers.work(delivery));
    if (isFree()) return begin();
    return new Promise((resolve) => {
      const leave = (how: () => Promise<void>) => () => {
        cancel();
        waiting.delete(begins);
        resolve(how());
      };
      const begins = leave(begin);
      const cancel = clock.after(limits.beginsHereMs, leave(enqueue));
      waiting.add(begins);
    });
  }

  async function handle(delivery: Delivery, stopping: AbortSignal | undefined): Promise<void> {
    try {
      await inTurn(delivery, stopping);
    } catch (error) {
      // It counts as lost.
      ports.log(logEvents.unexpected({ where: "local worker", message: messageOf(error) }));
    } finally {
      beginSome();
    }
  }

  return {
    take(message: WorkMessage, work: LocalSend): Promise<void> | undefined {
      const { urgent, calculation, expectedMs, stopping } = work;
      if (stopping?.aborted === true || !hasCode(ports, calculation, message.code)) return undefined;
      if (!beginsSoon(expectedMs)) return undefined;
      const queue = urgent ? names.urgent : names.packs;
      return handle({ queue, urgent, text: encodeMessage(message), attempt: 1 }, stopping);
    },
    recordPoison: (delivery: Delivery): Promise<void> => handlers.recordPoison(delivery),
  };
}
