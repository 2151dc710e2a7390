import {
  CalculationError,
  CorruptDataError,
  LeasefoldError,
  messageOf,
  NewerVersionError,
} from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { attemptOf, encodeMessage, type WorkMessage } from "../../model/message.ts";
import {
  type Delivery,
  DroppedError,
  MalformedWorkError,
  StorageLostError,
  type WorkerPorts,
} from "../ports.ts";
import { outputThere } from "./earlierSends.ts";
import { endSend, noteTried } from "./endSend.ts";
import { persist } from "./persist.ts";
import { noteOtherCode, OtherCodeError } from "./rightCode.ts";
import { putBack, recordDropped } from "./understand.ts";

/**
 * Whether an attempt failed in a way that every other attempt would: then none is made. It decides by the error's
 * code alone. Not promised: that an error it calls passing ever passes.
 *
 * What user code throws may pass. Storage that is busy, lost or corrupt is none of a calculation's errors and is
 * decided elsewhere.
 */
export function failsEveryTime(error: unknown, kind: WorkMessage["kind"]): boolean {
  if (!(error instanceof CalculationError) || passing.has(error.code)) return false;
  return !(kind === "plan" && passingInPlan.has(error.code));
}

/** Codes of errors that another attempt, often in another process, may not meet. */
const passing: ReadonlySet<string> = new Set([
  // User code, which may depend on anything.
  "calculation-threw",
  // The thread, its memory and its time are shared with other work on the machine.
  "thread-not-started",
  "thread-exited",
  "thread-crashed",
  "out-of-memory",
  "time-limit",
  "dropped",
  // Storage refused one instance, or one call.
  "file-denied",
  "file-refused",
  // While the app is deployed, two versions of it with other calculations run side by side.
  "unknown-calculation",
  "bad-calculation-file",
  "no-calculation-file",
  "calculation-name",
  "no-library",
  "old-node",
]);

/** A chunk's file is fixed; another plan lists the files anew. */
const passingInPlan: ReadonlySet<string> = new Set(["file-missing", "file-changed"]);

/**
 * What becomes of a message whose attempt did not succeed: it is completed in silence (`drop`); recorded as one that
 * nobody can act on (`malformed`); enqueued once more as it is (`put-back`) or as the next attempt of its send
 * (`again`); or its send ends with a record or an answer (`end`).
 */
export type Fate = "drop" | "malformed" | "put-back" | "again" | "end";

/**
 * `last`: no attempt of this send is left, or none could succeed. `asked`: a client waits for the answer, so every
 * end is told and nothing is put off beyond the last attempt.
 */
export function fateOf(error: unknown, { last, asked }: { last: boolean; asked: boolean }): Fate {
  if (error instanceof DroppedError) return "drop";
  // Another instance may understand what a newer version wrote.
  if (error instanceof NewerVersionError) return "put-back";
  if (error instanceof MalformedWorkError) return asked ? "end" : "malformed";
  // Bytes that do not decode will not decode next time either, and a lost member will not come back.
  if (error instanceof CorruptDataError || error instanceof StorageLostError) return "end";
  // Who asks learns at once that this code cannot answer.
  if (error instanceof OtherCodeError && asked) return "end";
  // Storage that is away and an instance that stops say nothing about the work.
  if (error instanceof LeasefoldError && error.retry === "later" && !asked) return "put-back";
  // The leader decides whether work that takes too long is given another attempt.
  if (error instanceof LeasefoldError && error.code === "time-limit") return "end";
  return last ? "end" : "again";
}

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
