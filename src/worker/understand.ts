import { NewerVersionError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { decodeMessage, type WorkMessage } from "../model/message.ts";
import type { Storage } from "../storage/ports.ts";
import type { Delivery, WorkerPorts } from "./ports.ts";
import { recordDropped } from "./recordDropped.ts";

/** The message, or undefined for one that was put back for a newer version, or recorded as dropped. */
export async function understand(
  ports: Pick<WorkerPorts, "storage" | "names" | "log">,
  delivery: Delivery,
): Promise<WorkMessage | undefined> {
  try {
    return decodeMessage(delivery.text);
  } catch (error) {
    if (error instanceof NewerVersionError) await putBack(ports.storage, delivery);
    else await recordDropped(ports, delivery, error);
    return undefined;
  }
}

/** The message waits, hidden, in the queue it came from, with its deliveries counted anew. */
export async function putBack(
  storage: Storage,
  delivery: Pick<Delivery, "queue" | "text">,
  visibleInS: number = limits.retryDelayS,
): Promise<void> {
  await storage.queues.send(delivery.queue, delivery.text, { visibleInS });
}
