import type { Random } from "../../storage/ports.ts";
import type { ReceivedMessage } from "../../storage/queuePort.ts";
import { dataOf, jsonData, type TypedData } from "./typedData.ts";

/** Messages sent with no time to live expire at the end of .NET's time. */
const neverExpires = "9999-12-31T23:59:59.9999999+00:00";

/** The body as the function sees it; undefined where the encoding does not fit. */
export function decodeBody(text: string, encoding: "none" | "base64"): string | undefined {
  if (encoding === "none") return text;
  const compact = text.replace(/\s/g, "");
  if (compact.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(compact)) return undefined;
  return Buffer.from(compact, "base64").toString("utf8");
}

/**
 * The trigger metadata of one delivery. Names are compared without case, and every top-level property of a JSON
 * body that is no array overwrites what has its name: a body with an `id` hides the message's own.
 */
export function triggerMetadata(options: {
  readonly message: ReceivedMessage;
  readonly body: string;
  readonly functionName: string;
  readonly nowMs: number;
  readonly hiddenUntilMs: number;
  readonly random: Random;
}): Record<string, TypedData> {
  const { message, body, functionName, nowMs, hiddenUntilMs, random } = options;
  const metadata = new Map<string, readonly [name: string, data: TypedData]>();
  const set = (name: string, data: TypedData) => metadata.set(name.toLowerCase(), [name, data]);
  const date = (ms: number) => jsonData(new Date(ms).toISOString());

  set("QueueTrigger", { string: body });
  set("DequeueCount", { int: message.dequeueCount });
  set("ExpirationTime", jsonData(neverExpires));
  set("Id", { string: message.id });
  set("InsertionTime", date(message.insertedMs));
  set("NextVisibleTime", date(hiddenUntilMs));
  set("PopReceipt", { string: message.popReceipt });
  set(
    "sys",
    jsonData({ MethodName: functionName, UtcNow: new Date(nowMs).toISOString(), RandGuid: random.uuid() }),
  );
  for (const [name, data] of propertiesOf(body)) set(name, data);
  return Object.fromEntries(metadata.values());
}

/** None of a body that is no JSON object, or too deeply nested to be written out. */
function propertiesOf(body: string): readonly (readonly [name: string, data: TypedData])[] {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
    return Object.entries(value)
      .filter(([, inner]) => !Array.isArray(inner))
      .map(([name, inner]) => [name, dataOf(inner)]);
  } catch {
    return [];
  }
}
