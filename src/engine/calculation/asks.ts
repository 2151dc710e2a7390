import { backOff } from "../model/backOff.ts";
import { CalculationError, failRunCode, laterCode } from "../model/errors.ts";

/**
 * What user code asks for by what it throws. The key is the same for all copies of this module in a thread: a user's bundle
 * may hold its own.
 */
const key = Symbol.for("leasefold.asks");

interface Asks {
  /** A later attempt, in seconds; undefined: the end of the run. */
  readonly laterS: number | undefined;
}

/**
 * Throws: this attempt ends, and the next begins after `seconds` (1 to 86,400). It is none of the run's attempts. A piece of work
 * may ask 1,000 times, and for one day in all; from then on, what it throws counts as any other error. Throws `TypeError` for
 * other seconds.
 */
export function retryLater(reason: string, seconds: number): never {
  const { waitMaxS } = backOff;
  if (!(seconds >= 1 && seconds <= waitMaxS))
    throw new TypeError(`retryLater: seconds is ${seconds}; give a number from 1 to ${waitMaxS}`);
  throw asking("RetryLater", reason, { laterS: Math.ceil(seconds) });
}

/** Throws: the run fails at once with this reason, whatever it tolerates, and none of its work is attempted again. */
export function failRun(reason: string): never {
  throw asking("FailRun", reason, { laterS: undefined });
}

const asking = (name: string, reason: string, asks: Asks): Error =>
  Object.assign(new Error(reason), { name, [key]: asks });

/** What an error asks for, as the `CalculationError` that tells it; undefined for any other error. */
export function askedBy(error: unknown): { as(what: string): CalculationError } | undefined {
  if (!(error instanceof Error) || !(key in error)) return undefined;
  const { laterS } = Object(error[key]) as Partial<Asks>;
  const { message } = error;
  if (laterS === undefined)
    return { as: (what) => new CalculationError(failRunCode, `${message} (${what})`, { cause: error }) };
  return {
    as: (what) =>
      new CalculationError(laterCode, `${what}: ${message}`, { cause: error, details: { laterS } }),
  };
}
