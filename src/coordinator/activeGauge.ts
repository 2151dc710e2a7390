import { type Log, logEvents } from "../model/log.ts";
import type { Clock } from "../storage/ports.ts";

const everyMs = 60_000;

/**
 * Tells how many runs are open: once a minute while there are any, and once in a term when there are none. Alerts count
 * on the first as a sign of life, and on the second as the end of what one would wait for.
 */
export function activeGauge(clock: Clock, log: Log): (term: number, runs: number) => void {
  let toldAtMs = Number.NEGATIVE_INFINITY;
  let idleTerm: number | undefined;
  return (term, runs) => {
    const nowMs = clock.monotonicMs();
    if (runs === 0 ? idleTerm === term : nowMs - toldAtMs < everyMs) return;
    if (runs === 0) idleTerm = term;
    else toldAtMs = nowMs;
    log(logEvents.leading({ term, runs }));
  };
}
