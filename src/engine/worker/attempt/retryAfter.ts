import { pauseOf } from "../../calculation/chunkAttempts.ts";
import { backOff } from "../../model/backOff.ts";
import { CalculationError, laterCode } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { attemptOf, type WorkMessage } from "../../model/message.ts";
import type { Spec } from "../../model/run.ts";

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
