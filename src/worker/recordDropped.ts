import { LeasefoldError, messageOf } from "../model/errors.ts";
import { logEvents } from "../model/log.ts";
import { droppedBlob } from "../model/names.ts";
import type { Delivery, WorkerPorts } from "./ports.ts";
import { sha256Of } from "./sha256Of.ts";

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
