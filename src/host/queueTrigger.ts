import { messageOf } from "../engine/model/errors.ts";
import type { Random } from "../engine/storage/ports.ts";
import type { ReceivedMessage } from "../engine/storage/queuePort.ts";
import { type DeliveryOptions, deliver, hostQueueTimings } from "./queueDelivery.ts";
import type { Listener } from "./timerTrigger.ts";

export interface QueueTriggerOptions extends DeliveryOptions {
  readonly batchSize: number;
  readonly newBatchThreshold: number;
  readonly maxPollingIntervalMs: number;
  readonly random: Random;
}

/**
 * Listens on one queue for one function. It receives up to `batchSize` messages, and polls again when at most
 * `newBatchThreshold` of them still run: at once if there were messages, else after a growing pause. A missing queue
 * counts as empty. Nothing ends the pause, not even a message of the same host.
 */
export function startQueueListener(options: QueueTriggerOptions): Listener {
  const { queue, queues, clock, log, timings = hostQueueTimings } = options;
  const pauseMs = makePollBackoff(options.maxPollingIntervalMs, options.random);
  let stopping = false;
  const pause = new AbortController();
  const running = new Set<Promise<void>>();
  // A race of all would leave a reaction at each time in a delivery that leads for minutes.
  let oneEnded = Promise.withResolvers<void>();
  let failing = false;

  const start = (message: ReceivedMessage) => {
    const delivery = deliver(options, message).finally(() => {
      running.delete(delivery);
      oneEnded.resolve();
      oneEnded = Promise.withResolvers();
    });
    running.add(delivery);
  };

  /** Never rejects: an error of storage counts as an empty queue, and is logged once until it is over. */
  const receive = async (): Promise<readonly ReceivedMessage[]> => {
    try {
      const messages = await queues.receive(queue, { max: options.batchSize, visibilityS: timings.hiddenS });
      if (failing) log.storageBack(queue);
      failing = false;
      return messages;
    } catch (error) {
      if (!failing) log.storageFailing(queue, messageOf(error));
      failing = true;
      return [];
    }
  };

  /** Makes messages that arrived during a stop visible at once rather than after ten minutes. */
  const release = (messages: readonly ReceivedMessage[]) =>
    Promise.allSettled(
      messages.map((one) => queues.update(queue, one.id, one.popReceipt, { visibleInS: 0 })),
    );

  const listen = async () => {
    let found = true;
    while (!stopping) {
      if (running.size > options.newBatchThreshold) {
        await oneEnded.promise;
        continue;
      }
      const messages = await receive();
      if (stopping) {
        await release(messages);
      } else if (messages.length > 0) {
        messages.forEach(start);
        found = true;
      } else {
        await clock.sleep(pauseMs(found), pause.signal);
        found = false;
      }
    }
  };
  const listening = listen();

  return {
    async stop() {
      stopping = true;
      pause.abort();
      await listening;
      await Promise.all(running);
    },
  };
}

/** The host's shortest interval, and the unit by which it grows (azure-webjobs-sdk, QueuePollingIntervals). */
const pollMsMin = 100;

/**
 * Returns a function that gives the host's pause before it polls an empty queue again, in ms: 100 ms after a find, then
 * 100 ms + 100 ms · 2^n · (0.8 to 1.2) at the n-th miss, up to `maxMs` (read in the behavior of
 * RandomizedExponentialBackoffStrategy of the storage extension).
 */
export function makePollBackoff(maxMs: number, random: Random): (found: boolean) => number {
  let misses = 0;
  return (found) => {
    if (found) {
      misses = 0;
      return Math.min(pollMsMin, maxMs);
    }
    const grown = pollMsMin + pollMsMin * 2 ** misses * (0.8 + 0.4 * random.number());
    if (grown < maxMs) misses += 1;
    return Math.min(grown, maxMs);
  };
}
