import { messageOf } from "../model/errors.ts";
import { logEvents } from "../model/log.ts";
import { endSend } from "./endSend.ts";
import { persist } from "./persist.ts";
import type { Delivery, WorkerPorts } from "./ports.ts";
import { putBack, understand } from "./understand.ts";

/**
 * Records the end of a send that the host set aside as poison. It only records; the leader draws the consequences.
 * It never throws: a poison function that fails can be skipped silently for ever (functions-runtime, section 1).
 */
export async function handlePoison(
  ports: Pick<WorkerPorts, "storage" | "names" | "log" | "watch" | "documents" | "clock" | "endRetryMs">,
  delivery: Delivery,
): Promise<void> {
  try {
    const message = await understand(ports, delivery);
    if (message === undefined) return;
    const failure = {
      ...({ cause: "poison", code: "poison" } as const),
      message: "the host set the message aside after its last delivery without a word from the worker",
      attempts: delivery.attempt,
    };
    const outcome = await persist(ports, () => endSend(ports, message, failure));
    ports.log(
      logEvents.poisonRecorded({ queue: delivery.queue, run: message.run, kind: message.kind, outcome }),
    );
  } catch (error) {
    ports.log(logEvents.unexpected({ where: "poison", message: messageOf(error) }));
    // Without the record the send never ends. If this fails as well, the leader sends the work again in time.
    await putBack(ports.storage, delivery).catch(() => {});
  }
}
