import * as z from "zod";
import { unlessUnreadable } from "../model/decode.ts";
import { InputError, StorageError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { decodeMessage, isWake } from "../model/message.ts";
import { type Names, poisonOf, queuesOf } from "../model/names.ts";
import type { QueueMessage } from "../storage/queuePort.ts";
import { type Client, clientLimits, defined } from "./client.ts";
import { toldSetting } from "./leader.ts";
import { checkWhole } from "./runRequest.ts";
import { count, list, seconds, text, time } from "./viewSchemas.ts";

const queueSchema = z
  .object({
    queue: text.describe("Its real name."),
    state: z
      .enum(["there", "missing", "denied"])
      .describe(
        "`missing`: no instance or submit has created it yet. `denied`: there is no right to read it.",
      ),
    approximateCount: count.describe("Including hidden messages.").exactOptional(),
    oldestS: seconds
      .describe(
        "Age of the first visible message, which is nearly always the oldest; absent if all are hidden.",
      )
      .exactOptional(),
  })
  .meta({ id: "Queue" });
export const queuesSchema = z.object({ queues: list(queueSchema) }).meta({ id: "Queues" });
export type QueueView = z.infer<typeof queueSchema>;

const messageSchema = z
  .object({
    id: text,
    insertedAt: time,
    dequeueCount: count,
    kind: text
      .describe("`compute`, `wake` and so on; absent if this version does not understand the message.")
      .exactOptional(),
    decoded: z
      .looseObject({ kind: text, run: text, uid: text })
      .describe("The message as a worker reads it; absent with `cut`, and for wakes.")
      .exactOptional(),
    text,
    cut: z.literal(true).describe("The text is cut.").exactOptional(),
  })
  .meta({ id: "QueueMessage" });
/** Queues hold whatever somebody put there. */
export const peekedSchema = z
  .object({ queue: text, messages: list(messageSchema) })
  .meta({ id: "QueueMessages" });

export type PeekedQueue = z.infer<typeof peekedSchema>;

/** The queues of work, and that of completion events which the leader has told of, if there is one. */
export async function queues(client: Client): Promise<readonly QueueView[]> {
  const ended = await endedQueue(client);
  return await Promise.all([
    ...queuesOf(client.names).map((queue) => viewQueue(client, queue)),
    // The role of an app on it is to send.
    ...ended.map((queue) => viewQueue(client, queue).catch(deniedAs(queue))),
  ]);
}

async function endedQueue(client: Client): Promise<readonly string[]> {
  const queue = await toldSetting(client, "LEASEFOLD_ENDED_QUEUE");
  return queue ? [queue] : [];
}

const deniedAs =
  (queue: string) =>
  (error: unknown): QueueView => {
    if (error instanceof StorageError && error.kind === "denied") return { queue, state: "denied" };
    throw error;
  };

async function viewQueue({ storage }: Client, queue: string): Promise<QueueView> {
  const stats = await storage.queues.stats(queue);
  if (stats.kind === "missing") return { queue, state: "missing" };
  const view = { queue, state: "there", approximateCount: stats.approximateCount } as const;
  const [first] = stats.approximateCount === 0 ? [] : await storage.queues.peek(queue, 1);
  if (first === undefined) return view;
  return { ...view, oldestS: Math.max(0, stats.dateMs - first.insertedMs) / 1000 };
}

/**
 * Up to `max` messages, 1 to 32, without dequeuing them. `name` is the real name or the part after the namespace. Throws
 * `InputError` for a queue that is not of this namespace.
 */
export async function peekQueue(client: Client, name: string, max = 1): Promise<PeekedQueue> {
  const { storage, names } = client;
  checkWhole("n", max, limits.peekMax, "bad-count");
  const queue = queueOf(names, name, [...queuesOf(names), ...(await endedQueue(client))]);
  const messages = await storage.queues.peek(queue, max);
  return { queue, messages: await Promise.all(messages.map(viewMessage)) };
}

/** One of these by its real name or the part after the namespace. */
function queueOf(names: Names, name: string, all: readonly string[]): string {
  const prefix = names.packs.slice(0, -"packs".length);
  const queue = all.find((one) => one === name || one === `${prefix}${name}`);
  if (queue !== undefined) return queue;
  const rule = `no ${JSON.stringify(name)}; there are ${all.join(", ")}`;
  throw new InputError("unknown", "unknown-queue", `queue: ${rule}`, { field: "queue" });
}

/** Whole seconds for which a message that is about to be deleted is hidden from others. */
const clearHiddenS = 60;

/** A poison queue, by either name. Throws `InputError` for any other: work that waits there would be lost. */
export const poisonQueueOf = ({ names }: Pick<Client, "names">, name: string): string =>
  queueOf(
    names,
    name,
    queuesOf(names).filter((queue) => queue.endsWith(poisonOf(""))),
  );

/**
 * Deletes the visible messages of a poison queue that were there when it began, and says how many. One that comes meanwhile
 * stays, and one that a worker is recording too.
 */
export async function clearPoison({ storage }: Client, queue: string): Promise<number> {
  const { queues } = storage;
  const stats = await queues.stats(queue);
  const most = stats.kind === "found" ? stats.approximateCount : 0;
  let cleared = 0;
  for (let taken = 0; taken < most; ) {
    const max = Math.min(limits.peekMax, most - taken);
    const messages = await queues.receive(queue, { max, visibilityS: clearHiddenS });
    if (messages.length === 0) break;
    taken += messages.length;
    const removed = await Promise.all(
      messages.map(({ id, popReceipt }) => queues.remove(queue, id, popReceipt)),
    );
    cleared += removed.filter((reply) => reply === "removed").length;
  }
  return cleared;
}

async function viewMessage({
  id,
  insertedMs,
  dequeueCount,
  text,
}: QueueMessage): Promise<z.infer<typeof messageSchema>> {
  const view = { id, insertedAt: new Date(insertedMs).toISOString(), dequeueCount };
  const wakes = isWake(text);
  const decoded = wakes ? undefined : await unlessUnreadable(() => decodeMessage(text));
  const kind = wakes ? "wake" : decoded?.kind;
  const cut = text.length > clientLimits.messageCharactersMax;
  const shown = cut ? text.slice(0, clientLimits.messageCharactersMax).toWellFormed() : text;
  return {
    ...view,
    ...defined({ kind, decoded: cut ? undefined : decoded }),
    text: shown,
    ...(cut ? { cut: true } : {}),
  };
}
