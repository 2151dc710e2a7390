import { attemptsFor } from "../../calculation/chunkAttempts.ts";
import { chunksNamed, ThreadEndedError } from "../../model/chunkErrors.ts";
import {
  CalculationError,
  CorruptDataError,
  LeasefoldError,
  mayPass,
  messageOf,
  OtherVersionError,
} from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { attemptOf, encodeMessage, type WorkMessage, workOf } from "../../model/message.ts";
import type { Spec } from "../../model/run.ts";
import { workName } from "../../model/runBlobs.ts";
import { persist } from "../../storage/callSteps.ts";
import type { Random } from "../../storage/ports.ts";
import type { HeldWork } from "../heartbeats.ts";
import {
  type Delivery,
  DroppedError,
  MalformedWorkError,
  StorageLostError,
  type WorkerPorts,
} from "../ports.ts";
import { NoThreadError } from "../threads/threadSlots.ts";
import { enqueueAgain, recordDropped } from "./decodeDelivery.ts";
import { endSend, noteTried } from "./endSend.ts";
import { outputThere } from "./outputThere.ts";
import { attemptAfter, attemptAskedFor, isAsked, type NextAttempt } from "./retryAfter.ts";
import { OtherCodeError } from "./rightCode.ts";

/**
 * Whether every other attempt would fail in the same way, so that none is made. The error's code alone decides. What user
 * code throws may pass. Storage that is busy, lost or corrupt is no error of a calculation and is decided elsewhere.
 *
 * Not promised: that an error that may pass ever does.
 */
export function failsEveryTime(
  error: unknown,
  kind: WorkMessage["kind"],
  { attempts, retryAfterS }: Pick<Partial<Spec>, "attempts" | "retryAfterS"> = {},
): boolean {
  if (!(error instanceof CalculationError) || mayPass(error)) return false;
  if (kind !== "plan") return true;
  const waits = attempts !== undefined || retryAfterS !== undefined;
  return !(passingInPlan.has(error.code) || (waits && error.code === "empty-source"));
}

/**
 * A chunk's file is fixed; another plan lists the files anew. Those of an empty source may come where the run says how it is
 * retried; otherwise its name is most likely mistyped.
 */
const passingInPlan: ReadonlySet<string> = new Set(["file-missing", "file-changed"]);

/**
 * What becomes of a message whose attempt did not succeed: it is completed (`drop`); recorded as one that nobody can act
 * on (`malformed`); enqueued as it is, at once (`put-back`) or for later (`enqueue-again`), or as the next attempt of its send
 * (`next-attempt`); or its send ends with a record or an answer (`end`).
 */
export type Fate = "drop" | "malformed" | "put-back" | "enqueue-again" | "next-attempt" | "end";

/**
 * `last`: no attempt of this send is left, or none could succeed. `asked`: a client waits for the answer, so every
 * end is answered and nothing waits beyond the last attempt.
 */
export function fateOf(error: unknown, { last, asked }: { last: boolean; asked: boolean }): Fate {
  if (error instanceof DroppedError) return "drop";
  if (error instanceof NoThreadError) return "put-back";
  // Another instance may decode what one of another version wrote.
  if (error instanceof OtherVersionError) return "enqueue-again";
  if (error instanceof MalformedWorkError) return asked ? "end" : "malformed";
  // Bytes that do not decode will not decode next time either, and a lost member will not come back.
  if (error instanceof CorruptDataError || error instanceof StorageLostError) return "end";
  // A client learns at once that this code cannot answer; an instance that takes other work only gives it to its neighbors.
  if (error instanceof OtherCodeError && error.leftToOthers && asked && !last) return "next-attempt";
  if (error instanceof OtherCodeError && asked) return "end";
  // Storage that is away and an instance that stops are no failures of the work.
  if (error instanceof LeasefoldError && error.retry === "later" && !asked) return "enqueue-again";
  // The leader decides whether work that takes too long is given another attempt.
  if (error instanceof LeasefoldError && error.code === "time-limit") return "end";
  return last ? "end" : "next-attempt";
}

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

/**
 * An instance that stops hands its work over at once. Work for other code comes back at times of its own: all at once, and at
 * equal distances, it would go to the same instances each time, which poll again as soon as they have refused a message.
 */
export function delayOf(error: unknown, { urgent }: Delivery, random: Random): number {
  if (error instanceof LeasefoldError && error.code === "stopping") return 0;
  if (!(error instanceof OtherCodeError)) return limits.retryDelayS;
  const mostS = urgent ? limits.otherCodeDelayS : limits.retryDelayS;
  return Math.ceil(mostS * (1 - random.number() / 2));
}

/** The same message; it still tells that it was delivered before. */
const sameMessage = (message: WorkMessage, { queue, text, attempt }: Delivery) =>
  attempt === 1 ? { queue, text } : { queue, text: encodeMessage({ ...message, silent: true }) };

async function enqueueNext({ storage, names }: WorkerPorts, { message, laterS }: NextAttempt): Promise<void> {
  await storage.queues.send(names.urgent, encodeMessage(message), { visibleInS: laterS });
}
