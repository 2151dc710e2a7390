import type { QueueStore } from "../queuePort.ts";
import { checkResourceName, type MemoryAccount, refuse } from "./memoryAccount.ts";
import { type SortedList, sortedList } from "./sortedList.ts";

interface Message {
  readonly id: string;
  readonly text: string;
  readonly sequence: number;
  readonly insertedMs: number;
  readonly visibleAtMs: number;
  readonly dequeueCount: number;
  readonly popReceipt: string;
}

export interface MemoryQueue {
  readonly messages: Map<string, Message>;
  /** By the time they become visible, then by the order of the sends. */
  readonly order: SortedList<Message>;
}

/** The twin's queues. Messages are delivered in order, which the real service does not promise. */
export function memoryQueues(account: MemoryAccount, queues: Map<string, MemoryQueue>): QueueStore {
  let sequence = 0;
  const queueOf = (name: string): MemoryQueue => {
    const queue = queues.get(name);
    if (queue === undefined) throw refuse(404, "QueueNotFound", name);
    return queue;
  };
  const set = (queue: MemoryQueue, message: Message): void => {
    drop(queue, message.id);
    queue.messages.set(message.id, message);
    queue.order.insert(message);
  };
  const visible = (queue: MemoryQueue, max: number): readonly Message[] => {
    checkRange(max, 1, 32, "number of messages");
    const nowMs = account.nowMs();
    const first: Message[] = [];
    for (const message of queue.order.from(() => false)) {
      if (first.length === max || message.visibleAtMs > nowMs) break;
      first.push(message);
    }
    return first;
  };
  const held = (queue: string, id: string, popReceipt: string): Message | undefined => {
    const message = queues.get(queue)?.messages.get(id);
    return message?.popReceipt === popReceipt ? message : undefined;
  };

  return {
    async ensureQueue(queue, options) {
      account.begin("queue", options);
      checkResourceName(queue);
      if (queues.has(queue)) return "existed";
      queues.set(queue, { messages: new Map(), order: sortedList(byVisibility) });
      return "created";
    },

    async send(queue, text, options) {
      account.begin("queue", options);
      const visibleInS = options?.visibleInS ?? 0;
      checkRange(visibleInS, 0, sevenDaysS, "visibility");
      checkText(text);
      sequence += 1;
      const dateMs = account.dateMs();
      const visibleAtMs = account.nowMs() + visibleInS * 1000;
      const id = account.random.uuid();
      const popReceipt = account.nextTag();
      set(queueOf(queue), {
        id,
        text,
        sequence,
        insertedMs: dateMs,
        visibleAtMs,
        dequeueCount: 0,
        popReceipt,
      });
      return { id, popReceipt, dateMs };
    },

    async receive(queue, options) {
      account.begin("queue", options);
      checkRange(options.visibilityS, 1, sevenDaysS, "visibility");
      const home = queues.get(queue);
      if (home === undefined) return [];
      return visible(home, options.max).map((message) => {
        const taken: Message = {
          ...message,
          dequeueCount: message.dequeueCount + 1,
          visibleAtMs: account.nowMs() + options.visibilityS * 1000,
          popReceipt: account.nextTag(),
        };
        set(home, taken);
        return { ...publicView(taken), popReceipt: taken.popReceipt };
      });
    },

    async update(queue, id, popReceipt, options) {
      account.begin("queue", options);
      checkRange(options.visibleInS, 0, sevenDaysS, "visibility");
      const message = held(queue, id, popReceipt);
      if (message === undefined) return { kind: "gone" };
      const visibleAtMs = account.nowMs() + options.visibleInS * 1000;
      const updated: Message = { ...message, visibleAtMs, popReceipt: account.nextTag() };
      set(queueOf(queue), updated);
      return { kind: "updated", popReceipt: updated.popReceipt };
    },

    async remove(queue, id, popReceipt, options) {
      account.begin("queue", options);
      if (held(queue, id, popReceipt) === undefined) return "gone";
      drop(queueOf(queue), id);
      return "removed";
    },

    async peek(queue, max, options) {
      account.begin("queue", options);
      const home = queues.get(queue);
      return home === undefined ? [] : visible(home, max).map(publicView);
    },

    async stats(queue, options) {
      account.begin("queue", options);
      const home = queues.get(queue);
      if (home === undefined) return { kind: "missing" };
      return { kind: "found", approximateCount: home.messages.size, dateMs: account.dateMs() };
    },
  };
}

const sevenDaysS = 7 * 24 * 3600;
const textBytesMax = 64 * 1024;

const byVisibility = (a: Message, b: Message): number =>
  a.visibleAtMs - b.visibleAtMs || a.sequence - b.sequence;

function drop(queue: MemoryQueue, id: string): void {
  const message = queue.messages.get(id);
  if (message === undefined) return;
  queue.messages.delete(id);
  queue.order.remove(message);
}

const publicView = ({ id, text, dequeueCount, insertedMs }: Message) => ({
  id,
  text,
  dequeueCount,
  insertedMs,
});

function checkRange(value: number, min: number, max: number, what: string): void {
  if (!Number.isInteger(value)) throw refuse(400, "InvalidQueryParameterValue", `${what} ${value}`);
  if (value < min || value > max) throw refuse(400, "OutOfRangeQueryParameterValue", `${what} ${value}`);
}

/** The text is the content of an XML element. */
function checkText(text: string): void {
  if (Buffer.byteLength(text) > textBytesMax) throw refuse(413, "RequestBodyTooLarge", "message");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML 1.0 cannot carry.
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(text))
    throw refuse(400, "InvalidXmlDocument");
}
