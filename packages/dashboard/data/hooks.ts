import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { clientOf } from "../../client/leasefoldClient.ts";
import { asksWith, keyStore } from "./key.ts";
import { browserPorts, nothingYet, type Polled, startPoll } from "./poll.ts";

/** One key and one client for the whole page. */
export const key = keyStore(window.sessionStorage);
const { ask, clockOffsetMs } = asksWith(key, document.baseURI, window.fetch.bind(window), Date.now);
export const client = clientOf(ask);

/** The service's time, as far as this page knows it. */
export const serviceNowMs = (): number => Date.now() + clockOffsetMs();

export type UsedPoll<T> = Polled<T> & { readonly refresh: () => void };

/** The polled answer of a path, kept while the view lives; another path starts anew. */
export function usePoll<T>(
  path: string | undefined,
  everyMs: (polled: Polled<T>) => number | undefined,
  after?: (value: T | undefined) => string,
): UsedPoll<T> {
  const [held, setHeld] = useState<{ readonly path: string | undefined; readonly polled: Polled<T> }>();
  const every = useRef(everyMs);
  every.current = everyMs;
  const running = useRef<ReturnType<typeof startPoll>>(undefined);
  useEffect(() => {
    if (path === undefined) return undefined;
    const options = {
      everyMs: (polled: Polled<T>) => every.current(polled),
      onChange: (polled: Polled<T>) => setHeld({ path, polled }),
      ...(after && { after }),
    };
    const poll = startPoll<T>(ask, path, options, browserPorts);
    running.current = poll;
    return () => poll.stop();
  }, [path]);
  const refresh = useCallback(() => running.current?.now(), []);
  const polled = held?.path === path ? held?.polled : undefined;
  return { ...(polled ?? (nothingYet as Polled<T>)), refresh };
}

/** Renders anew each `everyMs` while the tab is visible and `runs` holds: for ages and remaining times. */
export function useTick(everyMs: number, runs: boolean): void {
  const [, setTicks] = useState(0);
  useEffect(() => {
    if (!runs) return undefined;
    const timer = window.setInterval(() => {
      if (browserPorts.isVisible()) setTicks((ticks) => ticks + 1);
    }, everyMs);
    return () => window.clearInterval(timer);
  }, [everyMs, runs]);
}

export type Doing<T> =
  | { readonly kind: "idle" }
  | { readonly kind: "busy" }
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown; readonly text: string };

/** A request that a person starts: busy, then a value or an error. A newer start or `reset` outdates an older one. */
export function useDoing<T>() {
  const [now, setNow] = useState<Doing<T>>({ kind: "idle" });
  const own = useRef<AbortController>(undefined);
  useEffect(() => () => own.current?.abort(), []);
  const reset = useCallback(() => {
    own.current?.abort();
    setNow({ kind: "idle" });
  }, []);
  const start = useCallback(async (work: (signal: AbortSignal) => Promise<T>) => {
    own.current?.abort();
    const mine = new AbortController();
    own.current = mine;
    setNow({ kind: "busy" });
    try {
      const value = await work(mine.signal);
      if (mine.signal.aborted) return undefined;
      setNow({ kind: "done", value });
      return value;
    } catch (error) {
      if (!mine.signal.aborted)
        setNow({ kind: "failed", error, text: error instanceof Error ? error.message : String(error) });
      return undefined;
    }
  }, []);
  return { now, start, reset };
}
