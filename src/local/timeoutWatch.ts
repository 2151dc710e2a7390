import type { Clock } from "../storage/ports.ts";

/** How long an instance may take to end itself after `functionTimeout`, its own two seconds of grace included. */
const afterMs = 5_000;

/**
 * Watches invocations from outside the instance. An instance ends itself when one passes `functionTimeout`, but
 * not while user code blocks its event loop: then somebody else must act, as the real host does.
 */
export interface TimeoutWatch {
  started(invocation: string, functionName: string): void;
  ended(invocation: string): void;
  /** A stopped process cannot end anything in time, so its clock stands still; it starts anew at `resume`. */
  pause(): void;
  resume(): void;
  clear(): void;
}

export function makeTimeoutWatch(
  functionTimeoutMs: number | null,
  clock: Clock,
  onTimeout: (functionName: string) => void,
): TimeoutWatch {
  const running = new Map<string, { readonly functionName: string; cancel: () => void }>();
  const arm = (functionName: string) =>
    functionTimeoutMs === null
      ? () => undefined
      : clock.after(functionTimeoutMs + afterMs, () => onTimeout(functionName));
  const pause = () => {
    for (const one of running.values()) one.cancel();
  };
  return {
    started: (invocation, functionName) => {
      running.set(invocation, { functionName, cancel: arm(functionName) });
    },
    ended(invocation) {
      running.get(invocation)?.cancel();
      running.delete(invocation);
    },
    pause,
    resume() {
      for (const one of running.values()) one.cancel = arm(one.functionName);
    },
    clear() {
      pause();
      running.clear();
    },
  };
}
