import type { Clock } from "../storage/ports.ts";

/** The pause of a leader between two polls, which ends early where its own process knows of something to see. */
export interface Pause {
  /** Resolves after so long, at a call of `end`, or at once where one came since the last pause. Never rejects. */
  sleep(ms: number): Promise<void>;
  end(): void;
}

/** `over`: no pause lasts beyond it. */
export function pauseOfTerm({ clock }: { readonly clock: Clock }, over: AbortSignal): Pause {
  let ended = new AbortController();
  const end = (): void => ended.abort("ended");
  over.addEventListener("abort", end, { once: true });
  return {
    end,
    async sleep(ms) {
      if (!ended.signal.aborted && !over.aborted) await clock.sleep(ms, ended.signal);
      ended = new AbortController();
    },
  };
}
