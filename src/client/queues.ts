import { InputError } from "../model/errors.ts";
import { queuesOf } from "../model/names.ts";
import type { QueueMessage } from "../storage/queuePort.ts";
import type { Client } from "./client.ts";
import { clientLimits } from "./client.ts";

/** A queue of the namespace, by its real name. */
export interface QueueView {
  readonly queue: string;
  /** `missing`: no instance or submit has ever made it. */
  readonly state: "there" | "missing";
  /** Hidden messages included. */
  readonly approximateCount?: number;
  /** Age of the first message that can be seen, which is nearly always the oldest; absent where all are hidden. */
  readonly oldestS?: number;
}

export async function queues(client: Client): Promise<readonly QueueView[]> {
  return await Promise.all(queuesOf(client.names).map((queue) => viewQueue(client, queue)));
}

/** Up to `max` messages, 1 to 32, without taking them. Throws `InputError` for a queue that is not of this namespace. */
export async function peekQueue(client: Client, name: string, max = 1): Promise<readonly QueueMessage[]> {
  if (!Number.isInteger(max) || max < 1 || max > clientLimits.peekMax) {
    const rule = `${max} is not a whole number from 1 to ${clientLimits.peekMax}`;
    throw new InputError("invalid", "bad-count", `n: ${rule}`, { field: "n" });
  }
  return await client.storage.queues.peek(resolveQueue(client, name), max);
}

async function viewQueue(client: Client, queue: string): Promise<QueueView> {
  const stats = await client.storage.queues.stats(queue);
  if (stats.kind === "missing") return { queue, state: "missing" };
  const view = { queue, state: "there", approximateCount: stats.approximateCount } as const;
  if (stats.approximateCount === 0) return view;
  const [first] = await client.storage.queues.peek(queue, 1);
  return first === undefined
    ? view
    : { ...view, oldestS: Math.max(0, stats.dateMs - first.insertedMs) / 1000 };
}

/** Takes the real name or what comes after the namespace. */
function resolveQueue(client: Client, name: string): string {
  const all = queuesOf(client.names);
  const prefix = client.names.packs.slice(0, -"packs".length);
  const found = all.find((queue) => queue === name || queue === `${prefix}${name}`);
  if (found !== undefined) return found;
  throw new InputError(
    "unknown",
    "unknown-queue",
    `queue: no ${JSON.stringify(name)}; there are ${all.join(", ")}`,
    {
      field: "queue",
    },
  );
}
