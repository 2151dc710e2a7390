import { attemptsFor } from "../../calculation/chunkAttempts.ts";
import { chunksNamed, ThreadEndedError } from "../../model/chunkErrors.ts";
import { CalculationError, LeasefoldError, messageOf } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { attemptOf, encodeMessage, type WorkMessage, workOf } from "../../model/message.ts";
import type { Spec } from "../../model/run.ts";
import { workName } from "../../model/runBlobs.ts";
import { persist } from "../../storage/callSteps.ts";
import type { HeldWork } from "../heartbeats.ts";
import { type Delivery, StorageLostError, type WorkerPorts } from "../ports.ts";
import { enqueueAgain, recordDropped } from "./decodeDelivery.ts";
import { endSend, noteTried } from "./endSend.ts";
import {
  attemptAfter,
  attemptAskedFor,
  delayOf,
  failsEveryTime,
  fateOf,
  isAsked,
  type NextAttempt,
} from "./fate.ts";
import { outputThere } from "./outputThere.ts";
import { OtherCodeError } from "./rightCode.ts";

/** The fields of a log line about an attempt. */
export function pieceOf(message: WorkMessage) {
  const { run, uid, kind, send } = message;
  const work = workOf(message);
  return { run, uid, kind, send, attempt: attemptOf(message), work: work && workName(work) };
}

/**
 * Ends an attempt that has no output, so that the message can be completed: with nothing, a record, or a message for the
 * next attempt. What is thrown from here makes the host deliver the message again.
 */
export async function endAttempt(
  ports: WorkerPorts,
  message: WorkMessage,
  delivery: Delivery & { readonly held: HeldWork; readonly startedMs: number },
  error: unknown,
): Promise<void> {
  const { kind } = message;
  // A chunk may have been attempted several times within this delivery.
  const { details = {} } = error instanceof CalculationError ? error : {};
  const attempt = Number(details["attempts"] ?? attemptOf(message));
  const piece = { ...pieceOf(message), attempt };
  const ms = Math.round(ports.clock.monotonicMs() - delivery.startedMs);
  const code = error instanceof LeasefoldError ? error.code : "unexpected";
  const why = messageOf(error);
  const spec = await ports.documents.spec(message).catch((): Partial<Spec> => ({}));
  const dropped = (reason: string) => ports.log(logEvents.workDropped({ ...piece, why: reason }));
  const { waitedMs } = delivery;
  const about = { ...piece, ms, waitedMs, calculation: spec.calculation };
  const failed = (last: boolean) => ports.log(logEvents.workFailed({ ...about, code, message: why, last }));
  const attemptsMax = attemptsFor(error, spec.attempts ?? limits.attemptsDefault);
  const final = failsEveryTime(error, kind, spec);
  const named = error instanceof LeasefoldError ? chunksNamed(error) : undefined;
  const failure = { code, message: why, attempts: attempt, attemptsMax, named };
  const askedFor = attemptAskedFor(message, error);
  const last = askedFor === undefined && (final || attempt >= attemptsMax);
  switch (fateOf(error, { last, asked: isAsked(kind) })) {
    case "drop":
      return dropped(why);
    case "malformed":
      return persist(ports, () => recordDropped(ports, delivery, error));
    case "put-back": {
      // The leader looks for it among the first messages of a queue, so it must not go behind many.
      const { text } = sameMessage(message, delivery);
      await persist(ports, () => enqueueAgain(ports, { queue: ports.names.urgent, text }, 0));
      ports.log(logEvents.workPutBack({ ...piece, ms }));
      // Until whoever takes it tells so.
      return delivery.held.end(limits.heartbeatAfterMsMax);
    }
    case "enqueue-again": {
      // Each message of the run says the same, and one line of the log is enough; none where it is meant so.
      const isNew = !(error instanceof OtherCodeError) || (await ports.noteOtherCode(message, error));
      if (isNew && !(error instanceof OtherCodeError && error.leftToOthers)) failed(false);
      const copy = sameMessage(message, delivery);
      const laterS = delayOf(error, delivery, ports.random);
      await persist(ports, () => enqueueAgain(ports, copy, laterS));
      return delivery.held.end(laterS * 1_000);
    }
    case "next-attempt": {
      failed(false);
      const next = askedFor ?? attemptAfter({ ...message, tries: attempt - 1 }, error, spec);
      // The note comes first: what waits without one counts as lost. It holds for what no heartbeat tells of any more.
      await noteTried(ports, message, { ...failure, ...(next.laterS > 0 && { laterS: next.laterS }) });
      await persist(ports, () => enqueueNext(ports, next));
      return delivery.held.end();
    }
    case "end": {
      const lost = error instanceof StorageLostError;
      if (lost && (await persist(ports, () => outputThere(ports, message, spec))))
        return dropped("another attempt has written the output");
      failed(true);
      const cause = lost ? "storage-lost" : "error";
      const chunk = error instanceof ThreadEndedError ? error.chunk : undefined;
      const record = { cause, ...failure, ...(final && { final }), chunk } as const;
      await persist(ports, () => endSend(ports, message, record));
    }
  }
}

/** The same message; it still tells that it was delivered before. */
const sameMessage = (message: WorkMessage, { queue, text, attempt }: Delivery) =>
  attempt === 1 ? { queue, text } : { queue, text: encodeMessage({ ...message, silent: true }) };

async function enqueueNext({ storage, names }: WorkerPorts, { message, laterS }: NextAttempt): Promise<void> {
  await storage.queues.send(names.urgent, encodeMessage(message), { visibleInS: laterS });
}
