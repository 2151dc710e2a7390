import type { Client } from "../client.ts";
import { clientLimits } from "../clientLimits.ts";

/** Sleeps between two looks for a worker's answer. */
export function answerPace({ clock }: Pick<Client, "clock">): (signal?: AbortSignal) => Promise<void> {
  const { answerPollMs, answerPollSlowMs, answerPollFastForMs } = clientLimits;
  const startedMs = clock.monotonicMs();
  return (signal) => {
    const fast = clock.monotonicMs() - startedMs < answerPollFastForMs;
    return clock.sleep(fast ? answerPollMs : answerPollSlowMs, signal);
  };
}
