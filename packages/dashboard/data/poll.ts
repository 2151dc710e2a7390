import { ApiError, type Ask } from "../../client/request.ts";

/** What a poll knows: the last answer, and the error of the last try if it failed. */
export interface Polled<T> {
  readonly value?: T;
  readonly etag?: string;
  /** This page's monotonic time of the answer that brought `value`; of the last that confirmed it. */
  readonly changedMs: number;
  readonly confirmedMs: number;
  readonly error?: ApiError;
}

export const nothingYet: Polled<never> = { changedMs: 0, confirmedMs: 0 };

export interface PollPorts {
  readonly nowMs: () => number;
  readonly wait: (ms: number, then: () => void) => () => void;
  readonly isVisible: () => boolean;
  /** Calls back at each change; returns how to stop that. */
  readonly onVisible: (changed: () => void) => () => void;
}

/** Longest pause between tries while there is no answer. */
const backoffMsMax = 10_000;

/**
 * Asks for a path again and again with the ETag of the last answer, so that no change is no body. Asks nothing while the
 * tab is hidden, and at once when it is shown again. `everyMs` of the newest value says how soon; undefined ends it.
 */
export function startPoll<T>(
  asks: Ask,
  path: string,
  options: {
    readonly everyMs: (polled: Polled<T>) => number | undefined;
    /** What follows the path, by the last answer. */
    readonly after?: (value: T | undefined) => string;
    readonly onChange: (polled: Polled<T>) => void;
  },
  ports: PollPorts,
): { stop(): void; now(): void } {
  let polled: Polled<T> = nothingYet;
  let failed = 0;
  let stopped = false;
  let due = true;
  let asking: AbortController | undefined;
  let cancelWait = (): void => {};

  const ask = async (): Promise<void> => {
    const own = new AbortController();
    asking = own;
    due = false;
    let waitMs: number | undefined;
    try {
      const headers = polled.etag === undefined ? {} : { "if-none-match": polled.etag };
      const answer = await asks(`${path}${options.after?.(polled.value) ?? ""}`, {
        headers,
        signal: own.signal,
      });
      const at = ports.nowMs();
      if (answer.status === 304) polled = without(polled, at);
      else {
        const value = (await answer.json()) as T;
        const etag = answer.headers.get("etag");
        polled = { value, changedMs: at, confirmedMs: at, ...(etag === null ? {} : { etag }) };
      }
      failed = 0;
      waitMs = options.everyMs(polled);
    } catch (error) {
      if (own.signal.aborted) return;
      const known =
        error instanceof ApiError ? error : new ApiError(String(error), { status: 0, code: "bad-answer" });
      polled = { ...polled, error: known };
      failed += 1;
      const pauseMs = (known.retryAfterS ?? Math.min(2 ** (failed - 1), 8)) * 1_000;
      // Nothing changes by asking again for what is not there or not allowed.
      waitMs = [400, 401, 403].includes(known.status) ? undefined : Math.min(pauseMs, backoffMsMax);
    } finally {
      if (asking === own) asking = undefined;
    }
    if (stopped) return;
    options.onChange(polled);
    if (due) begin();
    else if (waitMs !== undefined) cancelWait = ports.wait(waitMs, begin);
  };
  const begin = (): void => {
    cancelWait();
    due = true;
    if (!stopped && asking === undefined && ports.isVisible()) void ask();
  };
  const stopWatching = ports.onVisible(() => {
    if (due && ports.isVisible()) begin();
  });
  begin();
  return {
    now: begin,
    stop() {
      stopped = true;
      cancelWait();
      stopWatching();
      asking?.abort();
    },
  };
}

const without = <T>({ error: _error, ...polled }: Polled<T>, confirmedMs: number): Polled<T> => ({
  ...polled,
  confirmedMs,
});

export const browserPorts: PollPorts = {
  nowMs: () => performance.now(),
  wait: (ms, then) => {
    const timer = window.setTimeout(then, ms);
    return () => window.clearTimeout(timer);
  },
  isVisible: () => document.visibilityState === "visible",
  onVisible: (changed) => {
    document.addEventListener("visibilitychange", changed);
    return () => document.removeEventListener("visibilitychange", changed);
  },
};
