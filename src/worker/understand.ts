import { NewerVersionError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { decodeMessage, type WorkMessage } from "../model/message.ts";
import type { Storage } from "../storage/ports.ts";
import type { Delivery, WorkerPorts } from "./ports.ts";
import { recordDropped } from "./recordDropped.ts";

/** The message, or undefined for one that waits for a newer version, or is recorded as dropped. */
export async function understand(
  ports: Pick<WorkerPorts, "storage" | "names" | "log">,
  delivery: Delivery,
): Promise<WorkMessage | undefined> {
  try {
    return decodeMessage(delivery.text);
  } catch (error) {
    const held = error instanceof NewerVersionError ? heldCopyOf(delivery.text) : undefined;
    if (held === undefined) await recordDropped(ports, delivery, error);
    else await putBack(ports.storage, { queue: delivery.queue, text: held });
    return undefined;
  }
}

/**
 * A copy of a newer version's message that counts how often it was held for one, and leaves whatever else it says as it
 * is; undefined once that was often enough, since a forged version never comes. A count needs no clock.
 */
function heldCopyOf(text: string): string | undefined {
  const message = JSON.parse(text) as Record<string, unknown>;
  const before = Number(message["heldForNewer"] ?? 0);
  const held = Number.isSafeInteger(before) && before > 0 ? before : 0;
  return held >= limits.heldForNewerMax ? undefined : JSON.stringify({ ...message, heldForNewer: held + 1 });
}

/** The message waits, hidden, in the queue it came from, with its deliveries counted anew. */
export async function putBack(
  storage: Storage,
  delivery: Pick<Delivery, "queue" | "text">,
  visibleInS: number = limits.retryDelayS,
): Promise<void> {
  await storage.queues.send(delivery.queue, delivery.text, { visibleInS });
}
