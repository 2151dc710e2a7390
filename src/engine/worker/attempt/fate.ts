import { pauseOf } from "../../calculation/chunkAttempts.ts";
import { backOff } from "../../model/backOff.ts";
import {
  CalculationError,
  CorruptDataError,
  LeasefoldError,
  laterCode,
  mayPass,
  OtherVersionError,
} from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { attemptOf, type WorkMessage } from "../../model/message.ts";
import type { Spec } from "../../model/run.ts";
import type { Random } from "../../storage/ports.ts";
import { type Delivery, DroppedError, MalformedWorkError, StorageLostError } from "../ports.ts";
import { NoThreadError } from "../threads/threadSlots.ts";
import { OtherCodeError } from "./rightCode.ts";

/**
 * What a worker decides when an attempt ends without output: whether there is another one, and after how long. Pure, by the error,
 * the message and the run's spec alone; `endAttempt` does it. Whether another send follows one that has ended is the leader's
 * decision (`leader/inFlight/judge.ts`).
 */

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
 * An instance that stops hands its work over at once. Work for other code comes back at times of its own: all at once, and at
 * equal distances, it would go to the same instances each time, which poll again as soon as they have refused a message.
 */
export function delayOf(error: unknown, { urgent }: Delivery, random: Random): number {
  if (error instanceof LeasefoldError && error.code === "stopping") return 0;
  if (!(error instanceof OtherCodeError)) return limits.retryDelayS;
  const mostS = urgent ? limits.otherCodeDelayS : limits.retryDelayS;
  return Math.ceil(mostS * (1 - random.number() / 2));
}

/** When the next attempt of a send begins, and with which message (rule *waits*). */
export interface NextAttempt {
  readonly message: WorkMessage;
  readonly laterS: number;
}

type Asking = Pick<WorkMessage, "kind" | "asks">;

/** Whether work may ask for no further attempt: what it throws then counts as any other error. */
export const asksAreOver = ({ kind, asks = { times: 0, waitedS: 0 } }: Asking): boolean =>
  // A client waits for the answer.
  isAsked(kind) || asks.times >= backOff.asksMax || asks.waitedS >= backOff.waitMaxS;

export const isAsked = (kind: WorkMessage["kind"]): boolean => kind === "sofar" || kind === "verify";

/** The attempt that user code asks for, which is none of those that the run allows; undefined where it asks for none or may not. */
export function attemptAskedFor(message: WorkMessage, error: unknown): NextAttempt | undefined {
  if (!(error instanceof CalculationError) || error.code !== laterCode || asksAreOver(message))
    return undefined;
  const { times, waitedS } = message.asks ?? { times: 0, waitedS: 0 };
  const askedS = Math.ceil(Number(error.details["laterS"])) || 1;
  const laterS = Math.min(Math.max(askedS, 1), backOff.waitMaxS - waitedS);
  return { message: { ...message, asks: { times: times + 1, waitedS: waitedS + laterS } }, laterS };
}

/** Another thread may do better at once. */
const ofThread: ReadonlySet<string> = new Set([
  ...["thread-not-started", "thread-exited", "thread-crashed", "out-of-memory"],
]);

/**
 * The attempt that follows one that threw, by the pauses of its run, or one whose thread ended, which is at once; any other cause
 * is given a fixed time to pass.
 */
export function attemptAfter(
  message: WorkMessage,
  error: unknown,
  spec: Pick<Spec, "retryAfterS">,
): NextAttempt {
  const attempt = attemptOf(message);
  const next = { ...message, tries: attempt };
  if (!(error instanceof CalculationError)) return { message: next, laterS: limits.retryDelayS };
  const atOnce = isAsked(message.kind) || ofThread.has(error.code);
  return { message: next, laterS: atOnce ? 0 : pauseOf(attempt, error, spec.retryAfterS) };
}
