import { messageOf } from "../engine/model/errors.ts";
import type { Clock } from "../engine/storage/ports.ts";
import type { QueueStore, ReceivedMessage } from "../engine/storage/queuePort.ts";
import { dataOf, jsonData, type TypedData } from "./coreModule.ts";
import type { HostLog } from "./hostLog.ts";
import type { HeldMessage } from "./instanceMessages.ts";

/**
 * The trigger metadata of one delivery, as far as the app reads it. Names are compared without case, and each top-level
 * property of a JSON body that is no array overwrites the entry of its name: a body with an `id` hides the message's own.
 */
export function triggerMetadata(message: ReceivedMessage): Record<string, TypedData> {
  const metadata = new Map<string, readonly [name: string, data: TypedData]>();
  const set = (name: string, data: TypedData) => metadata.set(name.toLowerCase(), [name, data]);

  set("QueueTrigger", { string: message.text });
  set("DequeueCount", jsonData(message.dequeueCount));
  set("Id", { string: message.id });
  set("InsertionTime", jsonData(new Date(message.insertedMs).toISOString().replace(/\.?0*Z$/, "+00:00")));
  for (const [name, data] of propertiesOf(message.text)) set(name, data);
  return Object.fromEntries(metadata.values());
}

/** No properties of a body that is no JSON object, or too deeply nested to be encoded again. */
function propertiesOf(body: string): readonly (readonly [name: string, data: TypedData])[] {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
    return Object.entries(value)
      .filter(([, inner]) => !Array.isArray(inner))
      .map(([name, inner]) => [name, dataOf(typeof inner === "string" ? asRead(inner) : inner)]);
  } catch {
    return [];
  }
}

/** The host's JSON reader takes a text that is a date and a time for one, and writes it in its own way, in UTC: `01/31/2026 12:00:00`. */
function asRead(text: string): string {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,7})?(Z|[+-]\d\d:\d\d)?$/.test(text)) return text;
  const date = new Date(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
  if (Number.isNaN(date.getTime())) return text;
  const [, year, month, day, time] = /^(\d+)-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d)/.exec(date.toISOString()) ?? [];
  return `${month}/${day}/${year} ${time}`;
}

/** Timings of the host that no setting changes. */
export const hostQueueTimings = {
  /** Time that a received message stays hidden, whatever `visibilityTimeout` says. */
  hiddenS: 600,
  /** Interval at which that time is renewed while the function runs. */
  renewEveryMs: 300_000,
  /** After a failed renewal. */
  renewAgainMs: 30_000,
};

export interface DeliveryOptions {
  readonly queue: string;
  readonly maxDequeueCount: number;
  readonly visibilityTimeoutMs: number;
  readonly queues: QueueStore;
  readonly clock: Clock;
  readonly log: HostLog;
  /** The host's without it; tests shorten them. */
  readonly timings?: typeof hostQueueTimings;
  /** The message got another receipt, by a renewal. */
  readonly onReceipt?: (held: HeldMessage) => void;
  /** Runs the function; false when it failed. Never rejects. */
  readonly invoke: (message: ReceivedMessage) => Promise<boolean>;
}

/** Storage allows 63 characters in a queue's name. */
const queueCharactersMax = 63;

/** The queue for messages that are set aside; undefined where the host has none. */
function poisonQueueOf(queue: string): string | undefined {
  const poison = `${queue}-poison`;
  return queue.endsWith("-poison") || poison.length > queueCharactersMax ? undefined : poison;
}

/**
 * Carries out one delivery of a message: delete after success, a delay after a failure, and after the last failure a copy
 * in the poison queue. The copy comes before the delete, so a crash between them doubles the message and never loses it.
 * A message of a poison queue stays hidden for its ten minutes after each failure. Storage errors at the end are logged; the message then becomes visible again by itself.
 */
export async function deliver(options: DeliveryOptions, message: ReceivedMessage): Promise<void> {
  const { queue, queues, log, maxDequeueCount } = options;
  try {
    if (message.dequeueCount > maxDequeueCount) return await setAside(options, message, message.popReceipt);
    const hidden = keepHidden(options, message);
    const ok = await options.invoke(message);
    const receipt = await hidden.stop();
    if (ok) {
      if ((await queues.remove(queue, message.id, receipt)) === "gone")
        log.completedTooLate(queue, message.id);
    } else if (message.dequeueCount < maxDequeueCount && poisonQueueOf(queue) !== undefined) {
      const visibleInS = Math.ceil(options.visibilityTimeoutMs / 1_000);
      await queues.update(queue, message.id, receipt, { visibleInS });
    } else await setAside(options, message, receipt);
  } catch (error) {
    log.deliveryNotEnded(queue, message.id, messageOf(error));
  }
}

async function setAside(options: DeliveryOptions, message: ReceivedMessage, receipt: string): Promise<void> {
  const { queue, queues, log } = options;
  const poison = poisonQueueOf(queue);
  // The host leaves it hidden until its time is over, and then receives it again.
  if (poison === undefined) return log.leftHidden(queue, message.id, message.dequeueCount);
  log.poisoned(queue, poison, message.id, message.dequeueCount);
  await queues.ensureQueue(poison);
  await queues.send(poison, message.text);
  await queues.remove(queue, message.id, receipt);
}

/** Renews a message's hidden time until `stop`, which gives the receipt that is valid then. */
function keepHidden(options: DeliveryOptions, message: ReceivedMessage): { stop(): Promise<string> } {
  const { queue, queues, clock, log, timings = hostQueueTimings } = options;
  const ended = new AbortController();
  let receipt = message.popReceipt;

  const renew = async () => {
    let waitMs = timings.renewEveryMs;
    while (true) {
      await clock.sleep(waitMs, ended.signal);
      if (ended.signal.aborted) return;
      try {
        const renewed = await queues.update(queue, message.id, receipt, { visibleInS: timings.hiddenS });
        // Another instance received it, or it is deleted: the host renews no more and lets the function end.
        if (renewed.kind === "gone") return log.notRenewed(queue, message.id, "it is gone");
        receipt = renewed.popReceipt;
        options.onReceipt?.({ queue, id: message.id, receipt });
        waitMs = timings.renewEveryMs;
      } catch (error) {
        log.notRenewed(queue, message.id, messageOf(error));
        waitMs = Math.min(timings.renewAgainMs, timings.renewEveryMs);
      }
    }
  };
  const renewing = renew();
  return {
    async stop() {
      // With a reason, or each message makes an error with its stack.
      ended.abort("ended");
      await renewing;
      return receipt;
    },
  };
}
