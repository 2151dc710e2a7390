import { LeasefoldError, messageOf, NewerVersionError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { decodeMessage, type WorkMessage } from "../../model/message.ts";
import { droppedBlob } from "../../model/names.ts";
import type { Storage } from "../../storage/ports.ts";
import type { Delivery, WorkerPorts } from "../ports.ts";
import { sha256Of } from "../sha256Of.ts";

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

/** A message nobody can act on is recorded by its hash, logged the first time it is seen, and completed. */
export async function recordDropped(
  ports: Pick<WorkerPorts, "storage" | "names" | "log">,
  { queue, text }: Pick<Delivery, "queue" | "text">,
  error: unknown,
): Promise<void> {
  const sha256 = sha256Of(text).toString("hex");
  const { code, message } =
    error instanceof LeasefoldError ? error : { code: "unexpected", message: messageOf(error) };
  const body = JSON.stringify({ queue, code, message, text: text.slice(0, 4_000) });
  const created = await ports.storage.blobs.create(ports.names.runs, droppedBlob(sha256), body, {
    contentType: "application/json",
  });
  if (created.kind === "created") ports.log(logEvents.messageDropped({ queue, code, message, sha256 }));
}
