import type { QueueMessage, QueueStore } from "../queuePort.ts";
import { checkResourceName, type MemoryAccount, refuse } from "./memoryAccount.ts";
import { sortedList } from "./sortedList.ts";

interface Message extends QueueMessage {
  readonly sequence: number;
  readonly visibleAtMs: number;
  readonly popReceipt: string;
}

export class MemoryQueue {
  readonly #messages = new Map<string, Message>();
  /** By the time they become visible, then by the order of the sends. */
  readonly #order = sortedList<Message>((a, b) => a.visibleAtMs - b.visibleAtMs || a.sequence - b.sequence);

  get size(): number {
    return this.#messages.size;
  }

  /** The message, as long as this receipt is its last one. */
  held(id: string, popReceipt: string): Message | undefined {
    const message = this.#messages.get(id);
    return message?.popReceipt === popReceipt ? message : undefined;
  }

  store(message: Message): void {
    this.drop(message.id);
    this.#messages.set(message.id, message);
    this.#order.insert(message);
  }

  drop(id: string): void {
    const message = this.#messages.get(id);
    if (message === undefined) return;
    this.#messages.delete(id);
    this.#order.remove(message);
  }

  visible(max: number, nowMs: number): readonly Message[] {
    const first: Message[] = [];
    for (const message of this.#order.from(() => false)) {
      if (first.length === max || message.visibleAtMs > nowMs) break;
      first.push(message);
    }
    return first;
  }
}

/** The in-memory storage's queues. Messages are delivered in order, which the real service does not promise. */
export function memoryQueues(account: MemoryAccount, queues: Map<string, MemoryQueue>): QueueStore {
  let sequence = 0;
  const visible = (queue: string, max: number): readonly Message[] => {
    const home = queues.get(queue);
    if (home === undefined) return [];
    checkRange(max, 1, 32, "number of messages");
    return home.visible(max, account.nowMs());
  };
  const visibleAtMs = (inS: number): number => account.nowMs() + inS * 1000;

  return {
    async ensureQueue(queue, options) {
      account.begin("queue", options);
      checkResourceName(queue);
      if (queues.has(queue)) return "existed";
      queues.set(queue, new MemoryQueue());
      return "created";
    },

    async send(queue, text, options) {
      account.begin("queue", options);
      const visibleInS = options?.visibleInS ?? 0;
      checkRange(visibleInS, 0, sevenDaysS, "visibility");
      checkText(text);
      sequence += 1;
      const dateMs = account.dateMs();
      const id = account.random.uuid();
      const popReceipt = account.nextTag();
      const home = queues.get(queue);
      if (home === undefined) throw refuse(404, "QueueNotFound", queue);
      const seen = { id, text, insertedMs: dateMs, dequeueCount: 0 };
      home.store({ ...seen, sequence, visibleAtMs: visibleAtMs(visibleInS), popReceipt });
      return { id, popReceipt, dateMs };
    },

    async receive(queue, options) {
      account.begin("queue", options);
      checkRange(options.visibilityS, 1, sevenDaysS, "visibility");
      return visible(queue, options.max).map((message) => {
        const dequeueCount = message.dequeueCount + 1;
        const popReceipt = account.nextTag();
        const received = {
          ...message,
          dequeueCount,
          visibleAtMs: visibleAtMs(options.visibilityS),
          popReceipt,
        };
        queues.get(queue)?.store(received);
        return { ...publicView(received), popReceipt };
      });
    },

    async update(queue, id, popReceipt, options) {
      account.begin("queue", options);
      checkRange(options.visibleInS, 0, sevenDaysS, "visibility");
      const message = queues.get(queue)?.held(id, popReceipt);
      if (message === undefined) return { kind: "gone" };
      const next = account.nextTag();
      queues
        .get(queue)
        ?.store({ ...message, visibleAtMs: visibleAtMs(options.visibleInS), popReceipt: next });
      return { kind: "updated", popReceipt: next };
    },

    async remove(queue, id, popReceipt, options) {
      account.begin("queue", options);
      const home = queues.get(queue);
      if (home?.held(id, popReceipt) === undefined) return "gone";
      home.drop(id);
      return "removed";
    },

    async peek(queue, max, options) {
      account.begin("queue", options);
      return visible(queue, max).map(publicView);
    },

    async stats(queue, options) {
      account.begin("queue", options);
      const home = queues.get(queue);
      if (home === undefined) return { kind: "missing" };
      return { kind: "found", approximateCount: home.size, dateMs: account.dateMs() };
    },
  };
}

const sevenDaysS = 7 * 24 * 3600;
const textBytesMax = 64 * 1024;

function publicView({ id, text, dequeueCount, insertedMs }: Message): QueueMessage {
  return { id, text, dequeueCount, insertedMs };
}

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
