import type { QueueClient, QueueServiceClient } from "@azure/storage-queue";
import type { QueueMessage, QueueStore } from "../engine/storage/queuePort.ts";
import { withOutcomes } from "../engine/storage/storageErrors.ts";
import { azureCalls, dateMsOf, missing } from "./azureCalls.ts";

const call = azureCalls("queue");

const clientsKept = 100;

/** The queue port on the Azure SDK. Message texts are sent as they are, never base64. */
export function azureQueues(service: QueueServiceClient): QueueStore {
  const clients = new Map<string, QueueClient>();
  /** An app has a handful of queues, and a client costs a tenth of its call. */
  const queueOf = (queue: string): QueueClient => {
    const client = clients.get(queue) ?? service.getQueueClient(queue);
    if (clients.size < clientsKept) clients.set(queue, client);
    return client;
  };

  return {
    ensureQueue(queue, options) {
      const made = call(`Create Queue ${queue}`, options, async (abortSignal) => {
        const answer = await queueOf(queue).create({ abortSignal });
        // 204: it exists with the same metadata; with other metadata the service answers QueueAlreadyExists.
        return answer._response.status === 204 ? ("existed" as const) : ("created" as const);
      });
      return withOutcomes(made, { QueueAlreadyExists: "existed" as const });
    },

    send: (queue, text, options) =>
      call(`Put Message ${queue}`, options, async (abortSignal) => {
        const answer = await queueOf(queue).sendMessage(text, {
          abortSignal,
          messageTimeToLive: -1,
          visibilityTimeout: options?.visibleInS ?? 0,
        });
        return { id: answer.messageId, popReceipt: answer.popReceipt, dateMs: dateMsOf(answer) };
      }),

    receive(queue, options) {
      const received = call(`Get Messages ${queue}`, options, async (abortSignal) => {
        const answer = await queueOf(queue).receiveMessages({
          abortSignal,
          numberOfMessages: options.max,
          visibilityTimeout: options.visibilityS,
        });
        const { receivedMessageItems: items } = answer;
        return items.map((item) => ({ ...messageOf(item), popReceipt: item.popReceipt }));
      });
      return withOutcomes(received, { QueueNotFound: [] });
    },

    update(queue, id, popReceipt, options) {
      const updated = call(`Update Message ${queue}`, options, async (abortSignal) => {
        const client = queueOf(queue);
        const keepText = undefined;
        const answer = await client.updateMessage(id, popReceipt, keepText, options.visibleInS, {
          abortSignal,
        });
        // Without a new receipt in the answer, the old one is the best guess.
        return { kind: "updated" as const, popReceipt: answer.popReceipt ?? popReceipt };
      });
      return withOutcomes(updated, goneOutcomes({ kind: "gone" as const }));
    },

    remove(queue, id, popReceipt, options) {
      const removed = call(`Delete Message ${queue}`, options, async (abortSignal) => {
        await queueOf(queue).deleteMessage(id, popReceipt, { abortSignal });
        return "removed" as const;
      });
      return withOutcomes(removed, goneOutcomes("gone" as const));
    },

    peek(queue, max, options) {
      const peeked = call(`Peek Messages ${queue}`, options, async (abortSignal) => {
        const answer = await queueOf(queue).peekMessages({ abortSignal, numberOfMessages: max });
        return answer.peekedMessageItems.map(messageOf);
      });
      return withOutcomes(peeked, { QueueNotFound: [] });
    },

    stats(queue, options) {
      const found = call(`Get Queue Metadata ${queue}`, options, async (abortSignal) => {
        const answer = await queueOf(queue).getProperties({ abortSignal });
        const approximateCount = answer.approximateMessagesCount ?? 0;
        return { kind: "found" as const, approximateCount, dateMs: dateMsOf(answer) };
      });
      return withOutcomes(found, { QueueNotFound: missing });
    },
  };
}

/** Another receiver has the message (its receipt changed), or it is deleted, alone or with its queue. */
const goneOutcomes = <T>(outcome: T): Readonly<Record<string, T>> => ({
  MessageNotFound: outcome,
  PopReceiptMismatch: outcome,
  QueueNotFound: outcome,
});

const messageOf = (item: {
  readonly messageId: string;
  readonly messageText: string;
  readonly dequeueCount: number;
  readonly insertedOn: Date;
}): QueueMessage => ({
  id: item.messageId,
  text: item.messageText,
  dequeueCount: item.dequeueCount,
  insertedMs: item.insertedOn.getTime(),
});
