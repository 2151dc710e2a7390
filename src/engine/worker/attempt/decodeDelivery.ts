import { hash } from "node:crypto";
import { parseJson } from "../../model/decode.ts";
import { CorruptDataError, LeasefoldError, messageOf, OtherVersionError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { decodeMessage, type WorkMessage } from "../../model/message.ts";
import { droppedBlob } from "../../model/names.ts";
import type { Delivery, WorkerPorts } from "../ports.ts";

/** The message; undefined where it was enqueued again for another version, or recorded as dropped. */
export async function decodeDelivery(
  ports: WorkerPorts,
  delivery: Delivery,
): Promise<WorkMessage | undefined> {
  try {
    checkSendable(delivery.text);
    return decodeMessage(delivery.text);
  } catch (error) {
    if (error instanceof OtherVersionError) await enqueueForOthers(ports, delivery, error);
    else await recordDropped(ports, delivery, error);
    return undefined;
  }
}

/** Sends the message again for an instance that reads it; recorded as dropped once none came for a day. */
async function enqueueForOthers(
  ports: WorkerPorts,
  delivery: Pick<Delivery, "queue" | "text">,
  why: OtherVersionError,
): Promise<void> {
  const held = heldCopyOf(delivery.text);
  if (held === undefined) await recordDropped(ports, delivery, why);
  else await enqueueAgain(ports, { queue: delivery.queue, text: held });
}

/**
 * Refuses what a queue would not take again: `1e20` and `\uffff` in a stranger's JSON read otherwise once they are parsed
 * and written again. A handler that must send such a message again would fail with each delivery.
 */
function checkSendable(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= limits.messageBytesMax && !/[\ufffe\uffff]/.test(text)) return;
  throw new CorruptDataError("bad-message", `no queue holds this text of ${bytes} bytes`);
}

/**
 * A copy of another version's message that counts how often it waited for one and is otherwise the same. Undefined after
 * `heldForNewerMax` times, since a forged version never comes. A count needs no clock.
 */
function heldCopyOf(text: string): string | undefined {
  const message = parseJson(text, "the message") as Record<string, unknown>;
  const before = Number(message["heldForNewer"] ?? 0);
  const held = Number.isSafeInteger(before) && before > 0 ? before : 0;
  return held >= limits.heldForNewerMax ? undefined : JSON.stringify({ ...message, heldForNewer: held + 1 });
}

/** Sends the message to the queue it came from, hidden at first, with its deliveries counted anew. */
export async function enqueueAgain(
  { storage }: WorkerPorts,
  { queue, text }: Pick<Delivery, "queue" | "text">,
  visibleInS: number = limits.retryDelayS,
): Promise<void> {
  await storage.queues.send(queue, text, { visibleInS });
}

/** Records a message that nobody can act on by its hash, and logs it the first time. */
export async function recordDropped(
  { storage, names, log }: WorkerPorts,
  { queue, text }: Pick<Delivery, "queue" | "text">,
  error: unknown,
): Promise<void> {
  const sha256 = hash("sha256", text);
  const { code, message } =
    error instanceof LeasefoldError ? error : { code: "unexpected", message: messageOf(error) };
  const body = JSON.stringify({ queue, code, message, text: text.slice(0, 4_000) });
  const created = await storage.blobs.create(names.runs, droppedBlob(sha256), body, {
    contentType: "application/json",
  });
  if (created.kind === "created") log(logEvents.messageDropped({ queue, code, message, sha256 }));
}
