import type { InvocationContext } from "@azure/functions";
import { messageOf } from "../model/errors.ts";
import type { Delivery } from "../worker/ports.ts";

/**
 * Makes a delivery of what the queue trigger hands over. The library has parsed the body already where it was
 * JSON, so it is written out again; our own decoder reads it at the door of the worker room.
 */
export function deliveryOf(
  body: unknown,
  context: Pick<InvocationContext, "triggerMetadata">,
  queue: string,
  urgent: boolean,
): Delivery {
  const attempt = Number(context.triggerMetadata?.["dequeueCount"] ?? 1);
  return {
    queue,
    urgent,
    text: textOf(body, context),
    attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1,
  };
}

/**
 * JSON can be nested more deeply than it can be written out again. Such a body becomes a text that no message is, so
 * that it is recorded and dropped: a handler that threw would leave it in the poison queue for ever.
 */
function textOf(body: unknown, { triggerMetadata }: Pick<InvocationContext, "triggerMetadata">): string {
  if (typeof body === "string") return body;
  try {
    return JSON.stringify(body) ?? "";
  } catch (error) {
    return `message ${triggerMetadata?.["id"]} cannot be written out: ${messageOf(error)}`;
  }
}
