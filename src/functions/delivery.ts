import type { InvocationContext } from "@azure/functions";
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
    text: typeof body === "string" ? body : JSON.stringify(body),
    attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1,
  };
}
