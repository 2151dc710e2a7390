import { CalculationError, LeasefoldError, messageOf } from "../model/errors.ts";
import { failsEveryTime } from "../model/failsEveryTime.ts";
import { limits } from "../model/limits.ts";
import { logEvents } from "../model/log.ts";
import { attemptOf, encodeMessage, type WorkMessage } from "../model/message.ts";
import { outputThere } from "./earlierSends.ts";
import { endSend } from "./endSend.ts";
import { noteTried } from "./failureRecord.ts";
import { fateOf } from "./fateOf.ts";
import { noteOtherCode } from "./otherCodeNote.ts";
import { persist } from "./persist.ts";
import { type Delivery, StorageLostError, type WorkerPorts } from "./ports.ts";
import { recordDropped } from "./recordDropped.ts";
import { OtherCodeError } from "./rightCode.ts";
import { putBack } from "./understand.ts";

/**
 * Ends an attempt that has no output, so that the message can be completed: nothing, a record, or a message for the
 * next attempt. What is thrown from here makes the host deliver the message again.
 */
export async function endAttempt(
  ports: WorkerPorts,
  message: WorkMessage,
  delivery: Delivery,
  error: unknown,
): Promise<void> {
  const { run, uid, kind, send } = message;
  const attempt = attemptOf(message);
  const piece = { run, uid, kind, send, attempt };
  const why = messageOf(error);
  const code = error instanceof LeasefoldError ? error.code : "unexpected";
  const dropped = (reason: string) => ports.log(logEvents.workDropped({ ...piece, why: reason }));
  const failed = (last: boolean) => ports.log(logEvents.workFailed({ ...piece, code, message: why, last }));
  const attemptsMax = await attemptsOf(ports, message);
  const asked = kind === "sofar" || kind === "verify";
  const final = failsEveryTime(error, kind) || code === "process-ended";
  switch (fateOf(error, { last: final || attempt >= attemptsMax, asked })) {
    case "drop":
      return dropped(why);
    case "malformed":
      return persist(ports, () => recordDropped(ports, delivery, error));
    case "put-back":
      // Each message of the run says the same, and one line of the log is enough.
      if (!(error instanceof OtherCodeError) || (await noteOtherCode(ports, message, error))) failed(false);
      return persist(ports, () =>
        putBack(ports.storage, unchanged(message, delivery), delayOf(error, delivery)),
      );
    case "again":
      failed(false);
      await persist(ports, () => sendAgain(ports, message, error));
      return noteTried(ports, message, { code, message: why, attempts: attempt, attemptsMax });
    case "end": {
      const lost = error instanceof StorageLostError;
      if (lost && (await persist(ports, () => outputThere(ports, message))))
        return dropped("another attempt has written the output");
      failed(true);
      const cause = lost ? "storage-lost" : "error";
      const failure = { cause, code, message: why, attempts: attempt, attemptsMax } as const;
      await persist(ports, () => endSend(ports, message, final ? { ...failure, final } : failure));
    }
  }
}

/** Whoever stops hands its work over at once. */
function delayOf(error: unknown, { urgent }: Delivery): number {
  if (error instanceof LeasefoldError && error.code === "stopping") return 0;
  return urgent && error instanceof OtherCodeError ? limits.otherCodeDelayS : limits.retryDelayS;
}

/** The same message, which still tells that it was delivered before. */
const unchanged = (message: WorkMessage, { queue, text, attempt }: Delivery) =>
  attempt === 1 ? { queue, text } : { queue, text: encodeMessage({ ...message, silent: true }) };

/** User code may fail by chance, and another worker begins the next attempt at once; whatever else it was may pass. */
async function sendAgain(
  { storage, names }: WorkerPorts,
  message: WorkMessage,
  error: unknown,
): Promise<void> {
  const next = encodeMessage({ ...message, tries: attemptOf(message) });
  const visibleInS = error instanceof CalculationError ? 0 : limits.retryDelayS;
  await storage.queues.send(names.urgent, next, { visibleInS });
}

async function attemptsOf({ documents }: WorkerPorts, { run, uid }: WorkMessage): Promise<number> {
  const spec = await documents.spec(run, uid).catch(() => undefined);
  return spec?.attempts ?? limits.attemptsDefault;
}
