import { StorageError } from "../../../src/engine/model/errors.ts";
import type { MemoryStorage } from "../../../src/engine/storage/memory/memoryStorage.ts";
import type { BlobStore, Random, Storage } from "../../../src/engine/storage/ports.ts";
import type { QueueMessage, QueueStore, ReceivedMessage } from "../../../src/engine/storage/queuePort.ts";

/** How badly the queues behave within their contract. Changed while a world runs. */
export interface Hostility {
  /** Chance that a message is there twice. */
  doubled: number;
  /** Chance that a message is held back, and so overtaken by others. */
  heldBack: number;
  /** Names on one page of a list at most. */
  pageSize: number;
  /** Chance that a page is empty and not the last. */
  emptyPages: number;
  /** Chance that a message is gone although its enqueue was confirmed. */
  lost: number;
  /** Chance that a peek shows nothing, or leaves out the oldest messages, shows them in any order, or retried ones first. */
  oddPeeks: number;
  /** Chance that a batch of deletes is carried out in part and then fails. */
  brokenBatches: number;
}

/** Begins the cursor behind an empty page. */
const sameAgain = "again:";

/** Messages come at least once and in any order, and pages of a list are as short as it likes: no more is promised. */
export function hostile(storage: Storage, random: Random, how: Hostility): Storage {
  const { queues } = storage;
  const later = (visibleInS = 0): number =>
    random.number() < how.heldBack ? visibleInS + 1 + Math.floor(random.number() * 20) : visibleInS;
  const list: BlobStore["list"] = async (container, prefix, { cursor, ...options } = {}) => {
    const pageSize = Math.min(how.pageSize, options.pageSize ?? 5_000);
    const isAgain = cursor?.startsWith(sameAgain) === true;
    const from = isAgain ? cursor?.slice(sameAgain.length) || undefined : cursor;
    const page = await storage.blobs.list(container, prefix, { ...options, cursor: from, pageSize });
    if (isAgain || random.number() >= how.emptyPages) return page;
    return { dateMs: page.dateMs, blobs: [], cursor: `${sameAgain}${from ?? ""}` };
  };
  const removeMany: BlobStore["removeMany"] = async (container, names, options) => {
    if (random.number() >= how.brokenBatches) return storage.blobs.removeMany(container, names, options);
    await storage.blobs.removeMany(container, names.slice(0, names.length / 2), options);
    throw new StorageError("busy", "ServerBusy", 503, "the batch broke off");
  };
  const hostileQueues: QueueStore = {
    ...queues,
    async send(queue, text, options) {
      if (random.number() < how.doubled)
        await queues.send(queue, text, { ...options, visibleInS: later(options?.visibleInS) });
      const sent = await queues.send(queue, text, { ...options, visibleInS: later(options?.visibleInS) });
      if (how.lost > 0 && random.number() < how.lost) await queues.remove(queue, sent.id, sent.popReceipt);
      return sent;
    },
    async peek(queue, max, options) {
      const seen = await queues.peek(queue, max, options);
      if (how.oddPeeks === 0 || random.number() >= how.oddPeeks) return seen;
      return oddly(seen, random);
    },
  };
  return { ...storage, blobs: { ...storage.blobs, list, removeMany }, queues: hostileQueues };
}

/** What a queue that promises no order may show: nothing, later ones only, any order, or those first that were retried. */
function oddly(seen: readonly QueueMessage[], random: Random): readonly QueueMessage[] {
  const kind = Math.floor(random.number() * 4);
  if (kind === 0) return [];
  if (kind === 1) return seen.slice(Math.floor(random.number() * seen.length));
  if (kind === 2)
    return seen
      .map((one) => [random.number(), one] as const)
      .sort(([a], [b]) => a - b)
      .map(([, one]) => one);
  return [...seen].sort((a, b) => b.dequeueCount - a.dequeueCount);
}

/** Deliveries after which the host sets a message aside. */
const deliveriesMax = 5;

/** Every message that can be seen is taken again and again and never run, so that the host sets it aside. */
export async function burnMessages({ queues }: Storage, queue: string): Promise<void> {
  for (let delivery = 1; delivery <= deliveriesMax; delivery += 1) {
    const all: ReceivedMessage[] = [];
    for (let some = 1; some > 0; ) {
      const received = await queues.receive(queue, { max: 32, visibilityS: 1 });
      some = received.length;
      all.push(...received);
    }
    for (const one of all) await queues.update(queue, one.id, one.popReceipt, { visibleInS: 0 });
  }
}

/** Every message that can be seen is there once more. */
export async function doubleMessages({ queues }: Storage, queue: string): Promise<void> {
  for (const { text } of await queues.peek(queue, 32)) await queues.send(queue, text);
}

/** Every message is gone, those that workers hold as well, as after "Clear messages" of a storage browser. */
export async function clearQueue({ operator, queues }: MemoryStorage, queue: string): Promise<void> {
  operator.deleteQueue(queue);
  await queues.ensureQueue(queue);
}
