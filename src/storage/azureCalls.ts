import { throwIfAborted } from "./abortError.ts";
import type { CallOptions } from "./ports.ts";
import { failureOf, type Service, storageErrorOfCode } from "./storageErrors.ts";

/**
 * One request may take this long; the SDK's own per-try timeout is only a parameter for the service and does not
 * end a socket that hangs (measured: still pending after 150 s).
 */
const requestCapMs = 60_000;
/** A body adds its time at one MiB per second. */
const capMsPerByte = 1000 / 2 ** 20;

export interface AzureCall {
  readonly signal: AbortSignal;
  /** Starts the cap anew: bytes have arrived. */
  progress(): void;
  /** The answer has begun; from here on only the caller's signal ends it, until `end`. */
  uncap(): void;
  /** Lets go of the caller's signal and of the timer. */
  end(): void;
}

/** A signal that fires with the caller's or at the cap, and leaves no listener behind on a long-lived one. */
export function beginCall(caller: AbortSignal | undefined, bodyBytes = 0): AzureCall {
  throwIfAborted(caller);
  const controller = new AbortController();
  const abort = () => controller.abort();
  const arm = () => setTimeout(abort, requestCapMs + bodyBytes * capMsPerByte).unref();
  let timer = arm();
  caller?.addEventListener("abort", abort);
  return {
    signal: controller.signal,
    progress: () => {
      clearTimeout(timer);
      timer = arm();
    },
    uncap: () => clearTimeout(timer),
    end: () => {
      clearTimeout(timer);
      caller?.removeEventListener("abort", abort);
    },
  };
}

/** Runs one call of the SDK under its cap; whatever it throws comes out as our own errors. `what` opens their text. */
export type RunCall = <T>(
  what: string,
  options: CallOptions | undefined,
  run: (call: AzureCall) => Promise<T>,
  bodyBytes?: number,
) => Promise<T>;

export const azureCalls =
  (service: Service): RunCall =>
  async (what, options, run, bodyBytes) => {
    const call = beginCall(options?.signal, bodyBytes);
    try {
      return await run(call);
    } catch (error) {
      throw failureOf(error, service, what, options?.signal);
    } finally {
      call.end();
    }
  };

/** The service's own time of an answer, in ms. */
export function dateMsOf(answer: { readonly date?: Date | undefined }): number {
  if (answer.date === undefined) throw storageErrorOfCode("blob", "", 200, "an answer without its Date");
  return answer.date.getTime();
}
